//! What one level of the factor says.

use hopcost_core::{
    Audit, CopyChoice, DistanceClass, Level, PageSize, Policy, SessionChoice, Spot,
};
use toml::Spanned;

use super::file::{LevelTable, plain};
use super::flaw::{Flaw, line};
use super::names::{Vocabulary, expect_one_of, list, nearest, one_of};

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
