//! Restrictions that several targets share.

use hopcost_core::{Code, Restriction, Setting, When};

use Setting::{
    Audit, BatchInserts, Bind, Client, Dop, FirstTouch, Instance, Interleave, Loads, LogWriter,
    Pages, ParallelWorkers, PerNode, Postmaster, Scripts,
};

pub const NOTHING_ELSE: Restriction = Restriction {
    when: When::Missing(LogWriter),
    code: Code::Unsupported,
    words: "{level} places no log writer, and this target is nothing else",
};

pub const NO_LOG: Restriction = Restriction::of(
    &[LogWriter],
    Code::Unsupported,
    "{level} places a log writer, and here is no log writer: whoever commits writes the log, if there is one",
);

pub const NO_CLIENT: Restriction = Restriction::of(
    &[Client],
    Code::Unsupported,
    "{level} places clients, and here is no client: it all runs in the thread that asks",
);

pub const NO_PARALLEL: Restriction = Restriction::of(
    &[Dop, Postmaster, ParallelWorkers],
    Code::Unsupported,
    "{level} asks for parallel workers, and here each call is worked on by one thread; PostgreSQL has such: \
     --target postgres:managed",
);

pub const NO_AUDIT: Restriction = Restriction::of(
    &[Audit],
    Code::Unsupported,
    "{level} has statements written down, and this target has none",
);

pub const UNAUDITED_LOADS: Restriction = Restriction {
    when: When::Together(Audit, &[Loads]),
    code: Code::Unsupported,
    words: "rows that a load brings are no statements, and nothing of them is written down: leave 'audit' out",
};

pub const NO_PAGES: Restriction = Restriction::of(
    &[Pages],
    Code::Unsupported,
    "{level} chooses the pages of its data, and here they are not ours to choose; sqlite and hashtable can: \
     --target sqlite",
);

pub const NO_BATCHES: Restriction = Restriction::of(
    &[BatchInserts],
    Code::WorkloadUnsupported,
    "many rows one by one in a call are for hashtable: take workload = \"memory_insert\"",
);

pub const NO_SCRIPTS: Restriction = Restriction::of(
    &[Scripts],
    Code::WorkloadUnsupported,
    "pgbench's scripts are for PostgreSQL: take postgres:managed or postgres://…",
);

/// Settings that need a database for each copy of the data.
pub const OF_ITS_OWN: &[Setting] = &[FirstTouch, Interleave, Bind, PerNode, Instance];

/// Of a target other than hopcost's own SQLite, which alone can emulate slow page accesses.
macro_rules! no_planting {
    ($name:literal) => {
        hopcost_core::Restriction::of(
            &[
                hopcost_core::Setting::EmulatedDistance,
                hopcost_core::Setting::EmulatedModes,
                hopcost_core::Setting::EmulatedSiblings,
                hopcost_core::Setting::EmulatedContention,
            ],
            hopcost_core::Code::NotEmulated,
            concat!(
                "distance is planted in hopcost's own SQLite, and cannot be in ",
                $name,
                ": leave out --target, or write --emulate nodes=N alone, where nodes are sets of CPUs at no distance"
            ),
        )
    };
}

macro_rules! one_server {
    ($name:literal) => {
        hopcost_core::Restriction::of(
            super::restrictions::OF_ITS_OWN,
            hopcost_core::Code::Unsupported,
            concat!(
                "a server that runs is one, and has its memory policy already: take --target ",
                $name,
                ":managed, which starts a server for each level"
            ),
        )
    };
}

pub(super) use {no_planting, one_server};
