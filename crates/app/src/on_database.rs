//! A comparison on a database, with all names resolved.

use std::path::{Path, PathBuf};

use hopcost_core::{
    Answer, Claim, Code, Comparison, DataPlacement, Dataset, Effort, Emulation, Experiment,
    Instance, Level, Machine, Reason, Row, Seeming, Setup, Shape, Spoken, Target, Workload,
};
use hopcost_data::datasets::DATASETS;
use hopcost_data::workloads::{Own, WORKLOADS};
use hopcost_engines::TARGETS;
use hopcost_method::mix::Variant;
use hopcost_method::overrides;
use hopcost_method::pace::{StartsAsked, Wishes};
use hopcost_method::plan::{Plan, plan};
use hopcost_method::run::RunIdentity;
use hopcost_sys::promises::{Made, Promise};

use crate::{App, Control, Failure, InContext, Outcome, Request, Scripts, scripts, site};

const DEFAULT_TARGET: &str = "sqlite";

pub struct OnDatabase<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) comparison: Comparison,
    /// The real machine.
    pub(crate) ground: &'a Machine,
    /// The machine after emulation and bounds.
    pub(crate) machine: Machine,
    pub(crate) emulation: Option<Emulation>,
    pub(crate) target: &'static dyn Target,
    /// The URL without the target's name and colon.
    address: String,
    workloads: Vec<Variant<'static>>,
    pub(crate) dataset: &'static dyn Dataset,
    pub(crate) shape: Shape,
    pub(crate) wishes: Wishes,
    pub(crate) effort: Effort,
    pub(crate) state_dir: PathBuf,
    cache_dir: PathBuf,
    keep_data: bool,
    allow_server_changes: bool,
    pub(crate) allow_machine_changes: bool,
}

impl<'a> OnDatabase<'a> {
    pub(crate) fn new(
        app: &App,
        experiment: &'a Experiment,
        comparison: &Comparison,
        ground: &'a Machine,
        asked: &Request,
    ) -> Outcome<Self> {
        let mut comparison = comparison.clone();
        let mut wishes = Wishes::of(asked.effort, asked.seed);
        wishes.budget_s = asked.budget_s;
        wishes.starts = asked.starts;
        for set in &asked.set {
            overrides::set(set, &mut comparison, &mut wishes)
                .map_err(|wrong| Failure::usage(Code::BadValue, format!("--set {set}: {wrong}")))?;
        }
        if let Some(rows) = asked.rows {
            overrides::set_rows(&mut comparison, rows);
        }
        let own = scripts::workload(&Scripts {
            files: asked.scripts.clone(),
            builtins: Vec::new(),
            definitions: asked.definitions.clone(),
        })?;
        if let Some(own) = own {
            is_subject_of(&mut comparison, own)?;
        }
        let (machine, emulation) = site::emulated(asked, ground)?;
        if emulation.is_some_and(|emulation| emulation.bandwidth.is_some()) {
            return Err(Failure::usage(
                Code::BadOption,
                format!(
                    "--emulate: bandwidth is planted for a probe, and '{}' is on a database",
                    experiment.name
                ),
            ));
        }
        let effort = asked.effort;
        let rows = comparison.scale.rows(effort);
        let shape = Shape { rows, sliced: effort != Effort::Full };
        let url = asked.target.as_deref().or(comparison.target.as_deref());
        let library = asked.duckdb_lib.as_deref();
        let (target, address) = target(url.unwrap_or(DEFAULT_TARGET), library)?;
        let is_one_start_usual =
            wishes.units.is_some() || comparison.spread || is_of_an_existing_server(&address);
        if is_one_start_usual && wishes.starts == StartsAsked::Usual {
            wishes.starts = StartsAsked::One;
        }
        Ok(Self {
            experiment,
            target,
            address,
            workloads: match own {
                Some(own) => {
                    let own: &dyn Workload = own;
                    vec![Variant::of(&[own]).remove(0); comparison.levels.len()]
                }
                None => workloads(&comparison)?,
            },
            dataset: by_name("data set", DATASETS, &comparison.dataset, <dyn Dataset>::name)?,
            comparison,
            ground,
            machine,
            emulation,
            shape,
            wishes,
            effort,
            state_dir: app.dirs.state.clone(),
            cache_dir: asked.cache_dir.clone().unwrap_or_else(|| app.dirs.cache.clone()),
            keep_data: asked.keep_data,
            allow_server_changes: asked.allow_server_changes,
            allow_machine_changes: asked.allow_machine_changes,
        })
    }

