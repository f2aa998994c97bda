//! Advice: which recipe follows from a result, with this machine's numbers filled in.
//!
//! Recipes are files; experiments name them. hopcost shows them and never runs them.

use std::collections::BTreeMap;

use hopcost_core::{AdviceRule, Beyond, Estimate, Experiment, Machine, NodeId, Verdict};
use serde::Deserialize;

/// What to change on a host or a server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    pub title: String,
    /// Continues "Not if".
    pub avoid: String,
    pub sources: Vec<String>,
    /// Of the steps that do not say it themselves.
    pub verified: Verified,
    /// A machine with fewer memory nodes has no use for it.
    #[serde(default)]
    pub least_nodes: usize,
    /// A guest cannot follow it, e.g. in the BIOS.
    #[serde(default)]
    pub not_in_guests: bool,
    /// Guests of other hypervisors cannot follow it; any can if empty.
    #[serde(default)]
    pub hypervisors: Vec<String>,
    /// None if nothing is to be changed.
    #[serde(default, rename = "step")]
    pub steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verified {
    /// Its lines were executed and undone, on the engine or in a guest.
    Measured,
    /// Its lines are in the sources that it names.
    Documented,
    Unverified,
}

/// A recipe for some engines and environments.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Any if empty.
    #[serde(default)]
    pub engine: Vec<String>,
    /// Any if empty.
    #[serde(default)]
    pub env: Vec<String>,
    /// The recipe's if it does not say.
    pub verified: Option<Verified>,
    /// The lines of `do` go into this file.
    pub file: Option<String>,
    #[serde(rename = "do")]
    pub lines: Vec<String>,
    /// Commands after the file is written.
    #[serde(default)]
    pub then: Vec<String>,
    pub apply: Apply,
    pub check: Vec<String>,
    pub undo: Vec<String>,
}

/// What it takes until a change has its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Apply {
    None,
    Reconnect,
    Reload,
    Restart,
    Reboot,
    Drain,
    App,
}

impl Apply {
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::None => "no restart",
            Self::Reconnect => "clients reconnect",
            Self::Reload => "reload the server",
            Self::Restart => "restart the server",
            Self::Reboot => "reboot",
            Self::Drain => "drain the Kubernetes node",
            Self::App => "a change of the application",
        }
    }
}

pub const ENGINES: [&str; 6] = ["sqlite", "postgres", "mysql", "mariadb", "duckdb", "sqlserver"];
pub const ENVIRONMENTS: [&str; 5] = ["systemd", "container", "kubernetes", "plain", "vm"];
pub const PLACEHOLDERS: [&str; 7] =
    ["node", "cpus", "cpus_one_per_core", "pid", "unit", "kind", "file"];

/// How to find what hopcost could not fill in, by its name in a command.
const FIND: [(&str, &str); 17] = [
    ("NODE", "number of the memory node: 'hopcost machine' shows them"),
    ("CPUS", "CPUs of that node, e.g. 0-15: 'hopcost machine' shows them"),
    ("CPUS_ONE_PER_CORE", "one CPU of each core: 'hopcost machine' shows them"),
    (
        "PID",
        "the server's first process: 'hopcost where KIND' shows it, e.g. hopcost where postgres",
    ),
    ("OLD_VALUE", "the value that it had before: Check shows it, in brackets if there is a choice"),
    ("UNIT", "the server's systemd unit: 'systemctl status PID' shows it"),
    ("KIND", "the database, e.g. postgres or mysql"),
    ("TARGET", "the database, e.g. postgres://user@host/database"),
    ("SESSIONS", "number of clients in the result"),
    ("JOBS", "number of parallel load jobs in the result"),
    ("OLD_JOBS", "number of load jobs before"),
    ("VIEW_NAME", "the view or table that is queried"),
    ("BRANCH", "a table below the view, e.g. one partition; one index on each"),
    ("STAMP", "the column with the date"),
    ("BOUND", "a date that is surely before the newest row"),
    ("INDEX_NAME", "a name for the index"),
    ("TABLE_OLD", "the table that all sessions insert into"),
];

/// Where advice is to be followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// `None` for a stand-in that is no database.
    pub engine: Option<&'static str>,
    pub env: Vec<&'static str>,
    /// `None` if the machine is not known.
    nodes: Option<usize>,
    is_guest: bool,
    hypervisor: Option<String>,
    fill: BTreeMap<&'static str, String>,
}

