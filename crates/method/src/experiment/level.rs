//! Reads one variant of the factor.

use hopcost_core::{
    Audit, CopyChoice, DistanceClass, Level, PageSize, Policy, SessionChoice, Spot,
};
use serde::Deserialize;
use toml::Spanned;

use super::flaw::{Flaw, line};
use super::key::{Key, key};
use super::names::{Vocabulary, expect_one_of, list, nearest, one_of, plain};

pub const KEYS: &[Key] = &[
    key("factor.NAME.LEVEL.label", "its name in results; the variant's own name without it"),
    key(
        "factor.NAME.LEVEL.data",
        "where the data's memory is; what a variant does not name may be anywhere",
    ),
    key(
        "factor.NAME.LEVEL.policy",
        "the memory policy: `\"first-touch\"`, `\"bind\"`, `\"interleave\"` or `\"per-node\"`; that of the \
         target without it",
    ),
    key(
        "factor.NAME.LEVEL.instance",
        "a number: variants with different ones have copies of the data, or servers, of their own",
    ),
    key(
        "factor.NAME.LEVEL.pages",
        "the pages that hold the data: `\"small\"`, or `\"large\"` if the kernel grants them; the \
         target's choice without it",
    ),
    key(
        "factor.NAME.LEVEL.huge_pages",
        "`true` or `false`: does a managed server put its memory on reserved huge pages; the server's \
         choice without it",
    ),
    key("factor.NAME.LEVEL.workers", "the node of the threads that work on requests"),
    key("factor.NAME.LEVEL.log_writer", "where the log writer runs"),
    key("factor.NAME.LEVEL.client", "where the threads that send requests run"),
    key(
        "factor.NAME.LEVEL.dop",
        "how many processes of the database work on one query: the session's own and its parallel workers",
    ),
    key(
        "factor.NAME.LEVEL.postmaster",
        "the node of the process that starts parallel workers; all CPUs without it",
    ),
    key(
        "factor.NAME.LEVEL.parallel_workers",
        "the node that parallel workers are pinned to once they run; where they started without it",
    ),
    key(
        "factor.NAME.LEVEL.audit",
        "what the database logs of each statement: `\"off\"`, `\"statements\"` or `\"trace\"`",
    ),
    key(
        "factor.NAME.LEVEL.siblings",
        "`true`: both SMT siblings of each core work; `false`: one of them, and the other is idle, or \
         off-line with `--allow-machine-changes`",
    ),
    key(
        "factor.NAME.LEVEL.apart",
        "how far half of the workers are from the other half, each on a core: `\"same-l3\"` to \
         `\"far-socket\"`",
    ),
    key(
        "factor.NAME.LEVEL.cores",
        "the share of each node's cores that the workers get, such as `0.5`; all of them without it",
    ),
    key(
        "factor.NAME.LEVEL.cpus",
        "how many CPUs the workers get; the same number in all variants without it",
    ),
    key("factor.NAME.LEVEL.workload", "the workload of this variant, instead of the subject's"),
];

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelTable {
    pub label: Option<Spanned<String>>,
    pub data: Option<Spanned<String>>,
    pub policy: Option<Spanned<String>>,
    pub instance: Option<Spanned<u32>>,
    pub pages: Option<Spanned<String>>,
    pub huge_pages: Option<bool>,
    pub workers: Option<Spanned<String>>,
    pub log_writer: Option<Spanned<String>>,
    pub client: Option<Spanned<String>>,
    pub dop: Option<Spanned<u32>>,
    pub postmaster: Option<Spanned<String>>,
    pub parallel_workers: Option<Spanned<String>>,
    pub audit: Option<Spanned<String>>,
    pub siblings: Option<bool>,
    pub apart: Option<Spanned<String>>,
    pub cores: Option<Spanned<f64>>,
    pub cpus: Option<Spanned<u32>>,
    pub workload: Option<Spanned<String>>,
}

const POLICIES: [(&str, Policy); 4] = [
    ("first-touch", Policy::FirstTouch),
    ("interleave", Policy::Interleave),
    ("bind", Policy::Bind),
    ("per-node", Policy::PerNode),
];

const PAGES: [(&str, PageSize); 2] = [("small", PageSize::Base), ("large", PageSize::Transparent)];

const AUDITS: [(&str, Audit); 3] =
    [("off", Audit::Off), ("statements", Audit::Statements), ("trace", Audit::Trace)];

