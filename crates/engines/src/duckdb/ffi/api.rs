//! The functions of libduckdb's C interface that hopcost uses.

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr;

use super::super::super::hosted::LibraryResult;
use super::super::super::interface::interface;

pub const SUCCESS: u32 = 0;
/// The oldest version that has all of these functions.
const OLDEST: &str = "1.1";

pub type Handle = *mut c_void;

/// `duckdb_result`, passed by value by some functions: three integers and three pointers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawRows([Handle; 6]);

pub const NO_ROWS: RawRows = RawRows([ptr::null_mut(); 6]);

interface! {
    pub struct Interface;
    duckdb_library_version() -> *const c_char;
    duckdb_create_config(*mut Handle) -> u32;
    duckdb_set_config(Handle, *const c_char, *const c_char) -> u32;
    duckdb_destroy_config(*mut Handle);
    duckdb_open_ext(*const c_char, *mut Handle, Handle, *mut *mut c_char) -> u32;
    duckdb_free(*mut c_void);
    duckdb_connect(Handle, *mut Handle) -> u32;
    duckdb_disconnect(*mut Handle);
    duckdb_query(Handle, *const c_char, *mut RawRows) -> u32;
    duckdb_destroy_result(*mut RawRows);
    duckdb_result_error(*mut RawRows) -> *const c_char;
    duckdb_column_count(*mut RawRows) -> u64;
    duckdb_column_type(*mut RawRows, u64) -> u32;
    duckdb_fetch_chunk(RawRows) -> Handle;
    duckdb_destroy_data_chunk(*mut Handle);
    duckdb_data_chunk_get_size(Handle) -> u64;
    duckdb_data_chunk_get_vector(Handle, u64) -> Handle;
    duckdb_vector_get_data(Handle) -> *mut c_void;
    duckdb_vector_get_validity(Handle) -> *mut u64;
    duckdb_prepare(Handle, *const c_char, *mut Handle) -> u32;
    duckdb_prepare_error(Handle) -> *const c_char;
    duckdb_destroy_prepare(*mut Handle);
    duckdb_nparams(Handle) -> u64;
    duckdb_param_type(Handle, u64) -> u32;
    duckdb_bind_int64(Handle, u64, i64) -> u32;
    duckdb_bind_timestamp(Handle, u64, i64) -> u32;
    duckdb_execute_prepared(Handle, *mut RawRows) -> u32;
    duckdb_appender_create(Handle, *const c_char, *const c_char, *mut Handle) -> u32;
    duckdb_appender_error(Handle) -> *const c_char;
    duckdb_appender_end_row(Handle) -> u32;
    duckdb_appender_close(Handle) -> u32;
    duckdb_appender_destroy(*mut Handle) -> u32;
    duckdb_append_int16(Handle, i16) -> u32;
    duckdb_append_int32(Handle, i32) -> u32;
    duckdb_append_int64(Handle, i64) -> u32;
    duckdb_append_timestamp(Handle, i64) -> u32;
    duckdb_append_varchar_length(Handle, *const c_char, u64) -> u32;
    duckdb_append_null(Handle) -> u32;
    duckdb_get_profiling_info(Handle) -> Handle;
    duckdb_profiling_info_get_metrics(Handle) -> Handle;
    duckdb_profiling_info_get_child_count(Handle) -> u64;
    duckdb_profiling_info_get_child(Handle, u64) -> Handle;
    duckdb_get_varchar(Handle) -> *mut c_char;
    duckdb_destroy_value(*mut Handle);
}

impl Interface {
    pub fn load(path: &Path) -> LibraryResult<&'static Self> {
        let wrong = |why: &dyn std::fmt::Display| {
            let path = path.display();
            format!("{path}: it is not a libduckdb that hopcost can use: {why}")
        };
        // SAFETY: loading a library runs its code; the user chose this one, or the administrator
        // installed it.
        let library = unsafe { libloading::Library::new(path) }.map_err(|error| wrong(&error))?;
        let all = Self::of(library)
            .map_err(|error| wrong(&format_args!("{error}; {OLDEST} and later have all of it")))?;
        Ok(Box::leak(Box::new(all)))
    }
}

/// # Safety
/// The pointer is null or points to a NUL-terminated string.
pub unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return "it gives no reason".to_owned();
    }
    // SAFETY: by this function's contract.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

pub fn ended(text: &str) -> LibraryResult<CString> {
    CString::new(text).map_err(|_| "a text with a zero in it".into())
}

/// The values of `duckdb_type`.
pub mod kind {
    pub const BOOLEAN: u32 = 1;
    pub const TINYINT: u32 = 2;
    pub const SMALLINT: u32 = 3;
    pub const INTEGER: u32 = 4;
    pub const BIGINT: u32 = 5;
    pub const TIMESTAMP: u32 = 12;
    pub const HUGEINT: u32 = 16;
    pub const VARCHAR: u32 = 17;
}
