//! What a run would do.

use hopcost_core::{Machine, Site, Subject, Workload};
use hopcost_method::hardware;
use hopcost_method::pace::budget_s;
use hopcost_method::plan::Plan;
use hopcost_view::absence;

use crate::on_database::OnDatabase;
use crate::{App, Failure, Outcome, Prepared, run, site};

#[derive(Debug)]
pub enum Planned {
    Probes(PlannedProbes),
    Comparison(Box<PlannedComparison>),
}

#[derive(Debug)]
pub struct PlannedProbes {
    pub emulated: bool,
    pub steps: Vec<hardware::Step>,
}

#[allow(clippy::struct_excessive_bools)] // independent facts, each told in its own place
#[derive(Debug)]
pub struct PlannedComparison {
    pub emulated: bool,
    /// Without secrets.
    pub target: String,
    pub about: &'static str,
    pub workload: String,
    pub calls_per_query: u64,
    /// Name of the data set and of its rows at this scale. `None`: the workload needs no table.
    pub dataset: Option<(&'static str, &'static str)>,
    pub rows: u64,
    pub sliced: bool,
    pub plan: Plan,
    pub find_worst: bool,
    pub off_line: bool,
    pub seconds: f64,
    pub memory_bytes: u64,
    pub disk_bytes: u64,
}

impl App {
    pub fn plan(&self, prepared: &Prepared, machine: &Machine) -> Outcome<Planned> {
        let Prepared { asked, experiment } = prepared;
        let Subject::Database(comparison) = &experiment.subject else {
            site::refuse_options_of_a_comparison(asked)?;
            let (seen, planted) = site::for_probes(asked, machine)?;
            let emulated = planted.is_some();
            let site = Site { planted, ..site::site(&seen, asked.effort, asked.seed)? };
            let steps = hardware::plan(&run::probes(experiment), &site, asked.budget_s);
            return Ok(Planned::Probes(PlannedProbes { emulated, steps }));
        };
        let here = OnDatabase::new(self, experiment, comparison, machine, asked)?;
        let plan = here.plan().map_err(|reason| {
            let way_out = absence::way_out(&reason).map_or(String::new(), |it| format!(". {it}"));
            let why = absence::why(&reason);
            Failure::not_here(reason.code(), format!("{}: {why}{way_out}", experiment.name))
        })?;
        run::off_line(&here, &plan)?;
        let (memory_bytes, disk_bytes) = here.takes(&plan);
        let (shape, workload) = (here.shape, here.baseline());
        let has_tables = !workload.info().tables.is_empty();
        Ok(Planned::Comparison(Box::new(PlannedComparison {
            emulated: here.emulation.is_some(),
            target: here.url(),
            about: here.target.about(),
            workload: here.comparison.workload.clone(),
            calls_per_query: workload.spec(shape).calls_per_query,
            dataset: has_tables.then(|| (here.dataset.name(), here.dataset.unit(shape.rows))),
            rows: shape.rows,
            sliced: shape.sliced,
            find_worst: here.comparison.find_worst,
            off_line: here.allow_machine_changes,
            seconds: budget_s(&here.wishes),
            memory_bytes,
            disk_bytes,
            plan,
        })))
    }
}
