//! Converts command-line arguments to requests.

use hopcost_app::{
    DataRequest, DriveRequest, LoadRequest, ProbeRequest, Request, Scripts, SurveyRequest,
};
use hopcost_core::PageSize;
use hopcost_method::pace::StartsAsked;

use crate::args::{DataArgs, DriveArgs, ExperimentArgs, LoadArgs, ProbeArgs, SurveyArgs};

impl ExperimentArgs {
    pub fn request(&self) -> Request {
        Request {
            experiment: self.name.clone(),
            effort: self.effort.effort(),
            target: self.target.clone(),
            duckdb_lib: self.duckdb_lib.clone(),
            rows: self.scale,
            budget_s: self.budget,
            scripts: self.file.clone(),
            definitions: self.define.clone(),
            set: self.set.clone(),
            emulate: self.emulate.clone(),
            cache_dir: self.cache_dir.clone(),
            seed: self.seed,
            starts: self.starts.unwrap_or(StartsAsked::Usual),
            keep_data: self.keep_data,
            allow_server_changes: self.allow_server_changes,
            allow_machine_changes: self.allow_machine_changes,
        }
    }
}

impl ProbeArgs {
    pub fn request(&self) -> ProbeRequest {
        ProbeRequest {
            names: self.names.clone(),
            effort: self.effort.effort(),
            starts: self.starts.unwrap_or(StartsAsked::Usual),
            budget_s: self.budget,
            cpus: self.cpus.clone(),
            nodes: self.nodes.clone(),
            size_bytes: self.size,
            stride_bytes: self.stride,
            pages: self.pages.map(PageSize::from),
            log_dir: self.log_dir.clone(),
            seed: self.seed,
            allow_machine_changes: self.allow_machine_changes,
            store: self.store.clone(),
        }
    }
}

impl SurveyArgs {
    pub fn request(&self) -> SurveyRequest {
        SurveyRequest {
            budget_s: self.budget,
            emulate: self.emulate.clone(),
            cache_dir: self.cache_dir.clone(),
            seed: self.seed,
            page: self.html.clone(),
        }
    }
}

impl DataArgs {
    fn request(&self, target: &str) -> DataRequest {
        DataRequest {
            target: target.to_owned(),
            duckdb_lib: self.duckdb_lib.clone(),
            rows: self.scale,
            cache_dir: self.cache_dir.clone(),
            allow_server_changes: self.allow_server_changes,
            seed: self.seed,
        }
    }
}

impl LoadArgs {
    pub fn request(&self) -> LoadRequest {
        LoadRequest { dataset: self.dataset.clone(), data: self.data.request(&self.target) }
    }
}

impl DriveArgs {
    pub fn request(&self) -> DriveRequest {
        DriveRequest {
            data: self.data.request(&self.target),
            workload: self.workload.clone(),
            scripts: Scripts {
                files: self.own.file.clone(),
                builtins: self.own.builtin.clone(),
                definitions: self.own.define.clone(),
            },
            clients: self.clients,
            threads: self.threads,
            duration_s: self.duration,
            calls_per_s: self.rate,
            think_s: self.think,
            client_cpus: self.client_cpus.clone(),
            worker_cpus: self.worker_cpus.clone(),
        }
    }
}
