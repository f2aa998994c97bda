//! What an experiment can ask of an engine, and what each engine refuses, as data.
//!
//! A plan thus refuses what opening the database would, with the same words, and a table of it can
//! be printed.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::code::Code;
use crate::emulation::Emulation;
use crate::experiment::Level;
use crate::known::Reason;
use crate::variant::{CopyChoice, DataPlacement, Policy, SessionChoice};
use crate::workload::{Effect, Filling, WorkloadSpec};

macro_rules! settings {
    ($($variant:ident = $name:literal, $about:literal $(, $example:literal)?;)*) => {
        /// What a variant of an experiment can ask of an engine. A policy, a kind of call and a kind of emulation count
        /// as one each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Setting {
            $(#[doc = $about] $variant,)*
        }

        impl Setting {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)* }
            }

            /// How a level of an experiment file asks for it; none of what is asked for elsewhere.
            pub const fn example(self) -> Option<&'static str> {
                match self {
                    $($(Self::$variant => Some($example),)?)*
                    _ => None,
                }
            }
        }
    };
}

settings! {
    Data = "data", "The data's memory on a node.", "data = \"node:A\"";
    FirstTouch = "policy.first-touch", "Pages of the data where they are first touched.", "data = \"node:A\", policy = \"first-touch\"";
    Interleave = "policy.interleave", "Pages of the data on all nodes in turn.", "policy = \"interleave\"";
    Bind = "policy.bind", "Pages of the data bound to a node.", "data = \"node:A\", policy = \"bind\"";
    PerNode = "policy.per-node", "A copy of the data on each node.", "policy = \"per-node\"";
    Instance = "instance", "A copy of the data, or a server, of the variant's own.", "instance = 1";
    Pages = "pages", "The size of the pages that hold the data.", "pages = \"small\"";
    HugePages = "huge_pages", "Reserved huge pages for the memory of a server.", "huge_pages = false";
    Workers = "workers", "The threads that work on requests on a node.", "workers = \"node:A\"";
    Siblings = "siblings", "Both threads of each core, or one.", "siblings = true";
    Apart = "apart", "Workers in two places that are so far apart.", "apart = \"other-socket\"";
    Cores = "cores", "A share of each node's cores.", "cores = 1.0";
    Cpus = "cpus", "A number of CPUs.", "cpus = 2";
    LogWriter = "log_writer", "The log writer in a place.", "log_writer = \"node:A\"";
    Client = "client", "The threads that send requests in a place.", "client = \"node:A\"";
    Dop = "dop", "Parallel workers on a query.", "dop = 2";
    Postmaster = "postmaster", "The process that starts parallel workers on a node.", "dop = 2, postmaster = \"node:A\"";
    ParallelWorkers = "parallel_workers", "Parallel workers on a node.", "dop = 2, parallel_workers = \"node:A\"";
    Audit = "audit", "What is logged of each statement.", "audit = \"statements\"";
    Workload = "workload", "A workload of the variant's own.";
    Statements = "calls.statements", "Calls that are a statement each, on data that was loaded before.";
    Scripts = "calls.scripts", "Calls that are a script in pgbench's format each.";
    Inserts = "calls.inserts", "Calls that insert one row each into a table that fills.";
    BatchInserts = "calls.batch_inserts", "Calls that insert many rows each, one by one.";
    Loads = "calls.loads", "Calls that load many rows each in bulk.";
    EmulatedNodes = "emulate.nodes", "Emulated nodes.";
    EmulatedDistance = "emulate.remote_ns", "Accesses to pages of another emulated node that take longer.";
    EmulatedModes = "emulate.bimodal", "A share of the calls to another emulated node that take longer.";
    EmulatedSiblings = "emulate.siblings", "Calls that take longer beside work on an emulated SMT sibling.";
    EmulatedContention = "emulate.usl", "Calls that take longer the more clients there are.";
}

