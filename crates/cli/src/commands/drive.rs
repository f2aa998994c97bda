//! `hopcost drive`: calls for their own sake, and what came of them.

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hopcost_app::scripts;
use hopcost_core::{
    Code, CpuId, CpuSet, Dataset, Instance, Load, Open, Target, VariantSettings, Workload,
};
use hopcost_data::datasets::DATASETS;
use hopcost_data::workloads::WORKLOADS;
use hopcost_drive::load::{Driven, drive};
use hopcost_drive::pool::{Muster, Work};
use hopcost_sys::affinity;
use hopcost_view::{count, figure, plural};
use serde::Serialize;

use super::comparison::target;
use super::load::Base;
use crate::args::DriveArgs;
use crate::exit::{Exit, Failure};
use crate::safety::Leave;
use crate::{interrupt, output};

#[derive(Serialize)]
struct Printed<'a> {
    version: u32,
    target: &'a str,
    identity: &'a str,
    workload: &'a str,
    clients: u32,
    threads: usize,
    seconds: f64,
    calls: u64,
    warm_up_calls: u64,
    errors: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_error: Option<&'a str>,
    calls_per_s: f64,
    latency_ns: Latency,
    /// Microseconds of CPU that hopcost itself used for a call.
    own_cpu_us_per_call: f64,
    interrupted: bool,
    notes: &'a [String],
}

#[derive(Serialize)]
struct Latency {
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
}

pub fn run(args: &DriveArgs) -> Result<Exit, Failure> {
    let (target, address) = target(&args.target, args.data.duckdb_lib.as_deref())?;
    let workload: &dyn Workload = match scripts::workload(scripts::Asked {
        files: &args.own.file,
        builtins: &args.own.builtin,
        definitions: &args.own.define,
    })? {
        Some(own) => own,
        None => named(args.workload.as_deref())?,
    };
    let leave = Leave::to_load(None)?;
    let base = Base {
        target,
        address: &address,
        dataset: dataset_of(workload)?,
        workload,
        machine: &leave.machine,
        args: &args.data,
    };
    let stop = interrupt::watch()?;
    let opened = base.open(args.clients, false, &stop)?;
    let identity = opened.instance.identity();
    let driving = Driving { args, target, base: &base };
    let driven = driving.drive(opened.instance.as_ref(), &stop);
    let notes = opened.close();
    let (driven, notes) = (driven?, notes?);
    let text = if args.data.json {
        output::print_json(&driving.printed(&driven, &identity, &base.url(), &notes))?;
        String::new()
    } else {
        driving.text(&driven, &identity, &notes)
    };
    output::print(&text)?;
    // Where each call failed nothing was measured.
    let has_answers = driven.calls == 0 || driven.errors < driven.calls;
    Ok(match (driven.interrupted, has_answers) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::Failed,
    })
}

fn named(name: Option<&str>) -> Result<&'static dyn Workload, Failure> {
    let Some(name) = name else {
        let words = "what to ask? --workload NAME, --file SCRIPT or --builtin NAME";
        return Err(Failure::usage(Code::BadOption, words));
    };
    let found = WORKLOADS.iter().find(|workload| workload.info().name == name);
    found
        .copied()
        .ok_or_else(|| Failure::usage(Code::UnknownName, format!("there is no workload '{name}'")))
}

/// The data set with all tables of a workload.
fn dataset_of(workload: &dyn Workload) -> Result<&'static dyn Dataset, Failure> {
    let has_all = |dataset: &&&dyn Dataset| {
        let tables = dataset.tables(1);
        workload.info().tables.iter().all(|name| tables.iter().any(|table| table.name == *name))
    };
    // Where none is needed, that with the fewest.
    let fewest = DATASETS.iter().filter(has_all).min_by_key(|dataset| dataset.tables(1).len());
    fewest
        .copied()
        .ok_or_else(|| Failure::usage(Code::BadOption, "no data set has this workload's tables"))
}

struct Driving<'a> {
    args: &'a DriveArgs,
    target: &'static dyn Target,
    base: &'a Base<'a>,
}

