//! Loads a data set into a database, and measures how fast.

use hopcost_core::{
    Answer, Code, Dataset, Reason, Request, Requests, Shape, Stream, Workload, WorkloadInfo,
    WorkloadSpec,
};
use hopcost_data::datasets::DATASETS;
use hopcost_sys::clock;
use serde::Serialize;

use crate::data::Base;
use crate::on_database::target;
use crate::{App, Control, DataRequest, Failure, Outcome, machine};

#[derive(Clone, Debug)]
pub struct LoadRequest {
    pub dataset: String,
    pub data: DataRequest,
}

#[derive(Clone, Debug, Serialize)]
pub struct LoadResult {
    /// Without secrets.
    pub target: String,
    pub identity: String,
    pub dataset: &'static str,
    pub rows: u64,
    pub seconds: f64,
    pub rows_per_s: f64,
}

impl App {
    /// The data is kept.
    pub fn load(&self, asked: &LoadRequest, control: &mut Control<'_>) -> Outcome<LoadResult> {
        let (target, address) = target(&asked.data.target, asked.data.duckdb_lib.as_deref())?;
        let named = DATASETS.iter().find(|dataset| dataset.name() == asked.dataset);
        let dataset: &dyn Dataset =
            *named.ok_or_else(|| Failure::usage(Code::UnknownName, "there is no such data set"))?;
        let tables = dataset.tables(1).iter().map(|table| table.name).collect::<Vec<_>>().leak();
        let about = "asks for nothing, and needs all tables";
        let all = All(WorkloadInfo { name: "nothing", about, tables });
        let machine = machine();
        let base = Base {
            target,
            address: &address,
            dataset,
            workload: &all,
            machine: &machine,
            asked: &asked.data,
            dirs: &self.dirs,
        };
        let begun = clock::now();
        let opened = base.open(1, true, control)?;
        let seconds = begun.elapsed().as_secs_f64();
        let identity = opened.instance.identity();
        opened.close(control)?;
        let rows = dataset.tables(base.scale()).iter().map(|table| table.rows).sum();
        Ok(LoadResult {
            target: base.url(),
            identity,
            dataset: dataset.name(),
            rows,
            seconds,
            rows_per_s: rows as f64 / seconds,
        })
    }
}

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

struct Nothing;

impl Requests for Nothing {
    fn next(&mut self) -> Request {
        Request { statement: 0, arguments: [0; 4] }
    }
}
