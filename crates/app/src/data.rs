//! Databases with data for commands that run no experiment.

use std::cell::RefCell;
use std::time::Duration;

use hopcost_core::{Dataset, Machine, Setup, Shape, Target, Workload};

use crate::on_database::{Opened, give_up, promise};
use crate::{Control, DataRequest, Dirs, Event, Outcome};

pub struct Base<'a> {
    pub target: &'static dyn Target,
    pub address: &'a str,
    pub dataset: &'static dyn Dataset,
    pub workload: &'a dyn Workload,
    pub machine: &'a Machine,
    pub asked: &'a DataRequest,
    pub dirs: &'a Dirs,
}

impl Base<'_> {
    /// The requested or default scale: rows, or warehouses, of which one is already large.
    pub fn scale(&self) -> u64 {
        let default = if self.dataset.unit(2) == "rows" { 100_000 } else { 1 };
        self.asked.rows.unwrap_or(default)
    }

    pub fn shape(&self) -> Shape {
        Shape { rows: self.scale(), sliced: true }
    }

    /// Without secrets.
    pub fn url(&self) -> String {
        let address = self.target.address(self.address).unwrap_or_default();
        format!("{}:{address}", self.target.name())
    }

    /// Opens the database for `sessions` sessions. Data made on an existing server is dropped at
    /// the end or kept, as requested.
    pub fn open(
        &self,
        sessions: u32,
        keep_data: bool,
        control: &mut Control<'_>,
    ) -> Outcome<Opened> {
        let first = self.machine.nodes_with_memory().map(|node| node.id).next();
        let promised = RefCell::new(None);
        let make_promise = || {
            *promised.borrow_mut() = Some(
                promise(&self.dirs.state, self.target, self.address)
                    .map_err(|reason| reason.to_string())?,
            );
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
            cache_dir: self.asked.cache_dir.clone().unwrap_or_else(|| self.dirs.cache.clone()),
            address: self.address,
            sessions,
            keep_data,
            allow_server_changes: self.asked.allow_server_changes,
            promise: &make_promise,
        };
        control.tell(Event::Began { what: self.target.name(), after: Duration::ZERO });
        let opened = self.target.open(&setup, &mut |loading| {
            control.tell(Event::Loading(loading));
            !control.is_stopped()
        });
        control.tell(Event::Ended);
        let instance =
            opened.inspect_err(|_| give_up(self.target, self.address, promised.take(), control))?;
        Ok(Opened { instance, promise: promised.take() })
    }
}