impl Place {
    /// Of a target's URL, the machine it ran on and the node that the baseline used.
    pub fn new(target: &str, machine: Option<&Machine>, node: Option<NodeId>) -> Self {
        let scheme = target.split(':').next().unwrap_or_default();
        let engine = ENGINES.into_iter().find(|engine| *engine == scheme);
        let container = machine.and_then(|machine| machine.virtualization.container.get());
        let first = match container {
            Some(name) if name.contains("kube") => "kubernetes",
            Some(_) => "container",
            None => "systemd",
        };
        let is_guest = machine.and_then(|it| it.virtualization.guest.get()) == Some(&true);
        let hypervisor = machine.and_then(|it| it.virtualization.hypervisor.get()).cloned();
        let mut fill = BTreeMap::new();
        fill.extend(engine.map(|engine| ("kind", engine.to_owned())));
        if let Some(node) = machine.and_then(|machine| machine.node(node?)) {
            fill.insert("node", node.id.to_string());
            fill.insert("cpus", node.cpus.to_string());
        }
        if let Some(machine) = machine {
            let all = machine.nodes_with_cpus().flat_map(|node| node.cpus.iter()).collect();
            fill.insert("cpus_one_per_core", machine.one_cpu_per_core(&all).to_string());
        }
        let env = [first].into_iter().chain(is_guest.then_some("vm")).collect();
        let nodes = machine.map(|machine| machine.nodes_with_memory().count());
        Self { engine, env, nodes, is_guest, hypervisor, fill }
    }

    /// With the systemd unit of the server. Its first process is asked for when it is needed: it
    /// changes with each restart.
    #[must_use]
    pub fn of_unit(mut self, unit: Option<&str>) -> Self {
        if let Some(unit) = unit {
            self.fill.insert("unit", unit.to_owned());
            self.fill.insert("pid", format!("$(systemctl show -p MainPID --value {unit})"));
        }
        self
    }

    /// Placeholders that are not known here stay, in capitals.
    fn filled(&self, text: &str, file: Option<&str>) -> String {
        PLACEHOLDERS.into_iter().fold(text.to_owned(), |text, name| {
            let value = match (name, file) {
                ("file", Some(file)) => file.to_owned(),
                _ => self.fill.get(name).cloned().unwrap_or_else(|| name.to_uppercase()),
            };
            text.replace(&format!("{{{name}}}"), &value)
        })
    }
}

/// A recipe for one place, ready to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    pub title: String,
    pub apply: Option<Apply>,
    pub lines: Vec<String>,
    pub check: Vec<String>,
    pub undo: Vec<String>,
    pub avoid: String,
    pub verified: Verified,
    pub sources: Vec<String>,
    /// Titles of further recipes, best first.
    pub others: Vec<String>,
    /// Words in capitals that a person has to replace, and where to find each.
    pub to_replace: Vec<(&'static str, &'static str)>,
    /// When the others are better than this one, if the rule says so.
    pub unless: Option<String>,
    /// There is nothing to do, check or undo.
    pub changes_nothing: bool,
}

impl Advice {
    /// Its title, and what it takes until the change has its effect.
    pub fn action(&self) -> String {
        let apply = self.apply.map_or(String::new(), |apply| format!(" ({})", apply.in_words()));
        format!("{}{apply}", self.title)
    }
}

/// The rule of an experiment that a result calls for; EMULATED results call for none.
pub fn rule<'a>(
    experiment: &'a Experiment,
    verdict: Verdict,
    variant: Option<&str>,
    cost: Option<&Estimate>,
    margin: f64,
) -> Option<&'a AdviceRule> {
    let applies = |rule: &&AdviceRule| {
        let is_of_level = rule.level.as_deref().is_none_or(|level| Some(level) == variant);
        let nearest = cost.map_or(f64::INFINITY, |cost| cost.low.max(-cost.high));
        let ratio = cost.map_or(f64::INFINITY, |cost| {
            let ratio = 1.0 - cost.point;
            ratio.max(1.0 / ratio.max(f64::EPSILON))
        });
        let is_beyond = match rule.beyond {
            Beyond::Margin => nearest > margin,
            Beyond::Zero => nearest > 0.0,
            Beyond::Factor(factor) => ratio >= factor,
        };
        rule.verdict.is_none_or(|of| of == verdict) && is_of_level && is_beyond
    };
    let counts = matches!(verdict, Verdict::Cost | Verdict::Gain | Verdict::Measured);
    experiment.advice.iter().filter(|_| counts).find(applies)
}

