//! Why a store cannot be used.

use rusqlite::ErrorCode;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum StoreError {
    #[error("this is no store of hopcost; name another file with --store")]
    Foreign,
    #[error(
        "a newer hopcost wrote this store (version {found}, this one knows {known}): update hopcost, \
         or name another file with --store"
    )]
    Newer { found: u32, known: u32 },
    #[error("there is no store here: 'hopcost run' makes one, --store names another place")]
    Absent,
    #[error(
        "another process keeps this store locked: wait for it, or name another file with --store"
    )]
    Locked,
    #[error("the disk is full; what was finished before is kept: make room, and run again")]
    Full,
    #[error(
        "this store could not be written ({0}): the disk may be full or failing, or a limit on the \
         size of files in force; what was finished before is kept"
    )]
    Unwritten(rusqlite::Error),
    #[error(
        "another process goes on with this run: wait for it, or name another file with --store"
    )]
    Taken,
    #[error(
        "this store is of an older version, or was left in the middle of a write, and could not be copied to be read \
         ({0}): make room in the temporary directory (TMPDIR)"
    )]
    NoCopy(std::io::Error),
    #[error("this store may not be written here; name a place that may with --store")]
    ReadOnly,
    #[error("this file is damaged ({0}): restore a copy, or name another file with --store")]
    Damaged(rusqlite::Error),
    #[error(transparent)]
    Other(rusqlite::Error),
    #[error("run {run} was kept in a form that this hopcost cannot read: {source}")]
    Unreadable { run: i64, source: serde_json::Error },
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::ConstraintViolation) => Self::Taken,
            Some(ErrorCode::SystemIoFailure) => Self::Unwritten(error),
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::ReadOnly
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(error),
            _ => Self::Other(error),
        }
    }
}
