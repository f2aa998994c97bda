//! Runs a comparison: loads, places, measures, judges. Each block is stored before the next begins.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use hopcost_core::{
    BlockRecord, Code, ExperimentResult, Instance, Known, Setup, TargetError, Workload,
};
use hopcost_drive::Listener as _;
use hopcost_drive::comparison::{Bench, Staff, harness_ns_per_call};
use hopcost_drive::pilot;
use hopcost_drive::pool::RawCall;
use hopcost_host::observers::OBSERVERS;
use hopcost_method::judge::{Case, Circumstances, conclude};
use hopcost_method::plan::Plan;
use hopcost_method::run::{RunPreparation, differing_keys};
use hopcost_method::schedule::Schedule;
use hopcost_store::{KeptCall, Resumable, Store, StoreError, Unfinished, Whose};
use hopcost_sys::activity::Others;
use hopcost_sys::hotplug::Hotplug;
use hopcost_sys::{Root, clock};

use super::host::Host;
use super::ran::{Ran, RunOptions, begin, not_applicable};
use super::{baseline, command_line, network, off_line};
use crate::figures::{Occasions, score_with_occasions};
use crate::on_database::{OnDatabase, Opened, target};
use crate::report::labels;
use crate::{Control, Event, Failure, InContext, Outcome};

pub fn run(
    prepared: &OnDatabase<'_>,
    options: &RunOptions,
    store: &mut Store,
    control: &mut Control<'_>,
) -> Outcome<Ran> {
    let identity = prepared.identity();
    let beside = baseline::asked_for(options.baseline.as_deref(), store, prepared)?;
    if !options.resume {
        baseline::announced(beside.as_ref(), store, prepared, control)?;
    }
    let host = Host::read(prepared.ground);
    let unfinished =
        if options.resume { resumed(prepared, store, &identity, &host, control)? } else { None };
    let planned = prepared.plan();
    let hotplug = match &planned {
        Ok(plan) => off_line::wanted(prepared, plan)?,
        Err(_) => None,
    };
    let url = prepared.url();
    let id = if let Some(unfinished) = &unfinished {
        unfinished.id
    } else {
        let kept = (Some(url.as_str()), Some(identity.as_str()));
        let wanted = (prepared.effort, prepared.wishes.seed);
        begin(store, prepared.experiment, prepared.ground, &host, wanted, kept)?
    };
    let emulated = prepared.emulation.is_some();
    let measured = match planned {
        Ok(plan) => {
            let plan = baseline::narrowed(plan, beside.as_ref(), prepared.comparison.find_worst);
            Measuring { prepared, options, id, hotplug }.run(plan, store, unfinished, control)
        }
        Err(reason) => {
            Ok(Some(not_applicable(prepared.experiment, Known::Is(url), &reason, emulated)))
        }
    };
    let mut result = match measured {
        Ok(Some(result)) => result,
        Ok(None) => {
            return Ok(Ran { needs_a_start: true, ..Ran::interrupted(id) });
        }
        Err(failure) if failure.is_interruption() => {
            return Ok(Ran::interrupted(id));
        }
        Err(failure) => {
            // A failed store cannot record the failure.
            let _ = store.fail(id, &failure.to_string());
            return Err(failure);
        }
    };
    let place = store.path().display().to_string();
    if prepared.comparison.is_score() {
        let occasions = Occasions::of(store, &host, prepared.effort).in_context(&place)?;
        score_with_occasions(&mut result, &occasions, &identity, prepared.ground);
    }
    if let Some(beside) = &beside {
        let against = baseline::against(beside, store, id, &result, prepared.ground, control);
        result.against = against.in_context(&place)?;
    }
    store.finish(id, &result).in_context(place)?;
    Ok(Ran { result: Some(result), ..Ran::interrupted(id) })
}

fn resumed(
    prepared: &OnDatabase<'_>,
    store: &Store,
    identity: &str,
    host: &Host,
    control: &mut Control<'_>,
) -> Outcome<Option<Unfinished<RunPreparation>>> {
    let place = &store.path().display().to_string();
    let machine = prepared.ground;
    let is_asked = |kept: &str| differing_keys(kept, identity).is_empty();
    let is_here = |run: &Whose| host.is_where(run, machine);
    match store.unfinished(is_asked, is_here).in_context(place)? {
        Resumable::Here(unfinished) => Ok(Some(unfinished)),
        Resumable::Elsewhere(run, of) => {
            let name =
                |host: Option<&String>| host.map_or("another host", String::as_str).to_owned();
            let (of, own) = (name(of.as_ref()), name(machine.host.get()));
            control.remark(&format!(
                "run {run} in {place} was begun on {of}, and this is {own}: a run of its own is begun"
            ));
            Ok(None)
        }
        Resumable::None => Err(Failure::usage(
            Code::NothingToResume,
            format!(
                "{place}: there is no unfinished run of '{}' with these options to go on with; run it \
                 without --resume",
                prepared.experiment.name
            ),
        )),
    }
}