/// The first recipe of a rule that has a step for the place; else the first recipe's title.
pub fn advice<'r>(
    rule: &AdviceRule,
    recipe: impl Fn(&str) -> Option<&'r Recipe>,
    place: &Place,
) -> Option<Advice> {
    let named = rule.recipes.iter().filter_map(|name| Some((name, recipe(name)?)));
    let is_possible = |it: &Recipe| {
        let has_nodes = place.nodes.is_none_or(|nodes| nodes >= it.least_nodes);
        let is_known = |hypervisor: &String| it.hypervisors.contains(hypervisor);
        let is_here = it.hypervisors.is_empty() || place.hypervisor.as_ref().is_none_or(is_known);
        has_nodes && is_here && !(place.is_guest && it.not_in_guests)
    };
    let named: Vec<(&String, &Recipe)> = named.filter(|(_, it)| is_possible(it)).collect();
    let with_step = named.iter().find_map(|it| Some((*it, it.1.step(place)?)));
    let (name, best) = with_step.map(|(it, _)| it).or_else(|| named.first().copied())?;
    let unless = rule.unless.as_ref().filter(|unless| unless.recipe == *name);
    let fill = |lines: &[String], file: Option<&str>| -> Vec<String> {
        lines.iter().map(|line| place.filled(line, file)).collect()
    };
    let others = named.iter().filter(|it| it.0 != name).map(|it| it.1.title.clone());
    let mut advice = Advice {
        title: best.title.clone(),
        apply: None,
        lines: Vec::new(),
        check: Vec::new(),
        undo: Vec::new(),
        avoid: place.filled(&best.avoid, None),
        verified: with_step.map_or(best.verified, |(_, step)| best.verified(step)),
        sources: best.sources.clone(),
        others: others.collect(),
        to_replace: Vec::new(),
        unless: unless.map(|unless| unless.says.clone()),
        changes_nothing: best.steps.is_empty(),
    };
    if let Some((_, step)) = with_step {
        let file = step.file.as_ref().map(|file| place.filled(file, None));
        let file = file.as_deref();
        advice.apply = Some(step.apply);
        advice.lines.extend(file.map(|file| format!("Put into {file}")));
        let indent = if file.is_some() { "  " } else { "" };
        advice.lines.extend(fill(&step.lines, file).iter().map(|line| format!("{indent}{line}")));
        advice.lines.extend(fill(&step.then, file));
        (advice.check, advice.undo) = (fill(&step.check, file), fill(&step.undo, file));
        let all = [&advice.lines, &advice.check, &advice.undo];
        let has = |name: &str| all.iter().copied().flatten().any(|line| has_word(line, name));
        advice.to_replace = FIND.into_iter().filter(|(name, _)| has(name)).collect();
    }
    Some(advice)
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

impl Recipe {
    pub fn read(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// What this step rests on.
    pub fn verified(&self, step: &Step) -> Verified {
        step.verified.unwrap_or(self.verified)
    }

    /// The most specific step: by engine and environment, then engine, then environment.
    pub fn step(&self, place: &Place) -> Option<&Step> {
        let rank = |step: &&Step| {
            let engine = place.engine.is_some_and(|it| step.engine.iter().any(|of| of == it));
            let env = place.env.iter().any(|it| step.env.iter().any(|of| of == it));
            let fits = (step.engine.is_empty() || engine) && (step.env.is_empty() || env);
            fits.then_some((engine, env))
        };
        // Of equals the first.
        self.steps.iter().rev().filter(|step| rank(step).is_some()).max_by_key(rank)
    }
}

#[cfg(test)]
mod tests {
    use hopcost_core::Unless;

    use super::*;

    const TEXT: &str = r#"
        title = "Bind it"
        avoid = "it does not fit node {node}"
        sources = []
        verified = "unverified"
        [[step]]
        do = ["any {pid}"]
        apply = "none"
        check = ["look"]
        undo = ["undo"]
        [[step]]
        engine = ["postgres"]
        verified = "measured"
        do = ["postgres"]
        apply = "reload"
        check = ["look"]
        undo = ["undo"]
        [[step]]
        engine = ["postgres"]
        env = ["systemd"]
        file = "/etc/{unit}.conf"
        do = ["NUMAMask={node}"]
        then = ["restart"]
        apply = "restart"
        check = ["hopcost where {kind}"]
        undo = ["rm {file}"]
    "#;

    fn rule() -> AdviceRule {
        AdviceRule {
            verdict: Some(Verdict::Cost),
            level: Some("far".into()),
            beyond: Beyond::Margin,
            recipes: vec!["missing".into(), "bind".into(), "other".into()],
            unless: Some(Unless { recipe: "bind".into(), says: "it is large".into() }),
        }
    }

    #[test]
    fn a_guest_is_not_sent_to_the_bios() {
        let recipe = |title: &str, not_in_guests| {
            let read = Recipe::read(TEXT).unwrap();
            Recipe { title: title.into(), not_in_guests, ..read }
        };
        let (bind, other) = (recipe("BIOS", true), recipe("Other", false));
        let named =
            |name: &str| [("bind", &bind), ("other", &other)].into_iter().find(|it| it.0 == name);
        let title = |is_guest| {
            let place = Place { is_guest, ..Place::default() };
            advice(&rule(), |name| Some(named(name)?.1), &place).unwrap().title
        };
        assert_eq!([title(false), title(true)], ["BIOS", "Other"]);
    }

    #[test]
    fn a_guest_of_another_hypervisor_is_not_told_what_only_one_can_do() {
        let read = Recipe::read(TEXT).unwrap();
        let poll = Recipe { title: "Poll".into(), hypervisors: vec!["KVM".into()], ..read.clone() };
        let other = Recipe { title: "Other".into(), ..read };
        let named =
            |name: &str| [("bind", &poll), ("other", &other)].into_iter().find(|it| it.0 == name);
        let title = |hypervisor: Option<&str>| {
            let place = Place { hypervisor: hypervisor.map(str::to_owned), ..Place::default() };
            advice(&rule(), |name| Some(named(name)?.1), &place).unwrap().title
        };
        assert_eq!([None, Some("KVM"), Some("QEMU")].map(title), ["Poll", "Poll", "Other"]);
    }

    #[test]
    fn the_most_specific_step_is_taken_and_filled_in() {
        let bind = Recipe::read(TEXT).unwrap();
        let other = Recipe { title: "Other".into(), ..bind.clone() };
        let named =
            |name: &str| [("bind", &bind), ("other", &other)].into_iter().find(|it| it.0 == name);
        let at = |target: &str| {
            let place = Place::new(target, None, None);
            advice(&rule(), |name| Some(named(name)?.1), &place).unwrap()
        };
        let of_postgres = at("postgres:managed");
        assert_eq!(of_postgres.lines, ["Put into /etc/UNIT.conf", "  NUMAMask=NODE", "restart"]);
        assert_eq!(of_postgres.check, ["hopcost where postgres"]);
        assert_eq!(of_postgres.undo, ["rm /etc/UNIT.conf"]);
        let names = |advice: &Advice| -> Vec<&str> {
            advice.to_replace.iter().map(|(name, _)| *name).collect()
        };
        assert_eq!(names(&of_postgres), ["NODE", "UNIT"]);
        assert_eq!(names(&at("commitlog")), ["PID"]);
        let of_unit =
            Place::new("postgres:managed", None, None).of_unit(Some("postgresql@15-main"));
        let of_unit = advice(&rule(), |name| Some(named(name)?.1), &of_unit).unwrap();
        assert_eq!(of_unit.undo, ["rm /etc/postgresql@15-main.conf"]);
        assert_eq!(names(&of_unit), ["NODE"]);
        assert_eq!(
            (of_postgres.apply, &*of_postgres.others),
            (Some(Apply::Restart), &["Other".into()][..])
        );
        assert_eq!(of_postgres.unless.as_deref(), Some("it is large"));
        assert_eq!(at("commitlog").lines, ["any PID"]);
        assert_eq!(at("commitlog").verified, Verified::Unverified);
        let shown = |step: &Step| bind.verified(step);
        let all = [Verified::Unverified, Verified::Measured, Verified::Unverified];
        assert_eq!(bind.steps.iter().map(shown).collect::<Vec<_>>(), all);
    }

    #[test]
    fn a_rule_is_for_a_verdict_a_variant_and_an_effect() {
        let hardware = hopcost_core::Subject::Hardware { probes: Vec::new() };
        let mut experiment = crate::fixtures::experiment("x", hardware);
        experiment.advice = vec![rule()];
        let cost = |low: f64| Estimate {
            point: low + 0.01,
            low,
            high: low + 0.02,
            level: 0.95,
            n: 8,
            n_effective: 8.0,
        };
        let finds = |verdict, variant, low: f64| {
            super::rule(&experiment, verdict, Some(variant), Some(&cost(low)), 0.03).is_some()
        };
        assert!(finds(Verdict::Cost, "far", 0.05));
        assert!(!finds(Verdict::Gain, "far", 0.05) && !finds(Verdict::Cost, "near", 0.05));
        assert!(!finds(Verdict::Cost, "far", 0.01), "within the margin");
        experiment.advice[0].verdict = None;
        let finds =
            |verdict| super::rule(&experiment, verdict, Some("far"), Some(&cost(0.05)), 0.03);
        for none in [Verdict::Refused, Verdict::Inconclusive, Verdict::NotApplicable] {
            assert_eq!(finds(none), None);
        }
    }
}
