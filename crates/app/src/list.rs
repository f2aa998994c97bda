//! Lists experiments, probes and targets, and what applies on this machine.

use hopcost_core::{Effort, Machine, Reason, Site, Subject, Words, Workload};
use hopcost_data::datasets::DATASETS;
use hopcost_data::workloads::WORKLOADS;
use hopcost_engines::TARGETS;
use hopcost_host::observers::OBSERVERS;
use hopcost_host::probes::PROBES;
use hopcost_method::hardware;
use serde::Serialize;

use crate::on_database::OnDatabase;
use crate::{App, Outcome, Prepared, Request, catalogue, run, site};

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Named {
    pub name: &'static str,
    pub about: &'static str,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Applicability {
    pub parts: usize,
    pub left_out: usize,
}

#[derive(Debug, Serialize)]
pub struct ListedExperiment {
    pub name: String,
    pub question: String,
    #[serde(flatten)]
    pub words: Words,
    #[serde(flatten)]
    pub applicability: Applicability,
    /// Why nothing of it applies here.
    #[serde(skip)]
    pub why_not: Option<Reason>,
}

#[derive(Debug, Serialize)]
pub struct Listing {
    pub experiments: Vec<ListedExperiment>,
    pub targets: Vec<Named>,
    pub workloads: Vec<Named>,
    pub observers: Vec<Named>,
    pub probes: Vec<Named>,
    pub data_sets: Vec<Named>,
}

impl App {
    pub fn list(&self, machine: &Machine) -> Outcome<Listing> {
        let named = |(name, about): (&'static str, &'static str)| Named { name, about };
        let info = |workload: &&dyn Workload| (workload.info().name, workload.info().about);
        let site = site::site(machine, Effort::Normal, 1)?;
        let listed = |experiment| {
            let asked = Request::of("");
            self.listed(&Prepared { asked, experiment }, &site, machine)
        };
        Ok(Listing {
            experiments: catalogue::experiments()?
                .into_iter()
                .map(listed)
                .collect::<Outcome<_>>()?,
            targets: TARGETS.iter().map(|it| named((it.name(), it.about()))).collect(),
            workloads: WORKLOADS.iter().map(|it| named(info(it))).collect(),
            observers: OBSERVERS.iter().map(|it| named((it.name(), it.about()))).collect(),
            probes: PROBES.iter().map(|it| named((it.name(), it.question()))).collect(),
            data_sets: DATASETS.iter().map(|it| named((it.name(), it.about()))).collect(),
        })
    }

    fn listed(
        &self,
        prepared: &Prepared,
        site: &Site<'_>,
        machine: &Machine,
    ) -> Outcome<ListedExperiment> {
        let Prepared { asked, experiment } = prepared;
        let mut why_not = None;
        let (parts, left_out) = match &experiment.subject {
            Subject::Hardware { .. } => {
                let steps = hardware::plan(&run::probes(experiment), site, None);
                let left_out = steps.iter().flat_map(|step| &step.left_out).map(|(_, times)| times);
                (steps.iter().map(|step| step.cells).sum(), left_out.sum())
            }
            Subject::Database(comparison) => {
                let here = OnDatabase::new(self, experiment, comparison, machine, asked)?;
                let plan = here.plan().map_err(|reason| why_not = Some(reason));
                plan.map_or((0, 0), |plan| (plan.points.len(), plan.left_out.len()))
            }
        };
        Ok(ListedExperiment {
            name: experiment.name.clone(),
            question: experiment.question.clone(),
            words: experiment.words.clone(),
            applicability: Applicability { parts, left_out },
            why_not,
        })
    }
}
