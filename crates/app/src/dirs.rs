//! Directories that outlive a process.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dirs {
    pub state: PathBuf,
    pub cache: PathBuf,
}

impl Dirs {
    /// By the XDG base directory rules.
    ///
    /// For root the state directory is fixed: a later `sudo` has to find what `sudo -E` changed.
    pub fn from_environment(environment: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let of = |name: &str| environment(name).filter(|it| !it.is_empty()).map(PathBuf::from);
        let home = of("HOME");
        let below_home = |dir: &str| home.as_ref().map(|home| home.join(dir));
        let state = if hopcost_sys::is_root() {
            PathBuf::from("/var/lib/hopcost")
        } else if let Some(state) = of("XDG_STATE_HOME") {
            state.join("hopcost")
        } else {
            below_home(".local/state/hopcost").unwrap_or_else(|| "/.local/state/hopcost".into())
        };
        let cache = of("XDG_CACHE_HOME").or_else(|| below_home(".cache"));
        Self { state, cache: cache.unwrap_or_else(std::env::temp_dir).join("hopcost") }
    }

    pub fn below(dir: &Path) -> Self {
        Self { state: dir.join("state"), cache: dir.join("cache") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_the_environment_says() {
        let cache = |set: &[(&str, &str)]| {
            let of = |name: &str| set.iter().find(|(known, _)| *known == name);
            Dirs::from_environment(&|name| of(name).map(|(_, value)| value.into())).cache
        };
        assert_eq!(cache(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]), Path::new("/x/hopcost"));
        assert_eq!(
            cache(&[("XDG_CACHE_HOME", ""), ("HOME", "/h")]),
            Path::new("/h/.cache/hopcost")
        );
        assert_eq!(cache(&[]), std::env::temp_dir().join("hopcost"));
    }
}