pub fn level(
    name: &Spanned<String>,
    table: &LevelTable,
    known: &Vocabulary<'_>,
) -> Result<Level, Flaw> {
    if let Some(workload) = &table.workload {
        expect_one_of("workload", workload, known.workloads)?;
    }
    if let Some(cpus) = table.cpus.as_ref().filter(|cpus| *cpus.get_ref() == 0) {
        return Err(Flaw::of(cpus, "no CPU at all", "workers need one or more"));
    }
    if let Some(cores) =
        table.cores.as_ref().filter(|c| !(*c.get_ref() > 0.0 && *c.get_ref() <= 1.0))
    {
        return Err(Flaw::of(cores, "no share of the cores", "half of them are cores = 0.5"));
    }
    check_parallel(table)?;
    let pages = table.pages.as_ref().map(|text| one_of("size of pages", text, &PAGES));
    let audit = table.audit.as_ref().map(|text| one_of("audit", text, &AUDITS));
    let spot = |text: &Option<Spanned<String>>| text.as_ref().map(spot).transpose();
    let level = Level {
        name: name.get_ref().clone(),
        label: table.label.as_ref().map(|text| line("label", text)).transpose()?,
        data: spot(&table.data)?,
        copy: CopyChoice {
            policy: policy(table)?,
            instance: plain(table.instance.as_ref()),
            pages: pages.transpose()?,
            huge_pages: table.huge_pages,
        },
        workers: spot(&table.workers)?,
        log_writer: spot(&table.log_writer)?,
        client: spot(&table.client)?,
        dop: plain(table.dop.as_ref()),
        postmaster: spot(&table.postmaster)?,
        parallel_workers: spot(&table.parallel_workers)?,
        session: SessionChoice { audit: audit.transpose()? },
        siblings: table.siblings,
        apart: table.apart.as_ref().map(apart).transpose()?,
        cores: plain(table.cores.as_ref()),
        cpus: plain(table.cpus.as_ref()),
        workload: plain(table.workload.as_ref()),
    };
    let silent = Level { name: level.name.clone(), label: level.label.clone(), ..Level::default() };
    if level == silent {
        return Err(Flaw::of(
            name,
            format!("the level '{}' says nothing", level.name),
            "place something: data, workers, log_writer or client; or vary policy, instance, pages, \
             audit, siblings, apart, cores, cpus or workload",
        ));
    }
    if let Some(Spot::Away(_)) = level.workers {
        return Err(Flaw::of(
            table.workers.as_ref().unwrap_or(name),
            "the workers cannot stand away from themselves",
            "distances count from them: give them a node, as \"node:A\"",
        ));
    }
    Ok(level)
}

fn check_parallel(table: &LevelTable) -> Result<(), Flaw> {
    if let Some(dop) = table.dop.as_ref().filter(|dop| *dop.get_ref() == 0) {
        return Err(Flaw::of(dop, "no process at all", "1 is the session's own, alone"));
    }
    let has_workers = table.dop.as_ref().is_some_and(|dop| *dop.get_ref() > 1);
    for place in [&table.postmaster, &table.parallel_workers].into_iter().flatten() {
        if !has_workers {
            let advice = "say how many processes work on a query: dop = 2 or more";
            return Err(Flaw::of(place, "there are no parallel workers to place", advice));
        }
        if let Spot::Away(_) = spot(place)? {
            let advice = "give them a node, as \"node:A\"";
            return Err(Flaw::of(place, "parallel workers are placed by node", advice));
        }
    }
    Ok(())
}

fn policy(table: &LevelTable) -> Result<Option<Policy>, Flaw> {
    let Some(text) = &table.policy else { return Ok(None) };
    let policy = one_of("policy", text, &POLICIES)?;
    let is_of_one_node = matches!(policy, Policy::FirstTouch | Policy::Bind);
    let flaw = |message: String, advice| Err(Flaw::of(text, message, advice));
    match &table.data {
        None if is_of_one_node => {
            flaw(format!("'{}' of no node", text.get_ref()), "say on which node: data = \"node:A\"")
        }
        Some(_) if !is_of_one_node => flaw(
            format!("'{}' puts data on all nodes", text.get_ref()),
            "leave out 'data', or take first-touch or bind",
        ),
        _ => Ok(Some(policy)),
    }
}

fn apart(text: &Spanned<String>) -> Result<DistanceClass, Flaw> {
    use DistanceClass::{FarSocket, OtherSocket, SameL3, SameNode, SameSocket};
    let places = [SameL3, SameNode, SameSocket, OtherSocket, FarSocket];
    let names = places.map(DistanceClass::name);
    let place = places.into_iter().find(|class| class.name() == text.get_ref());
    place.ok_or_else(|| {
        let message = format!("workers cannot stand '{}' from each other", text.get_ref());
        Flaw::of(
            text,
            message,
            format!("{}known: {}", nearest(text.get_ref(), &names), list(&names)),
        )
    })
}

fn spot(text: &Spanned<String>) -> Result<Spot, Flaw> {
    let words = text.get_ref().as_str();
    if let Some(node) = words.strip_prefix("node:") {
        let mut letters = node.chars();
        return match (letters.next(), letters.next()) {
            (Some(letter @ 'A'..='Z'), None) => Ok(Spot::Node(letter)),
            _ => Err(Flaw::of(
                text,
                format!("'{words}' is no node of an experiment"),
                "nodes are symbols, node:A to node:Z; the planner binds them to this machine's",
            )),
        };
    }
    let class = DistanceClass::ALL.into_iter().find(|class| class.name() == words);
    let names = DistanceClass::ALL.map(DistanceClass::name);
    class.map(Spot::Away).ok_or_else(|| {
        Flaw::of(
            text,
            format!("'{words}' is no place"),
            format!("{}write node:A, or a distance: {}", nearest(words, &names), list(&names)),
        )
    })
}
