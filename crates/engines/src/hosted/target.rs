//! A library as a target.

use std::path::Path;

use hopcost_core::{
    Capabilities, Code, Emulation, Instance, Loading, Metric, Needs, Reason, Setup, Target,
    TargetError,
};

use super::super::{SAMPLES, Wanted, data_bytes, samples, untold_of_nodes};
use super::instance;
use super::library::{Library, LibraryInfo};
use super::work::Values;

pub struct Hosted(pub &'static dyn Library);

impl Target for Hosted {
    #[allow(clippy::misnamed_getters)] // a target's name is what its URL begins with
    fn name(&self) -> &'static str {
        self.0.info().scheme
    }

    fn about(&self) -> &'static str {
        self.0.info().about
    }

    fn is_in_process(&self) -> bool {
        false
    }

    fn address(&self, given: &str) -> Result<String, Reason> {
        file_in(self.0.info(), given).map(|_| given.to_owned())
    }

    fn capabilities(&self, _address: &str) -> Capabilities {
        self.0.info().capabilities
    }

    fn untold(&self, metric: Metric, emulation: Option<&Emulation>) -> Option<Reason> {
        let pages = format!("all pages of {}'s", self.0.info().name);
        untold_of_nodes(metric, emulation, &pages)
    }

    fn needs(&self, setup: &Setup<'_>) -> Needs {
        let info = self.0.info();
        let bytes = data_bytes(setup, |dataset, Wanted { index, table }| {
            let values = Values::of(dataset, *index, samples(table));
            table.rows * values.bytes() / SAMPLES.min(table.rows).max(1)
        });
        Needs {
            home_bytes: bytes + bytes / 8 + info.process_bytes,
            stream_bytes: setup.spec().scratch_bytes + info.session_bytes,
            disk_bytes: 0,
        }
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        setup.accepted_by(self)?;
        let info = self.0.info();
        let given = file_in(info, setup.address);
        let given = given.map_err(|reason| TargetError::Failed(reason.to_string()))?;
        let file = info.find(given).map_err(TargetError::NotHere)?;
        instance::open(info, &file, setup, heard)
    }
}

/// Parses `lib=FILE` or an empty address.
fn file_in<'a>(info: &LibraryInfo, address: &'a str) -> Result<Option<&'a Path>, Reason> {
    match address.split_once('=') {
        None if address.is_empty() => Ok(None),
        Some(("lib", file)) if !file.is_empty() => Ok(Some(Path::new(file))),
        _ => Err(Code::BadUrl.because(format!(
            "'{address}' says nothing to {}: write {scheme}: or {scheme}:lib=FILE",
            info.name,
            scheme = info.scheme
        ))),
    }
}
