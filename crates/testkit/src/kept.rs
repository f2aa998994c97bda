//! Shared directories and ports for tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Directory of data that tests share and every user may read. `cargo xtask test` names and removes
/// it; under `cargo test` there is one per process, and later processes remove it, as nothing
/// reports the last test's end.
pub fn kept() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        std::env::var_os("HOPCOST_TEST_CACHE").map_or_else(of_this_process, PathBuf::from)
    })
}

fn of_this_process() -> PathBuf {
    const PREFIX: &str = "hopcost-tests-";
    let all = fs::read_dir(std::env::temp_dir()).unwrap().filter_map(Result::ok);
    let is_left = |name: &str| {
        name.strip_prefix(PREFIX).is_some_and(|pid| !Path::new("/proc").join(pid).exists())
    };
    for left in all.filter(|entry| entry.file_name().to_str().is_some_and(is_left)) {
        // Another run may be removing it too.
        let _ = fs::remove_dir_all(left.path());
    }
    let dir = std::env::temp_dir().join(format!("{PREFIX}{}", std::process::id()));
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