struct Measuring<'a> {
    prepared: &'a OnDatabase<'a>,
    options: &'a RunOptions,
    id: i64,
    hotplug: Option<RefCell<Hotplug>>,
}

impl Measuring<'_> {
    /// `None` if the run needs another start.
    fn run(
        &self,
        plan: Plan,
        store: &mut Store,
        unfinished: Option<Unfinished<RunPreparation>>,
        control: &mut Control<'_>,
    ) -> Outcome<Option<ExperimentResult>> {
        let start = clock::now();
        let prepared = self.prepared;
        let (kept, done) = match unfinished {
            Some(unfinished) => (unfinished.preparation, unfinished.blocks),
            None => (None, Vec::new()),
        };
        let plan = kept.as_ref().map_or(plan, |kept| kept.plan.clone());
        let promise = RefCell::new(None);
        let make_promise = || {
            *promise.borrow_mut() = Some(prepared.promise().map_err(|reason| reason.to_string())?);
            Ok(())
        };
        let setup = Setup { promise: &make_promise, ..prepared.setup(&plan) };
        let instance = prepared.target.open(&setup, &mut |loading| {
            control.tell(Event::Loading(loading));
            !control.is_stopped()
        });
        let instance = instance.inspect_err(|_| prepared.give_up(promise.take(), control))?;
        let stop = Arc::clone(&control.stop);
        let before_s = kept.as_ref().map_or(0.0, |kept| kept.circumstances.seconds);
        let bench = Bench {
            comparison: &prepared.comparison,
            plan: &plan,
            instance: instance.as_ref(),
            in_process: prepared.target.is_in_process(),
            workloads: prepared.workloads_of(&plan),
            shape: prepared.shape,
            ground: prepared.ground,
            planted: prepared.planted(),
            hotplug: self.hotplug.as_ref(),
            observers: OBSERVERS,
            seed: prepared.wishes.seed,
            keep_calls: self.options.raw_calls,
            stop: &stop,
        };
        let run = Run { prepared, options: self.options, bench, setup: &setup, id: self.id, start };
        let worked =
            run.work(store, kept, done, control).and_then(|worked| Ok((worked, instance.plans()?)));
        let brought_back =
            self.hotplug.as_ref().map_or(Ok(()), |all| all.borrow_mut().bring_back());
        // Report a setting that could not be restored first.
        let worked = brought_back.map_err(Failure::from).and(worked);
        let closed = Opened { instance, promise: promise.take() }.close(control);
        let notes = match closed {
            // An interrupted command must report what it could not undo.
            Err(left) if worked.as_ref().is_err_and(Failure::is_interruption) => return Err(left),
            notes => notes,
        };
        let (mut worked, plans) = worked?;
        let circumstances = &mut worked.preparation.circumstances;
        circumstances.plans_after = plans;
        // Each start has the same to tell.
        let notes: Vec<String> =
            notes?.into_iter().filter(|it| !circumstances.notes.contains(it)).collect();
        circumstances.notes.extend(notes);
        circumstances.seconds = before_s + start.elapsed().as_secs_f64();
        self.concluded(worked, store, control.has_enough())
    }

    /// After the server has ended, whose CPU time is known now. `None` if the run needs another start.
    fn concluded(
        &self,
        worked: Worked,
        store: &Store,
        is_cut: bool,
    ) -> Outcome<Option<ExperimentResult>> {
        let Worked { mut preparation, blocks, before, others } = worked;
        let place = || store.path().display();
        let comparison = &self.prepared.comparison;
        if preparation.pace.starts.is_some() && !is_cut {
            let is_contended = others.is_some_and(|others| others.contend(&Root::live()));
            let is_dropped = is_contended && preparation.circumstances.count_contended();
            if is_dropped {
                store.forget_from(self.id, before as u64).in_context(place())?;
            }
            let RunPreparation { plan, pace, .. } = &preparation;
            let schedule = Schedule::new(plan, pace, comparison.find_worst);
            if is_dropped || schedule.needs_a_start(&blocks, before) {
                store.prepare(self.id, &preparation).in_context(place())?;
                return Ok(None);
            }
        }
        Ok(Some(conclude(&Case {
            experiment: self.prepared.experiment,
            comparison,
            plan: &preparation.plan,
            pace: &preparation.pace,
            blocks: &blocks,
            circumstances: &preparation.circumstances,
        })))
    }
}

struct Worked {
    preparation: RunPreparation,
    blocks: Vec<BlockRecord>,
    /// Blocks of earlier starts.
    before: usize,
    others: Option<Others>,
}