    pub fn plan(&self) -> Result<Plan, Reason> {
        let untold = |claim: &Claim| self.target.untold(claim.metric, self.emulation.as_ref());
        let untold = || self.comparison.claims.iter().find_map(untold);
        if let Some(refusal) = self.refusal().or_else(untold) {
            return Err(refusal);
        }
        let mut plan = plan(&self.comparison, &self.machine, self.effort)?;
        if self.allow_machine_changes {
            plan.unturned();
        }
        self.room_for(&plan)?;
        Ok(plan)
    }

    /// What cannot be measured over several starts says so before anything is.
    pub(crate) fn can_be_started_anew(&self) -> Outcome<()> {
        let refused =
            |words: &str| Err(Failure::usage(Code::BadOption, format!("--starts: {words}")));
        let name = &self.experiment.name;
        if !matches!(self.wishes.starts, StartsAsked::Number(_)) {
            return Ok(());
        }
        if self.comparison.spread {
            return refused(&format!("'{name}' compares spreads within one start; leave it out"));
        }
        if is_of_an_existing_server(&self.address) {
            return refused(
                "hopcost does not restart an existing server; leave it out, or use a server of hopcost's \
                 own, e.g. --target postgres:managed",
            );
        }
        Ok(())
    }

    pub(crate) fn has_one_start(&self) -> bool {
        self.wishes.starts == StartsAsked::One
    }

    /// Why opening the target would be refused on any machine.
    pub(crate) fn refusal(&self) -> Option<Reason> {
        self.unplaced().refusal(self.target)
    }

    pub(crate) fn unplaced(&self) -> Setup<'_> {
        self.setup_at(Vec::new(), 1)
    }

    pub(crate) fn planted(&self) -> Option<Seeming<'_>> {
        self.emulation.map(|emulation| Seeming { machine: &self.machine, emulation })
    }

    pub(crate) fn baseline(&self) -> &Variant<'static> {
        &self.workloads[0]
    }

    /// One per variant of the plan, which may leave some out.
    pub(crate) fn workloads_of(&self, plan: &Plan) -> Vec<&dyn Workload> {
        let levels = self.comparison.levels.iter().zip(&self.workloads);
        let planned = levels.filter(|(level, _)| plan.levels.contains(&level.name));
        planned.map(|(_, workload)| workload as &dyn Workload).collect()
    }

    pub(crate) fn spoken(&self) -> Vec<Spoken> {
        let mut all: Vec<Spoken> = Vec::new();
        for workload in &self.workloads {
            let setup = Setup { workload, ..self.unplaced() };
            let spoken = self.target.spoken(&setup).into_iter();
            let new: Vec<Spoken> = spoken.filter(|spoken| !all.contains(spoken)).collect();
            all.extend(new);
        }
        all
    }

    pub(crate) fn setup(&self, plan: &Plan) -> Setup<'_> {
        self.setup_at(plan.homes(), sessions(plan))
    }

    fn setup_at(&self, homes: Vec<DataPlacement>, sessions: u32) -> Setup<'_> {
        Setup {
            machine: &self.machine,
            ground: self.ground,
            dataset: Some(self.dataset),
            workload: self.baseline(),
            shape: self.shape,
            levels: &self.comparison.levels,
            homes,
            emulation: self.emulation,
            cache_dir: self.cache_dir.clone(),
            address: &self.address,
            sessions,
            keep_data: self.keep_data,
            allow_server_changes: self.allow_server_changes,
            promise: &|| Ok(()),
        }
    }

    pub(crate) fn promise(&self) -> Result<Promise, Reason> {
        promise(&self.state_dir, self.target, &self.address)
    }

    pub(crate) fn give_up(&self, promise: Option<Promise>, control: &mut Control<'_>) {
        give_up(self.target, &self.address, promise, control);
    }

    /// Bytes of memory and of disk.
    pub fn takes(&self, plan: &Plan) -> (u64, u64) {
        let needs = self.target.needs(&self.setup(plan));
        let streams = u64::from(sessions(plan));
        // Scratch memory is used only during a call, and only one variant's clients call at a time.
        let scratch = needs.stream_bytes * u64::from(plan.most_streams());
        let homes = plan.homes().len().max(1) as u64;
        (needs.home_bytes * homes + scratch + streams * SESSION_BYTES, needs.disk_bytes)
    }

    fn room_for(&self, plan: &Plan) -> Result<(), Reason> {
        let (memory, _) = self.takes(plan);
        let available = self.ground.available_bytes();
        if memory <= available {
            return Ok(());
        }
        let [memory, available] = [memory, available].map(hopcost_view::bytes);
        let unit = self.dataset.unit(self.shape.rows);
        let advice = match self.shape.rows {
            1 => "Use a machine with more".to_owned(),
            _ => format!("Use fewer {unit} (--scale), or leave out --full"),
        };
        let rows = hopcost_view::count(self.shape.rows);
        let words =
            format!("needs {memory} of memory at {rows} {unit}; {available} available. {advice}");
        Err(Code::TooLittleMemory.because(words))
    }

    /// A run can only be resumed by a run of equal identity.
    pub(crate) fn identity(&self) -> String {
        let identity = RunIdentity {
            experiment: &self.experiment.name,
            comparison: &self.comparison,
            target: &self.url(),
            rows: self.shape.rows,
            sliced: self.shape.sliced,
            seed: self.wishes.seed,
            emulation: self.emulation,
            wishes: self.wishes.written(),
            cpus: &self.ground.limits.cpus,
            unused_off_line: self.allow_machine_changes,
        };
        identity.key()
    }

    pub fn url(&self) -> String {
        let address = self.target.address(&self.address).unwrap_or_default();
        format!("{}:{address}", self.target.name())
    }
}

