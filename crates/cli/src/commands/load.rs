//! `hopcost load`: a data set into a database, and how fast.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use hopcost_core::{
    Answer, Code, Dataset, Instance, Machine, Reason, Request, Requests, Setup, Shape, Stream,
    Target, Workload, WorkloadInfo, WorkloadSpec,
};
use hopcost_data::datasets::DATASETS;
use hopcost_sys::promises::Promise;
use hopcost_sys::{Root, clock, topology};
use hopcost_view::count;
use serde::Serialize;

use super::comparison::{cache_dir, give_up, promise, still_there, target};
use crate::args::{DataArgs, LoadArgs};
use crate::exit::{Exit, Failure};
use crate::progress::Progress;
use crate::{interrupt, output};

#[derive(Serialize)]
struct Printed<'a> {
    version: u32,
    target: &'a str,
    identity: &'a str,
    dataset: &'a str,
    rows: u64,
    seconds: f64,
    rows_per_s: f64,
}

pub fn run(args: &LoadArgs) -> Result<Exit, Failure> {
    let (target, address) = target(&args.target, args.data.duckdb_lib.as_deref())?;
    let named = DATASETS.iter().find(|dataset| dataset.name() == args.dataset);
    let dataset =
        *named.ok_or_else(|| Failure::usage(Code::UnknownName, "there is no such data set"))?;
    let tables = dataset.tables(1).iter().map(|table| table.name).collect::<Vec<_>>().leak();
    let about = "asks for nothing, and needs all tables";
    let all = All(WorkloadInfo { name: "nothing", about, tables });
    let machine = topology::read(&Root::live());
    let base = Base {
        target,
        address: &address,
        dataset,
        workload: &all,
        machine: &machine,
        args: &args.data,
    };
    let stop = interrupt::watch()?;
    let begun = clock::now();
    // What was loaded is what was asked for: it stays.
    let opened = base.open(1, true, &stop)?;
    let seconds = begun.elapsed().as_secs_f64();
    let identity = opened.instance.identity();
    opened.close()?;
    let rows = dataset.tables(base.scale()).iter().map(|table| table.rows).sum();
    let rows_per_s = rows as f64 / seconds;
    let url = base.url();
    if args.data.json {
        let dataset = dataset.name();
        let printed = Printed {
            version: 1,
            target: &url,
            identity: &identity,
            dataset,
            rows,
            seconds,
            rows_per_s,
        };
        output::print_json(&printed)?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    let (rows, per_s) = (count(rows), count(rows_per_s as u64));
    let _ = writeln!(
        text,
        "{url} has {rows} rows of {} after {seconds:.1} s: {per_s} a second",
        dataset.name()
    );
    let _ = writeln!(text, "{identity}");
    output::print(&text)?;
    Ok(Exit::Done)
}

/// A database with data, for a command that runs no experiment.
pub struct Base<'a> {
    pub target: &'static dyn Target,
    pub address: &'a str,
    pub dataset: &'static dyn Dataset,
    pub workload: &'a dyn Workload,
    pub machine: &'a Machine,
    pub args: &'a DataArgs,
}

impl Base<'_> {
    /// The rows that are asked for; of warehouses, one is much.
    pub fn scale(&self) -> u64 {
        let default = if self.dataset.unit(2) == "rows" { 100_000 } else { 1 };
        self.args.scale.unwrap_or(default)
    }

    pub fn shape(&self) -> Shape {
        Shape { rows: self.scale(), sliced: true }
    }

    /// The target's URL, without anything secret.
    pub fn url(&self) -> String {
        let address = self.target.address(self.address).unwrap_or_default();
        format!("{}:{address}", self.target.name())
    }

    /// Brings it up, for so many sessions. What it makes in a place that is not ours is to be removed, or
    /// to stay.
    pub fn open(
        &self,
        sessions: u32,
        keep_data: bool,
        stop: &AtomicBool,
    ) -> Result<Opened, Failure> {
        let first = self.machine.nodes_with_memory().map(|node| node.id).next();
        let promised = RefCell::new(None);
        let make_promise = || {
            *promised.borrow_mut() =
                Some(promise(self.target, self.address).map_err(|reason| reason.to_string())?);
            Ok(())
        };
        let setup = Setup {
            machine: self.machine,
            ground: self.machine,
            dataset: Some(self.dataset),
            workload: self.workload,
            shape: self.shape(),
            levels: &[],
            homes: if self.target.is_in_process() {
                first.into_iter().map(Into::into).collect()
            } else {
                Vec::new()
            },
            emulation: None,
            cache_dir: self.args.cache_dir.clone().unwrap_or_else(cache_dir),
            address: self.address,
            sessions,
            keep_data,
            allow_server_changes: self.args.allow_server_changes,
            promise: &make_promise,
        };
        let mut progress = Progress::of(self.target.name(), Duration::ZERO);
        let opened = self.target.open(&setup, &mut |loading| {
            progress.loading(loading);
            !stop.load(Ordering::Relaxed)
        });
        progress.close();
        let instance =
            opened.inspect_err(|_| give_up(self.target, self.address, promised.take()))?;
        Ok(Opened { instance, promise: promised.take() })
    }
}

/// A database that is up, and what was promised for it.
pub struct Opened {
    pub instance: Box<dyn Instance>,
    pub promise: Option<Promise>,
}

impl Opened {
    /// Removes what is to be removed. Where that fails, what was promised stays written down.
    pub fn close(self) -> Result<Vec<String>, Failure> {
        let is_promised = self.promise.is_some();
        let notes = self.instance.close().inspect_err(|error| {
            if is_promised {
                still_there(error);
            }
        })?;
        if let Some(promise) = self.promise {
            promise.keep().context("the state directory")?;
        }
        Ok(notes)
    }
}

/// Asks for nothing, and needs everything.
struct All(WorkloadInfo);

impl Workload for All {
    fn info(&self) -> &WorkloadInfo {
        &self.0
    }

    fn spec(&self, _: Shape) -> WorkloadSpec {
        WorkloadSpec::of(Vec::new())
    }

    fn requests(&self, _: Shape, _: Stream) -> Box<dyn Requests> {
        Box::new(Nothing)
    }

    fn check(&self, _: Shape, _: &Request, _: &Answer) -> Result<(), Reason> {
        Ok(())
    }
}

/// Nobody asks.
struct Nothing;

impl Requests for Nothing {
    fn next(&mut self) -> Request {
        Request { statement: 0, arguments: [0; 4] }
    }
}