struct Run<'a> {
    prepared: &'a OnDatabase<'a>,
    options: &'a RunOptions,
    bench: Bench<'a>,
    setup: &'a Setup<'a>,
    id: i64,
    start: Instant,
}

impl Run<'_> {
    /// Skips decisions and blocks that are already stored.
    fn work(
        &self,
        store: &mut Store,
        kept: Option<RunPreparation>,
        mut done: Vec<BlockRecord>,
        control: &mut Control<'_>,
    ) -> Outcome<Worked> {
        let mut failure: Option<StoreError> = None;
        if let Some(RunPreparation { plan, pace, .. }) = &kept {
            let schedule = Schedule::new(plan, pace, self.prepared.comparison.find_worst);
            done.truncate(schedule.kept(&done));
            store.forget_from(self.id, done.len() as u64).in_context(store.path().display())?;
        }
        let before = done.len();
        let outcome = self.bench.staff(|staff| {
            let mut preparation = match kept {
                Some(kept) => kept,
                None => self.prepare(staff, control)?,
            };
            if let Err(error) = store.prepare(self.id, &preparation) {
                failure = Some(error);
                return Err(TargetError::Interrupted);
            }
            let mut keep = |block: &BlockRecord, calls: &[Vec<RawCall>]| {
                store.add_block(self.id, block, &kept_calls(calls)).map_err(|error| {
                    failure = Some(error);
                    TargetError::Interrupted
                })
            };
            let others = Others::watch(&Root::live(), &preparation.plan.cpus());
            let blocks = staff.measure(&preparation.pace, done, &mut keep, control)?;
            if control.has_enough() {
                let note = "ended by the user, with the interval of the last look";
                preparation.circumstances.notes.push(note.to_owned());
            }
            Ok(Worked { preparation, blocks, before, others })
        });
        control.tell(Event::Ended);
        match failure {
            Some(error) => Err(error).in_context(store.path().display()),
            None => Ok(outcome?),
        }
    }

    fn prepare(
        &self,
        staff: &mut Staff<'_>,
        control: &mut Control<'_>,
    ) -> Result<RunPreparation, TargetError> {
        let (prepared, plan) = (self.prepared, self.bench.plan);
        let null = open_null(self.setup)?;
        let placement = &plan.placements[0][0];
        let workload = prepared.baseline();
        let own_ns = harness_ns_per_call(null.as_ref(), workload, prepared.shape, placement)?;
        let find_worst = prepared.comparison.find_worst;
        let start_s = self.start.elapsed().as_secs_f64();
        let wishes = &prepared.wishes;
        let (pace, warning) = pilot::pace(staff, plan, find_worst, wishes, start_s, control)?;
        if let Some(warning) = &warning {
            control.remark(warning);
        }
        let unwatched = staff.unwatched.iter();
        let unwatched = unwatched.map(|(name, reason)| format!("{name} is not observed: {reason}"));
        let off_line = self.bench.hotplug.map(|_| off_line::told(plan));
        Ok(RunPreparation {
            plan: plan.clone(),
            pace,
            circumstances: Circumstances {
                target: prepared.url(),
                identity: self.bench.instance.identity(),
                plans: self.bench.instance.plans()?,
                plans_after: Vec::new(),
                harness_ns_per_call: own_ns,
                in_process: prepared.target.is_in_process(),
                emulated: prepared.emulation.is_some(),
                calls_per_query: workload.spec(prepared.shape).calls_per_query,
                notes: warning
                    .into_iter()
                    .chain(unwatched)
                    .chain(off_line)
                    .chain(network::unmeasured(&prepared.url()))
                    .collect(),
                seconds: 0.0,
                measured_again: 0,
                contended: 0,
            },
            words: prepared.experiment.words.clone(),
            labels: labels(prepared.experiment),
            unit: network::unit(&prepared.url()),
            command: command_line::kept(&self.options.command_line, &prepared.url()),
        })
    }
}

/// A target that does nothing measures the harness alone.
fn open_null(setup: &Setup<'_>) -> Result<Box<dyn Instance>, TargetError> {
    let (null, _) =
        target("null", None).map_err(|failure| TargetError::Failed(failure.to_string()))?;
    // It has no data, and ignores all settings of variants.
    let setup = Setup { levels: &[], homes: Vec::new(), ..setup.clone() };
    null.open(&setup, &mut |_| true)
}

fn kept_calls(calls: &[Vec<RawCall>]) -> Vec<KeptCall> {
    let of_window = |(place, calls): (usize, &Vec<RawCall>)| -> Vec<KeptCall> {
        let kept = |call: &RawCall| KeptCall {
            place,
            stream: call.stream,
            due_sent_done_ns: [call.due_ns, call.sent_ns, call.done_ns],
        };
        calls.iter().map(kept).collect()
    };
    calls.iter().enumerate().flat_map(of_window).collect()
}
