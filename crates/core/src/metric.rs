//! What a database proves about itself: shares of calls, pages or rows that were as required.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! metrics {
    ($($variant:ident = $name:literal, $about:literal;)*) => {
        /// What an experiment can claim, and what each claim is a share of. Its names are written in experiment
        /// files, in stores and in JSON.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Metric {
            $(#[doc = $about] #[serde(rename = $name)] $variant,)*
        }

        impl Metric {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it is a share of, in one line.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)* }
            }
        }
    };
}

metrics! {
    AnsweredInPlace = "answered_in_place", "Calls that were answered on the CPUs that the variant asks for.";
    AuditedAsAsked = "audited_as_asked", "Calls that were logged as the variant's audit level asks for.";
    CommittedCalls = "committed_calls", "Calls that left what they wrote in the database.";
    CoresUnshared = "cores_unshared", "CPUs at work whose SMT siblings were idle.";
    LocalLookups = "local_lookups", "Page accesses on the worker's own node.";
    LogWriterInPlace = "log_writer_in_place", "Times that the log writer was seen where the variant asks for it.";
    PagesAsAsked = "pages_as_asked", "Memory on pages of the size that the variant asks for.";
    PagesInPlace = "pages_in_place", "Pages on the nodes that the variant asks for.";
    ParallelWorkersInPlace = "parallel_workers_in_place", "Parallel workers on the node that the variant asks for.";
    ParallelWorkersRan = "parallel_workers_ran", "Parallel workers that ran, of those that the variant asks for.";
    RemoteLookups = "remote_lookups", "Page accesses on other nodes than the worker's own.";
    RightAnswers = "right_answers", "Calls whose answer was checked and was right.";
    RowsCounted = "rows_counted", "Rows that were inserted and are in the table.";
}

impl Metric {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|metric| metric.name() == name)
    }

    pub const fn is_of_place(self) -> bool {
        matches!(
            self,
            Self::AnsweredInPlace
                | Self::LogWriterInPlace
                | Self::PagesInPlace
                | Self::ParallelWorkersInPlace
        )
    }

    pub const fn is_of_nodes(self) -> bool {
        matches!(self, Self::LocalLookups | Self::RemoteLookups)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Passed and examined items, by metric.
pub type Checks = BTreeMap<Metric, [u64; 2]>;
