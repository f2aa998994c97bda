//! Restrictions that several targets share.

use hopcost_core::{Code, Restriction, Setting, When};

use Setting::{
    Audit, BatchInserts, Bind, Client, Dop, FirstTouch, Instance, Interleave, Loads, LogWriter,
    Pages, ParallelWorkers, PerNode, Postmaster, Scripts,
};

pub const NOTHING_ELSE: Restriction = Restriction {
    when: When::Missing(LogWriter),
    code: Code::Unsupported,
    words: "{level} places no log writer, and this target is only a log",
};

pub const NO_LOG: Restriction = Restriction::of(
    &[LogWriter],
    Code::Unsupported,
    "{level} places a log writer; this engine has none, because each session writes the log for its own commit",
);

pub const NO_CLIENT: Restriction = Restriction::of(
    &[Client],
    Code::Unsupported,
    "{level} places clients; this engine runs in the client's own thread",
);

pub const NO_PARALLEL: Restriction = Restriction::of(
    &[Dop, Postmaster, ParallelWorkers],
    Code::Unsupported,
    "{level} needs parallel workers; this engine answers each call with one thread. Use --target \
     postgres:managed",
);

pub const NO_AUDIT: Restriction = Restriction::of(
    &[Audit],
    Code::Unsupported,
    "{level} logs every statement; hopcost cannot switch such a log on in this target",
);

pub const UNAUDITED_LOADS: Restriction = Restriction {
    when: When::Together(Audit, &[Loads]),
    code: Code::Unsupported,
    words: "a bulk load has no statements to log. Use it without 'audit'",
};

pub const NO_PAGES: Restriction = Restriction::of(
    &[Pages],
    Code::Unsupported,
    "{level} chooses the page size; this engine allocates its own memory. Use --target sqlite or hashtable",
);

pub const NO_BATCHES: Restriction = Restriction::of(
    &[BatchInserts],
    Code::WorkloadUnsupported,
    "calls that insert many rows one by one are for hashtable. Use workload = \"memory_insert\"",
);

pub const NO_SCRIPTS: Restriction = Restriction::of(
    &[Scripts],
    Code::WorkloadUnsupported,
    "pgbench's scripts run on PostgreSQL only. Use --target postgres:managed or postgres://…",
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
                "hopcost can inject delays only into its own SQLite, not into ",
                $name,
                ". Use it without --target, or with --emulate nodes=N alone: nodes without a distance"
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
                "an existing server has one memory policy already. Use --target ",
                $name,
                ":managed, which starts one server per variant"
            ),
        )
    };
}

pub(super) use {no_planting, one_server};
