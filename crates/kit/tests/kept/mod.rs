//! A place for what tests of one run share.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Data that is kept between the tests of one run, which everybody may reach. Nothing tells when the last test is
/// over: what earlier runs have left is removed by the next.
pub fn kept(of: &str) -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        let prefix = format!("hopcost-{of}-");
        let all = fs::read_dir(std::env::temp_dir()).unwrap().filter_map(Result::ok);
        let is_left = |name: &str| {
            name.strip_prefix(&prefix).is_some_and(|pid| !Path::new("/proc").join(pid).exists())
        };
        for left in all.filter(|entry| entry.file_name().to_str().is_some_and(is_left)) {
            // Another run may be at it.
            let _ = fs::remove_dir_all(left.path());
        }
        let dir = std::env::temp_dir().join(format!("{prefix}{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        dir
    })
}