impl Setting {
    /// Refused unless the engine offers it: only few engines know these.
    const TO_BE_OFFERED: &'static [Self] = &[Self::HugePages];

    const fn of_policy(policy: Policy) -> Self {
        match policy {
            Policy::FirstTouch => Self::FirstTouch,
            Policy::Interleave => Self::Interleave,
            Policy::Bind => Self::Bind,
            Policy::PerNode => Self::PerNode,
        }
    }

    /// One process per query and instance 0 are supported by every engine, so they are no demand.
    fn of_level(level: &Level) -> BTreeSet<Self> {
        let Level {
            name: _,
            label: _,
            data,
            copy,
            workers,
            log_writer,
            client,
            dop,
            postmaster,
            parallel_workers,
            session: SessionChoice { audit },
            siblings,
            apart,
            cores,
            cpus,
            workload,
        } = level;
        let asked = [
            (Self::Data, data.is_some()),
            (Self::Workers, workers.is_some()),
            (Self::Siblings, siblings.is_some()),
            (Self::Apart, apart.is_some()),
            (Self::Cores, cores.is_some()),
            (Self::Cpus, cpus.is_some()),
            (Self::LogWriter, log_writer.is_some()),
            (Self::Client, client.is_some()),
            (Self::Dop, *dop > Some(1)),
            (Self::Postmaster, postmaster.is_some()),
            (Self::ParallelWorkers, parallel_workers.is_some()),
            (Self::Audit, audit.is_some()),
            (Self::Workload, workload.is_some()),
        ];
        only_asked(asked).chain(Self::of_copy(copy)).collect()
    }

    fn of_copy(copy: &CopyChoice) -> impl Iterator<Item = Self> {
        let CopyChoice { policy, instance, pages, huge_pages } = copy;
        let instance = instance.filter(|number| *number > 0).map(|_| Self::Instance);
        let (pages, huge_pages) = (pages.map(|_| Self::Pages), huge_pages.map(|_| Self::HugePages));
        [policy.map(Self::of_policy), instance, pages, huge_pages].into_iter().flatten()
    }

    fn of_calls(spec: &WorkloadSpec) -> impl Iterator<Item = Self> {
        let kind = match spec.effect {
            Effect::Reads | Effect::Writes => Self::Statements,
            Effect::Fills(Filling::Rows { a_call: ..=1, .. }) => Self::Inserts,
            Effect::Fills(Filling::Rows { .. }) => Self::BatchInserts,
            Effect::Fills(Filling::Bulk(_)) => Self::Loads,
        };
        let has_script = spec.statements.iter().any(|statement| statement.script.is_some());
        [kind].into_iter().chain(has_script.then_some(Self::Scripts))
    }

    fn of_emulation(emulation: &Emulation) -> impl Iterator<Item = Self> {
        let asked = [
            (Self::EmulatedNodes, true),
            (Self::EmulatedDistance, emulation.remote_ns > 0.0),
            (Self::EmulatedModes, emulation.bimodal.is_some()),
            (Self::EmulatedSiblings, emulation.slows_siblings()),
            (Self::EmulatedContention, emulation.usl.is_some()),
        ];
        only_asked(asked)
    }
}

fn only_asked<const N: usize>(all: [(Setting, bool); N]) -> impl Iterator<Item = Setting> {
    all.into_iter().filter(|(_, is_asked)| *is_asked).map(|(setting, _)| setting)
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    variants: Vec<(String, BTreeSet<Setting>)>,
    common: BTreeSet<Setting>,
    allows_server_changes: bool,
}

impl Demand {
    pub(crate) fn of(
        levels: &[Level],
        homes: &[DataPlacement],
        calls: &WorkloadSpec,
        emulation: Option<&Emulation>,
        allows_server_changes: bool,
    ) -> Self {
        let variant = |level: &Level| (level.name.clone(), Setting::of_level(level));
        let homes = homes.iter().flat_map(|home| Setting::of_copy(&home.copy));
        let emulated = emulation.into_iter().flat_map(Setting::of_emulation);
        Self {
            variants: levels.iter().map(variant).collect(),
            common: homes.chain(Setting::of_calls(calls)).chain(emulated).collect(),
            allows_server_changes,
        }
    }

