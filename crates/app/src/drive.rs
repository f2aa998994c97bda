//! Runs a workload without a comparison.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hopcost_core::{
    Code, CpuId, CpuSet, Dataset, Instance, Load, Open, Target, VariantSettings, Workload,
};
use hopcost_data::datasets::DATASETS;
use hopcost_data::workloads::WORKLOADS;
use hopcost_drive::load::{Driven, drive};
use hopcost_drive::pool::{Muster, Work};
use hopcost_sys::affinity;
use serde::Serialize;

use crate::data::Base;
use crate::on_database::target;
use crate::{App, Control, DataRequest, Failure, Leave, Outcome, Scripts, scripts};

#[derive(Clone, Debug)]
pub struct DriveRequest {
    pub data: DataRequest,
    /// `None`: scripts are given.
    pub workload: Option<String>,
    pub scripts: Scripts,
    pub clients: u32,
    /// Shared by all clients. `None`: one per CPU, but no more than clients.
    pub threads: Option<u32>,
    pub duration_s: f64,
    /// Sum of all clients. `None`: each client calls again after its last answer.
    pub calls_per_s: Option<f64>,
    pub think_s: Option<f64>,
    pub client_cpus: Option<CpuSet>,
    pub worker_cpus: Option<CpuSet>,
}

#[derive(Clone, Debug, Serialize)]
pub struct DriveResult {
    /// Without secrets.
    pub target: String,
    pub identity: String,
    pub workload: String,
    pub clients: u32,
    pub threads: usize,
    pub seconds: f64,
    pub calls: u64,
    pub warm_up_calls: u64,
    pub errors: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_error: Option<String>,
    pub calls_per_s: f64,
    pub latency_ns: Latency,
    pub own_cpu_us_per_call: f64,
    pub interrupted: bool,
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Latency {
    pub mean: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

impl App {
    pub fn drive(&self, asked: &DriveRequest, control: &mut Control<'_>) -> Outcome<DriveResult> {
        let (target, address) = target(&asked.data.target, asked.data.duckdb_lib.as_deref())?;
        let workload: &dyn Workload = match scripts::workload(&asked.scripts)? {
            Some(own) => own,
            None => named(asked.workload.as_deref())?,
        };
        let leave = Leave::to_load(None, control)?;
        let base = Base {
            target,
            address: &address,
            dataset: dataset_of(workload)?,
            workload,
            machine: &leave.machine,
            asked: &asked.data,
            dirs: &self.dirs,
        };
        let opened = base.open(asked.clients, false, control)?;
        let identity = opened.instance.identity();
        let driving = Driving { asked, target, base: &base };
        let driven = driving.drive(opened.instance.as_ref(), &control.stop);
        let notes = opened.close(control);
        Ok(driving.result(driven?, identity, notes?))
    }
}

fn named(name: Option<&str>) -> Outcome<&'static dyn Workload> {
    let Some(name) = name else {
        let words = "what to ask? --workload NAME, --file SCRIPT or --builtin NAME";
        return Err(Failure::usage(Code::BadOption, words));
    };
    let found = WORKLOADS.iter().find(|workload| workload.info().name == name);
    found
        .copied()
        .ok_or_else(|| Failure::usage(Code::UnknownName, format!("there is no workload '{name}'")))
}

fn dataset_of(workload: &dyn Workload) -> Outcome<&'static dyn Dataset> {
    let has_all = |dataset: &&&dyn Dataset| {
        let tables = dataset.tables(1);
        workload.info().tables.iter().all(|name| tables.iter().any(|table| table.name == *name))
    };
    // A workload without tables takes the data set with the fewest.
    let fewest = DATASETS.iter().filter(has_all).min_by_key(|dataset| dataset.tables(1).len());
    fewest
        .copied()
        .ok_or_else(|| Failure::usage(Code::BadOption, "no data set has this workload's tables"))
}

struct Driving<'a> {
    asked: &'a DriveRequest,
    target: &'static dyn Target,
    base: &'a Base<'a>,
}

impl Driving<'_> {
    fn drive(&self, instance: &dyn Instance, stop: &AtomicBool) -> Outcome<Driven> {
        let asked = self.asked;
        let open = asked.calls_per_s.map(|calls_per_s| Open { calls_per_s, at_random: false });
        let load = Load { think_s: asked.think_s.unwrap_or(0.0), open, ramp_s: 0.0 };
        let work = Work {
            instance,
            workload: self.base.workload,
            shape: self.base.shape(),
            load,
            planted: None,
            seed: asked.data.seed,
        };
        let length = Duration::from_secs_f64(asked.duration_s);
        Ok(drive(work, &self.muster()?, length, stop, &mut |_| {})?)
    }

    /// Puts clients on CPUs, round-robin if there are more threads than CPUs. An embedded database
    /// works on the calling thread's CPU.
    fn muster(&self) -> Outcome<Muster> {
        let cpus = match &self.asked.client_cpus {
            Some(cpus) => cpus.clone(),
            None => affinity::mask()?,
        };
        let threads = self.threads(cpus.len());
        let clients: Vec<CpuId> =
            cpus.iter().collect::<Vec<_>>().into_iter().cycle().take(threads).collect();
        let workers = self.asked.worker_cpus.iter().flat_map(CpuSet::iter).collect();
        let in_process = self.target.is_in_process();
        let workers = if in_process { clients.clone() } else { workers };
        let settings = VariantSettings::on_cpus(workers);
        Ok(Muster { settings, clients: Some(clients), streams: self.asked.clients })
    }

    fn threads(&self, cpus: usize) -> usize {
        let clients = self.asked.clients as usize;
        self.asked.threads.map_or(cpus, |threads| threads as usize).clamp(1, clients)
    }

    fn result(&self, driven: Driven, identity: String, notes: Vec<String>) -> DriveResult {
        let quantile = |share| driven.latency.quantile_ns(share).unwrap_or(f64::NAN);
        let (mean, _) = driven.latency.mean_and_deviation_ns().unwrap_or((f64::NAN, 0.0));
        let cpus = &self.asked.client_cpus;
        let cpus = cpus
            .as_ref()
            .map_or_else(|| affinity::mask().map_or(1, |mask| mask.len()), CpuSet::len);
        DriveResult {
            target: self.base.url(),
            identity,
            workload: self.base.workload.info().name.to_owned(),
            clients: self.asked.clients,
            threads: self.threads(cpus),
            seconds: driven.seconds,
            calls: driven.calls,
            warm_up_calls: driven.warm_up_calls,
            errors: driven.errors,
            calls_per_s: driven.calls_per_s,
            latency_ns: Latency {
                mean,
                p50: quantile(0.5),
                p95: quantile(0.95),
                p99: quantile(0.99),
            },
            own_cpu_us_per_call: driven.own_cpu.as_secs_f64() * 1e6 / driven.calls.max(1) as f64,
            interrupted: driven.interrupted,
            first_error: driven.first_error,
            notes,
        }
    }
}
