//! What DuckDB measured of the last query.

use super::api::{Handle, Interface, text};
use super::connection::Connection;

impl Connection {
    /// All of it in a line, a part of the plan after the other; none where nothing was measured.
    pub fn profile(&self) -> Option<String> {
        // SAFETY: the connection is open; what it gives is its own until the next query.
        let root = unsafe { (self.api.duckdb_get_profiling_info)(self.handle) };
        if root.is_null() {
            return None;
        }
        let mut line = String::new();
        // SAFETY: it is the part that stands for the whole.
        unsafe { tell(self.api, root, &mut line) };
        Some(line)
    }
}

/// # Safety
/// A part of a plan that was measured.
unsafe fn tell(api: &Interface, part: Handle, line: &mut String) {
    // SAFETY: by this function's own contract; what is given away is given back.
    unsafe {
        let mut metrics = (api.duckdb_profiling_info_get_metrics)(part);
        let said = (api.duckdb_get_varchar)(metrics);
        line.push_str(&text(said).replace('\n', " "));
        (api.duckdb_free)(said.cast());
        (api.duckdb_destroy_value)(&raw mut metrics);
        for n in 0..(api.duckdb_profiling_info_get_child_count)(part) {
            tell(api, (api.duckdb_profiling_info_get_child)(part, n), line);
        }
    }
}