/// Records in the settings journal what a kill would leave on an existing server.
pub fn promise(state_dir: &Path, target: &dyn Target, address: &str) -> Result<Promise, Reason> {
    let made = Made { target: target.name().to_owned(), address: target.address(address)? };
    let refused = |error| Code::SystemFailed.because(format!("{}: {error}", state_dir.display()));
    Promise::write(state_dir, &made).map_err(refused)
}

/// Removes what was made for a database that failed to open. If that fails, the journal entry
/// stays.
pub fn give_up(
    target: &dyn Target,
    address: &str,
    promise: Option<Promise>,
    control: &mut Control<'_>,
) {
    let Some(promise) = promise else { return };
    let refused = |error| Code::SystemFailed.because(format!("the state directory: {error}"));
    let kept = target.clear(address).and_then(|_| promise.keep().map_err(refused));
    if let Err(why) = kept {
        still_there(&why, control);
    }
}

fn still_there(why: &dyn std::fmt::Display, control: &mut Control<'_>) {
    control.remark(&format!(
        "what hopcost made in the database is still there: run 'hopcost restore' when this is mended: {why}"
    ));
}

pub struct Opened {
    pub instance: Box<dyn Instance>,
    pub promise: Option<Promise>,
}

impl Opened {
    /// If it cannot remove everything, the journal entry stays.
    pub fn close(self, control: &mut Control<'_>) -> Outcome<Vec<String>> {
        let is_promised = self.promise.is_some();
        let notes = self.instance.close().inspect_err(|error| {
            if is_promised {
                still_there(error, control);
            }
        })?;
        if let Some(promise) = self.promise {
            promise.keep().in_context("the state directory")?;
        }
        Ok(notes)
    }
}

/// Of all variants, and of the baseline's second set of clients in A/A checks.
fn sessions(plan: &Plan) -> u32 {
    let crews = plan.placements.iter().map(Vec::len).sum::<usize>() + plan.bindings.len();
    plan.most_streams() * crews as u32
}

fn is_subject_of(comparison: &mut Comparison, own: &Own) -> Outcome<()> {
    if comparison.levels.iter().any(|level| level.workload.is_some()) {
        let words = "--file: what this experiment compares is its own workloads";
        return Err(Failure::usage(Code::BadOption, words));
    }
    // Runs are only equal if their scripts are.
    let shape = Shape { rows: 1, sliced: false };
    let mut digest = Answer::default();
    for statement in own.spec(shape).statements {
        digest.add(Row::new().text(statement.name).text(statement.sql));
        for (name, value) in statement.script.unwrap_or_default() {
            digest.add(Row::new().text(name).text(value));
        }
    }
    comparison.workload = format!("own {:016x}", digest.digest);
    "nothing".clone_into(&mut comparison.dataset);
    Ok(())
}

fn workloads(comparison: &Comparison) -> Outcome<Vec<Variant<'static>>> {
    let of_level = |level: &Level| {
        by_name("workload", WORKLOADS, comparison.workload_of(level), |workload| {
            workload.info().name
        })
    };
    let all: Vec<_> = comparison.levels.iter().map(of_level).collect::<Result<_, _>>()?;
    // Prepare statements that all variants share only once.
    let varies = comparison.levels.iter().any(|level| level.workload.is_some());
    Ok(if varies { Variant::of(&all) } else { vec![Variant::of(&all[..1]).remove(0); all.len()] })
}

