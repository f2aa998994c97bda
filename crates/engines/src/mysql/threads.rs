//! The threads of a server, as the kernel numbers them: the two kinds of server tell them in different places.

use super::wire::{Wire, WireError};

/// Of the connection's own.
const OF_MARIADB: &str =
    "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()";
const OF_MYSQL: &str = "\
    SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()";
/// Who writes MySQL's log, and who has it written through.
const OF_LOG: &str = "\
    SELECT THREAD_OS_ID FROM performance_schema.threads \
    WHERE NAME IN ('thread/innodb/log_writer_thread', 'thread/innodb/log_flusher_thread')";

/// The thread that serves a connection; none where the server does not tell.
pub fn of_connection(wire: &mut Wire) -> Result<Option<u32>, WireError> {
    let sql = if wire.is_mariadb() { OF_MARIADB } else { OF_MYSQL };
    Ok(wire.value(sql)?.and_then(|number| number.parse().ok()))
}

/// The threads that write the log, where it has some.
pub fn of_log(wire: &mut Wire) -> Result<Vec<u32>, WireError> {
    if wire.is_mariadb() {
        return Ok(Vec::new());
    }
    let rows = wire.query(OF_LOG)?;
    Ok(rows.into_iter().filter_map(|row| row.into_iter().next()??.parse().ok()).collect())
}
