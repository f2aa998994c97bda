//! Reads all that will be asked for into the shared buffers.

use super::super::server::wire::{Wire as _, WireError};
use super::wire::Wire;

/// Our tables and indexes, as SQL names them.
const RELATIONS: &str = "\
    SELECT relkind::text || ':' || quote_ident(nspname) || '.' || quote_ident(relname) \
    FROM pg_class AS c, pg_namespace AS n WHERE n.oid = c.relnamespace \
    AND nspname = current_schema() AND relkind IN ('r', 'i')";
const HAS_PREWARM: &str = "SELECT 1 FROM pg_extension WHERE extname = 'pg_prewarm'";
/// Has the next question answered from the table, by this connection's process alone.
const BY_ITSELF: &str = "BEGIN; SET LOCAL max_parallel_workers_per_gather = 0; \
                         SET LOCAL enable_indexonlyscan = off;";

/// Reads everything that our search path shows into the shared buffers.
pub fn read_everything(wire: &mut Wire) -> Result<(), WireError> {
    let relations = wire.query(RELATIONS)?;
    let has_prewarm = wire.value(HAS_PREWARM)?.is_some();
    // From version 18 on, processes of the server's own may have read for us: then what they brought is
    // touched once more, since the proof is by the pages that this connection has touched.
    let io_method = "SELECT setting FROM pg_settings WHERE name = 'io_method'";
    let is_read_by_others = wire.value(io_method)?.is_some_and(|method| method == "worker");
    for name in relations.into_iter().filter_map(|row| row.into_iter().next().flatten()) {
        let (kind, name) = name.split_once(':').unwrap_or(("r", &name));
        if has_prewarm {
            wire.query(&format!("SELECT pg_prewarm('{name}'::regclass)"))?;
        }
        // Without the extension the table is read, once; its indexes come with their first use.
        if kind != "i" && (is_read_by_others || !has_prewarm) {
            wire.query(&format!("{BY_ITSELF} SELECT count(*) FROM {name}; COMMIT"))?;
        }
    }
    Ok(())
}