/// Memory of an idle connection.
const SESSION_BYTES: u64 = 256 << 10;

/// hopcost does not restart it.
fn is_of_an_existing_server(address: &str) -> bool {
    address.starts_with("//")
}

pub fn target(url: &str, duckdb_lib: Option<&Path>) -> Outcome<(&'static dyn Target, String)> {
    let (name, address) = url.split_once(':').unwrap_or((url, ""));
    let name = if name == "postgresql" { "postgres" } else { name };
    let library = duckdb_lib.filter(|_| name == "duckdb" && address.is_empty());
    let address = library.map_or(address.to_owned(), |file| format!("lib={}", file.display()));
    let target = by_name("target", TARGETS, name, <dyn Target>::name)?;
    // The URL may hold a password: do not repeat it.
    let wrong = |words| Failure::usage(Code::BadUrl, format!("--target {name}:…: {words}"));
    target.address(&address).map_err(wrong)?;
    Ok((target, address))
}

fn by_name<T: ?Sized>(
    what: &str,
    all: &[&'static T],
    name: &str,
    name_of: fn(&T) -> &'static str,
) -> Outcome<&'static T> {
    all.iter().copied().find(|member| name_of(member) == name).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|member| name_of(member)).collect();
        Failure::usage(
            Code::UnknownName,
            format!("there is no {what} '{name}'; known: {}", known.join(", ")),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use hopcost_core::Subject;
    use hopcost_sys::{Root, topology};

    use super::*;
    use crate::{Dirs, catalogue};

    fn machine(name: &str) -> Machine {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines");
        let path = format!("{dir}/{name}.tree");
        topology::read(&Root::recorded(path.as_ref()).unwrap())
    }

    fn absences(machine: &Machine, targets: &[&str]) -> HashSet<Reason> {
        let mut absences = HashSet::new();
        for experiment in catalogue::experiments().unwrap_or_default() {
            let Subject::Database(comparison) = &experiment.subject else { continue };
            for target in targets {
                let mut asked = Request::quick(&experiment.name);
                asked.target = (!target.is_empty()).then(|| (*target).to_owned());
                let app = App::new(Dirs::below("/nowhere".as_ref()));
                let prepared = OnDatabase::new(&app, &experiment, comparison, machine, &asked);
                let planned = prepared.map(|prepared| prepared.plan());
                absences.extend(planned.ok().and_then(Result::err));
            }
        }
        absences
    }

    #[test]
    fn whatever_is_missing_has_a_way_out() {
        let databases =
            ["sqlite:", "hashtable:", "wal:", "postgres:managed", "mysql:managed", "duckdb:"];
        let mut all = absences(&machine("vm-n1"), &databases);
        for name in ["vm-n4", "hand-arm-2-sockets", "hand-hybrid", "hand-sparse"] {
            all.extend(absences(&machine(name), &[""]));
        }
        assert!(all.len() > 8, "{all:#?}");
        all.retain(|why| hopcost_view::absence::way_out(why).is_none());
        assert!(all.is_empty(), "{all:#?}");
    }

    #[test]
    fn an_existing_server_is_not_started_anew() {
        let (machine, app) = (machine("vm-n1"), App::new(Dirs::below("/nowhere".as_ref())));
        let experiment = catalogue::experiment("client-distance").unwrap();
        let Subject::Database(comparison) = &experiment.subject else { panic!() };
        // The pace is planned for as many starts as there will be.
        let starts = |target: &str| {
            let mut asked = Request::quick(&experiment.name);
            asked.target = Some(target.to_owned());
            asked.starts = StartsAsked::Usual;
            let here = OnDatabase::new(&app, &experiment, comparison, &machine, &asked).unwrap();
            here.wishes.starts
        };
        assert_eq!(starts("postgres://me@db1/shop"), StartsAsked::One);
        assert_eq!(starts("postgres:managed"), StartsAsked::Usual);
    }

    #[test]
    fn one_unit_of_data_is_asked_for_in_words_that_fit_it() {
        let why = absences(&machine("vm-n1"), &["postgres:managed"]);
        let of_one: Vec<_> =
            why.iter().map(Reason::as_str).filter(|why| why.contains(" at 1 warehouse")).collect();
        assert!(!of_one.is_empty() && !of_one.iter().any(|why| why.contains("fewer")), "{why:#?}");
    }
}
