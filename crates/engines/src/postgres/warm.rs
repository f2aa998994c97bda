//! Reads all tables and indexes into the shared buffers.

use super::super::server::wire::{Wire as _, WireError};
use super::wire::Wire;

const RELATIONS: &str = "\
    SELECT relkind::text || ':' || quote_ident(nspname) || '.' || quote_ident(relname) \
    FROM pg_class AS c, pg_namespace AS n WHERE n.oid = c.relnamespace \
    AND nspname = current_schema() AND relkind IN ('r', 'i')";
const HAS_PREWARM: &str = "SELECT 1 FROM pg_extension WHERE extname = 'pg_prewarm'";
/// Forces the next query to read the table itself, without parallel workers.
const BY_ITSELF: &str = "BEGIN; SET LOCAL max_parallel_workers_per_gather = 0; \
                         SET LOCAL enable_indexonlyscan = off;";

pub fn read_everything(wire: &mut Wire) -> Result<(), WireError> {
    let relations = wire.query(RELATIONS)?;
    let has_prewarm = wire.value(HAS_PREWARM)?.is_some();
    // I/O workers (version 18) may have read the pages, but only pages that this backend has
    // touched count in the proof.
    let io_method = "SELECT setting FROM pg_settings WHERE name = 'io_method'";
    let is_read_by_others = wire.value(io_method)?.is_some_and(|method| method == "worker");
    for name in relations.into_iter().filter_map(|row| row.into_iter().next().flatten()) {
        let (kind, name) = name.split_once(':').unwrap_or(("r", &name));
        if has_prewarm {
            wire.query(&format!("SELECT pg_prewarm('{name}'::regclass)"))?;
        }
        // Without the extension, indexes are read at their first use.
        if kind != "i" && (is_read_by_others || !has_prewarm) {
            wire.query(&format!("{BY_ITSELF} SELECT count(*) FROM {name}; COMMIT"))?;
        }
    }
    Ok(())
}
