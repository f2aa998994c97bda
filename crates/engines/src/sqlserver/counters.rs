//! What the server counts itself, and what it does not let us know.

use std::collections::BTreeMap;

use hopcost_core::{Gauge, Reading, Rows, gauge};

use super::super::server::wire::Wire as _;
use super::{Wire, layout, scripts};

/// A statement, and what its rows are.
type Count = (&'static str, fn(Rows) -> Vec<Reading>);

/// What the server counts: by which statement, and what its rows are.
const COUNTS: [Count; 5] = [
    ("buffer_nodes", |rows| {
        each(rows, |[node, side, count]| {
            let gauge = if side == "remote" {
                gauge::REMOTE_PAGE_LOOKUPS
            } else {
                gauge::LOCAL_PAGE_LOOKUPS
            };
            Some(vec![count_of(gauge, format!("node {node}"), &count)?])
        })
    }),
    ("buffer_reads", |rows| {
        each(rows, |[count]| Some(vec![count_of(gauge::BUFFER_READS, String::new(), &count)?]))
    }),
    ("log_bytes", |rows| {
        each(rows, |[name, count]| {
            let gauge =
                if name.starts_with("Log Bytes") { gauge::WAL_BYTES } else { gauge::LOG_FLUSHES };
            Some(vec![count_of(gauge, String::new(), &count)?])
        })
    }),
    ("waits", |rows| each(rows, |[kind, ms]| Some(vec![count_of(gauge::WAIT_MS, kind, &ms)?]))),
    ("spinlocks", |rows| {
        each(rows, |[name, collisions, spins, backoffs]| {
            Some(vec![
                count_of(gauge::SPIN_COLLISIONS, name.clone(), &collisions)?,
                count_of(gauge::SPINS, name.clone(), &spins)?,
                count_of(gauge::SPIN_BACKOFFS, name, &backoffs)?,
            ])
        })
    }),
];

fn count_of(gauge: &'static Gauge, of: String, value: &str) -> Option<Reading> {
    Some(Reading { gauge, of, value: value.parse().ok()? })
}

/// The readings of each row of so many values.
fn each<const N: usize>(
    rows: Rows,
    read: impl Fn([String; N]) -> Option<Vec<Reading>>,
) -> Vec<Reading> {
    let read = |row: Vec<Option<String>>| {
        let values: Vec<String> = row.into_iter().collect::<Option<_>>()?;
        read(values.try_into().ok()?)
    };
    rows.into_iter().filter_map(read).flatten().collect()
}

/// As it stands now.
pub fn read(wire: &mut Wire) -> Vec<Reading> {
    let read = |(name, read): &Count| {
        let sql = scripts::sql(name, wire.version()).ok();
        sql.and_then(|sql| wire.query(sql).ok()).map(read).unwrap_or_default()
    };
    COUNTS.iter().flat_map(read).collect()
}

/// What the server does not let us know: its own counts, if the login may not look or they are not there.
pub fn untold(wire: &mut Wire) -> Vec<String> {
    if !layout::may_look(wire) {
        return vec![layout::MAY_NOT_LOOK.to_owned()];
    }
    let mut missing: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, _) in COUNTS {
        let asked = scripts::sql(name, wire.version()).map_err(|reason| reason.to_string());
        let said = asked.and_then(|sql| wire.query(sql).map_err(|error| error.to_string()));
        if let Err(words) = said {
            missing.entry(words).or_default().push(name);
        }
    }
    let words = |(words, names): (String, Vec<&str>)| {
        format!("the server's {} are missing, because it says: {words}", names.join(", "))
    };
    missing.into_iter().map(words).collect()
}