impl Driving<'_> {
    fn drive(&self, instance: &dyn Instance, stop: &AtomicBool) -> Result<Driven, Failure> {
        let args = self.args;
        let open = args.rate.map(|calls_per_s| Open { calls_per_s, at_random: false });
        let load = Load { think_s: args.think.unwrap_or(0.0), open, ramp_s: 0.0 };
        let work = Work {
            instance,
            workload: self.base.workload,
            shape: self.base.shape(),
            load,
            planted: None,
            seed: args.data.seed,
        };
        let length = Duration::from_secs_f64(args.duration);
        Ok(drive(work, &self.muster()?, length, stop, &mut |_| {})?)
    }

    /// Clients on their CPUs, in turn where they have more threads. What works within our process works
    /// where it is asked.
    fn muster(&self) -> Result<Muster, Failure> {
        let cpus = match &self.args.client_cpus {
            Some(cpus) => cpus.clone(),
            None => affinity::mask()?,
        };
        let threads = self.threads(cpus.len());
        let clients: Vec<CpuId> =
            cpus.iter().collect::<Vec<_>>().into_iter().cycle().take(threads).collect();
        let workers = self.args.worker_cpus.iter().flat_map(CpuSet::iter).collect();
        let in_process = self.target.is_in_process();
        let workers = if in_process { clients.clone() } else { workers };
        let settings = VariantSettings::on_cpus(workers);
        Ok(Muster { settings, clients: Some(clients), streams: self.args.clients })
    }

    fn threads(&self, cpus: usize) -> usize {
        let clients = self.args.clients as usize;
        self.args.threads.map_or(cpus, |threads| threads as usize).clamp(1, clients)
    }

    fn printed<'b>(
        &'b self,
        driven: &'b Driven,
        identity: &'b str,
        url: &'b str,
        notes: &'b [String],
    ) -> Printed<'b> {
        let quantile = |share| driven.latency.quantile_ns(share).unwrap_or(f64::NAN);
        let (mean, _) = driven.latency.mean_and_deviation_ns().unwrap_or((f64::NAN, 0.0));
        let cpus = self
            .args
            .client_cpus
            .as_ref()
            .map_or_else(|| affinity::mask().map_or(1, |mask| mask.len()), CpuSet::len);
        Printed {
            version: 1,
            target: url,
            identity,
            workload: self.base.workload.info().name,
            clients: self.args.clients,
            threads: self.threads(cpus),
            seconds: driven.seconds,
            calls: driven.calls,
            warm_up_calls: driven.warm_up_calls,
            errors: driven.errors,
            first_error: driven.first_error.as_deref(),
            calls_per_s: driven.calls_per_s,
            latency_ns: Latency {
                mean,
                p50: quantile(0.5),
                p95: quantile(0.95),
                p99: quantile(0.99),
            },
            own_cpu_us_per_call: driven.own_cpu.as_secs_f64() * 1e6 / driven.calls.max(1) as f64,
            interrupted: driven.interrupted,
            notes,
        }
    }

    fn text(&self, driven: &Driven, identity: &str, notes: &[String]) -> String {
        let url = self.base.url();
        let printed = self.printed(driven, identity, &url, notes);
        let mut text = String::new();
        let us = |ns: f64| figure(ns / 1000.0);
        let Latency { mean, p50, p95, p99 } = printed.latency_ns;
        let (calls, seconds) = (count(printed.calls), figure(printed.seconds));
        let per_s = count(printed.calls_per_s.round() as u64);
        let clients = printed.clients;
        let threads = plural(printed.threads, "thread");
        let _ = writeln!(
            text,
            "{per_s} calls a second of {} ({calls} in {seconds} s)",
            printed.workload
        );
        let _ = writeln!(text, "  clients   {clients}, on {threads}");
        let _ = writeln!(
            text,
            "  latency   {} µs on average, {} at the median, {} at 95 %, {} at 99 %",
            us(mean),
            us(p50),
            us(p95),
            us(p99)
        );
        let own = figure(printed.own_cpu_us_per_call);
        let _ = writeln!(text, "  own CPU   {own} µs a call");
        if driven.errors > 0 {
            let first = driven.first_error.as_deref().unwrap_or("no words");
            let _ =
                writeln!(text, "  failed    {} calls, the first: {first}", count(driven.errors));
        }
        let _ = writeln!(text, "  database  {identity}");
        for note in notes {
            let _ = writeln!(text, "  note      {note}");
        }
        text
    }
}