    fn asks_for(&self, settings: &[Setting]) -> Option<String> {
        let asks = |asked: &BTreeSet<Setting>| settings.iter().any(|one| asked.contains(one));
        self.named(asks).or_else(|| asks(&self.common).then(|| "what is asked".to_owned()))
    }

    fn named(&self, is_such: impl Fn(&BTreeSet<Setting>) -> bool) -> Option<String> {
        let (name, _) = self.variants.iter().find(|(_, asked)| is_such(asked))?;
        Some(format!("the variant '{name}'"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    AnyOf(&'static [Setting]),
    Together(Setting, &'static [Setting]),
    Unpermitted(Setting),
    /// Some variant does not ask for it.
    Missing(Setting),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restriction {
    pub when: When,
    pub code: Code,
    /// Message; `{level}` is replaced by the variant that asks.
    pub words: &'static str,
}

impl Restriction {
    pub const fn of(settings: &'static [Setting], code: Code, words: &'static str) -> Self {
        Self { when: When::AnyOf(settings), code, words }
    }

    fn refusal(&self, demand: &Demand) -> Option<Reason> {
        let who = match self.when {
            When::AnyOf(settings) => demand.asks_for(settings),
            When::Together(first, others) => {
                demand.asks_for(others).and_then(|_| demand.asks_for(&[first]))
            }
            When::Unpermitted(_) if demand.allows_server_changes => None,
            When::Unpermitted(setting) => demand.asks_for(&[setting]),
            When::Missing(setting) => demand.named(|asked| !asked.contains(&setting)),
        }?;
        Some(self.code.because(self.words.replace("{level}", &who)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    Accepted,
    WithServerChanges,
    Required,
    Refused,
}

impl Support {
    pub const ALL: [Self; 4] =
        [Self::Accepted, Self::WithServerChanges, Self::Required, Self::Refused];

    pub const fn mark(self) -> char {
        match self {
            Self::Accepted => '+',
            Self::WithServerChanges => '*',
            Self::Required => '!',
            Self::Refused => '-',
        }
    }

    pub const fn about(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::WithServerChanges => "accepted with --allow-server-changes",
            Self::Required => "needed in every variant",
            Self::Refused => "refused",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    restrictions: &'static [Restriction],
    offers: &'static [Setting],
}

impl Capabilities {
    /// Everything except the restrictions, of which the first that applies counts, and except
    /// settings that an engine must offer by name.
    pub const fn but(restrictions: &'static [Restriction]) -> Self {
        Self { restrictions, offers: &[] }
    }

    #[must_use]
    pub const fn offering(self, offers: &'static [Setting]) -> Self {
        Self { offers, ..self }
    }

    pub fn refusal(&self, demand: &Demand) -> Option<Reason> {
        let restricted = self.restrictions.iter().find_map(|one| one.refusal(demand));
        restricted.or_else(|| self.not_offered().find_map(|setting| unheard_of(setting, demand)))
    }

    fn not_offered(&self) -> impl Iterator<Item = Setting> {
        Setting::TO_BE_OFFERED.iter().copied().filter(|setting| !self.offers.contains(setting))
    }

    pub fn support(&self, setting: Setting) -> Support {
        if self.not_offered().any(|one| one == setting) {
            return Support::Refused;
        }
        let of_restriction = |restriction: &Restriction| match restriction.when {
            When::AnyOf(settings) if settings.contains(&setting) => Some(Support::Refused),
            When::Unpermitted(one) if one == setting => Some(Support::WithServerChanges),
            When::Missing(one) if one == setting => Some(Support::Required),
            _ => None,
        };
        self.restrictions.iter().find_map(of_restriction).unwrap_or(Support::Accepted)
    }

    pub fn not_together(&self) -> impl Iterator<Item = (Setting, &'static [Setting])> {
        self.restrictions.iter().filter_map(|restriction| match restriction.when {
            When::Together(first, others) => Some((first, others)),
            _ => None,
        })
    }
}

fn unheard_of(setting: Setting, demand: &Demand) -> Option<Reason> {
    let words = "and this target has no such setting: 'hopcost list --all' shows which have";
    let who = demand.asks_for(&[setting]);
    who.map(|who| Code::Unsupported.because(format!("{who} asks for {setting}, {words}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAN: Capabilities = Capabilities::but(&[
        Restriction::of(&[Setting::Client], Code::Unsupported, "{level} places clients"),
        Restriction {
            when: When::Together(Setting::Pages, &[Setting::Loads]),
            code: Code::Unsupported,
            words: "{level} chooses pages of a load",
        },
        Restriction {
            when: When::Unpermitted(Setting::Audit),
            code: Code::RightsMissing,
            words: "{level} is audited",
        },
        Restriction {
            when: When::Missing(Setting::LogWriter),
            code: Code::NotPlaceable,
            words: "{level} places no log writer",
        },
    ]);

    fn demand<const N: usize>(variants: [&[Setting]; N], common: &[Setting]) -> Demand {
        let variants = variants.iter().zip(["a", "b", "c"]);
        Demand {
            variants: variants
                .map(|(asked, name)| (name.to_owned(), asked.iter().copied().collect()))
                .collect(),
            common: common.iter().copied().collect(),
            allows_server_changes: false,
        }
    }

    fn refusal(demand: &Demand) -> Option<String> {
        CAN.refusal(demand).map(|reason| format!("{}: {reason}", reason.code()))
    }

    #[test]
    fn the_first_limit_counts_and_names_who_asks() {
        use Setting::{Audit, Client, Data, Loads, LogWriter, Pages};
        let says = |demand: &Demand, words: &str| {
            assert_eq!(refusal(demand).as_deref(), Some(words), "{demand:?}");
        };
        assert_eq!(refusal(&demand([], &[])), None);
        assert_eq!(refusal(&demand([&[LogWriter, Data, Pages]], &[])), None);
        says(
            &demand([&[LogWriter], &[Client]], &[]),
            "engine.setting: the variant 'b' places clients",
        );
        says(&demand([], &[Client]), "engine.setting: what is asked places clients");
        says(
            &demand([&[LogWriter, Pages]], &[Loads]),
            "engine.setting: the variant 'a' chooses pages of a load",
        );
        says(
            &demand([&[LogWriter], &[]], &[]),
            "engine.place: the variant 'b' places no log writer",
        );
        let audited = demand([&[LogWriter, Audit]], &[]);
        says(&audited, "engine.rights: the variant 'a' is audited");
        assert_eq!(refusal(&Demand { allows_server_changes: true, ..audited }), None);
    }

    #[test]
    fn support_is_what_the_limits_say() {
        let support = [Setting::Client, Setting::Pages, Setting::Audit, Setting::LogWriter];
        assert_eq!(
            support.map(|setting| CAN.support(setting)),
            [Support::Refused, Support::Accepted, Support::WithServerChanges, Support::Required]
        );
        assert_eq!(
            CAN.not_together().collect::<Vec<_>>(),
            [(Setting::Pages, &[Setting::Loads][..])]
        );
    }

    #[test]
    fn names_are_different_and_sentences_are_whole() {
        let names: BTreeSet<&str> = Setting::ALL.iter().map(|setting| setting.name()).collect();
        assert_eq!(names.len(), Setting::ALL.len());
        assert!(Setting::ALL.iter().all(|setting| setting.about().ends_with('.')));
    }
}
