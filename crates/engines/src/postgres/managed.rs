//! Servers of our own, one for each home of the data.

use std::path::{Path, PathBuf};

use hopcost_core::{Code, DataPlacement, Instance, Policy, Setup, TargetError};
use hopcost_sys::child::Place;

use super::super::remote::address::Managed;
use super::super::remote::failed;
use super::super::remote::ground::place_of;
use super::super::remote::quarters::{Quarters, keep};
use super::super::{Heard, data_words, homes_of, say, wanted, with_commas, words_of};
use super::instance::{Cluster, Copy};
use super::load::Loader;
use super::programs::Programs;
use super::schema;
use super::server::{self, Server, Start};
use super::statistics::TIMES_ITS_LOG;
use super::wire::Wire;

/// Sessions beside those of the experiment: the one that looks after it, the one that samples waits.
const OWN_SESSIONS: u32 = 8;

/// Parallel workers at one time, in all sessions.
const MOST_WORKERS: &str = "128";

/// Brings the servers up.
pub fn open(
    managed: &Managed,
    setup: &Setup<'_>,
    heard: &mut Heard<'_>,
) -> Result<Box<dyn Instance>, TargetError> {
    let programs = Programs::find(managed)?;
    let home = programs.account.home(&setup.cache_dir, "postgres")?;
    let loading = Loading { managed, setup, programs: &programs, home: &home };
    let kept = loading.ensure(heard)?;
    let homes = homes_of(setup);
    let mut copies = Vec::new();
    for (n, home) in homes.iter().enumerate() {
        let at = words_of(*home);
        say(heard, &format!("starting a server{at}"), n as f64 / homes.len() as f64)?;
        copies.push(loading.start(&kept, *home)?);
    }
    let shared_buffers = with_commas(loading.shared_buffers_mib(DataPlacement::default()));
    let all_nodes = homes.iter().map(|home| loading.shared_of(*home)).max().unwrap_or(1);
    let more = if all_nodes > 1 {
        format!(" ({all_nodes} times as much of the one on all nodes)")
    } else {
        String::new()
    };
    let identity = format!(
        "PostgreSQL {}, a server of hopcost's own, {shared_buffers} MiB of shared buffers{more}, \
         {}{}; {}",
        copies[0].version(),
        copies[0].pages(),
        loading.own_settings(),
        data_words(setup)
    );
    Ok(Box::new(Cluster::new(setup, copies, identity)?))
}

struct Loading<'a> {
    managed: &'a Managed,
    setup: &'a Setup<'a>,
    programs: &'a Programs,
    home: &'a Path,
}

impl Loading<'_> {
    /// The loaded data, from an earlier run or made now.
    fn ensure(&self, heard: &mut Heard<'_>) -> Result<PathBuf, TargetError> {
        let path = self.home.join(self.name());
        if path.is_dir() {
            return Ok(path);
        }
        let quarters = Quarters::take_for_sockets(&self.programs.account, self.home)?;
        let data = quarters.path().join("data");
        say(heard, "making an empty database", 0.0)?;
        let empty = self.home.join(format!("{}-empty", self.programs.version));
        let create = |data: &Path| server::create(self.programs, data);
        quarters.create_database(&self.programs.account, &empty, &data, create)?;
        let settings = self.settings(&[
            ("fsync", "off"),
            ("synchronous_commit", "off"),
            ("maintenance_work_mem", "512MB"),
            ("max_wal_size", "16GB"),
            ("checkpoint_timeout", "1d"),
            ("autovacuum", "off"),
        ]);
        let server = Server::start(&Start {
            programs: self.programs,
            data: &data,
            beside: quarters.path(),
            settings: &settings,
            place: Place::default(),
            wait: self.managed.wait,
        })?;
        let mut wire = Wire::connect(&server.address).map_err(failed)?;
        wire.query("CREATE EXTENSION pg_prewarm").map_err(|error| {
            TargetError::NotHere(Code::ProgramMissing.because(format!(
                "PostgreSQL's extension pg_prewarm is needed to warm it: install its contrib \
                         package ({error})"
            )))
        })?;
        if let Some(dataset) = self.setup.dataset {
            let loader = Loader { address: &server.address, greeting: "", dataset };
            loader.load(&wanted(self.setup), heard)?;
        }
        drop(wire);
        server.stop()?;
        keep(&data, &path)?;
        Ok(path)
    }

    /// A server on a copy of the data, in its home.
    fn start(&self, kept: &Path, home: DataPlacement) -> Result<Copy, TargetError> {
        let quarters = Quarters::take_for_sockets(&self.programs.account, self.home)?;
        let data = quarters.path().join("data");
        self.programs.account.copy(kept, &data)?;
        let shared_buffers = format!("{}MB", self.shared_buffers_mib(home));
        let connections = (self.setup.sessions + OWN_SESSIONS).to_string();
        // Two readings of the clock for each write and flush of the log, which takes a thousand times as long.
        let can_time = self.programs.major() >= TIMES_ITS_LOG;
        let timed: &[_] = if can_time { &[("track_wal_io_timing", "on")] } else { &[] };
        let settings = [
            ("shared_buffers", shared_buffers.as_str()),
            ("max_connections", &connections),
            // Everything is in memory, and nothing is to happen but what is asked for.
            ("random_page_cost", "1.1"),
            ("work_mem", "64MB"),
            ("jit", "off"),
            ("max_parallel_workers_per_gather", "0"),
            // For experiments whose sessions ask for some.
            ("max_worker_processes", MOST_WORKERS),
            ("max_parallel_workers", MOST_WORKERS),
            ("autovacuum", "off"),
            ("bgwriter_lru_maxpages", "0"),
            ("checkpoint_timeout", "1d"),
            ("max_wal_size", "16GB"),
        ];
        let settings = self.settings(&[timed, &settings].concat());
        let place = place_of(self.setup, home);
        let server = Server::start(&Start {
            programs: self.programs,
            data: &data,
            beside: quarters.path(),
            settings: &settings,
            place,
            wait: self.managed.wait,
        })?;
        Copy::own(server, quarters, home, self.setup)
    }

    /// What all of our servers have, then `more`, then what the user wants.
    fn settings(&self, more: &[(&str, &str)]) -> Vec<(String, String)> {
        let ours = [
            ("listen_addresses", ""),
            ("unix_socket_permissions", "0700"),
            ("wal_level", "minimal"),
            ("max_wal_senders", "0"),
            ("logging_collector", "off"),
            ("log_checkpoints", "off"),
        ];
        let ours = ours.iter().chain(more);
        let ours = ours.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let users = self.managed.settings.iter().map(|(name, value)| (name.clone(), value.clone()));
        ours.chain(users).collect()
    }

    fn own_settings(&self) -> String {
        let settings = self.managed.settings.iter();
        settings.map(|(name, value)| format!(", {name} = {value}")).collect()
    }

    fn shared_buffers_mib(&self, home: DataPlacement) -> u64 {
        let bytes = super::data_bytes(self.setup);
        self.shared_of(home) * ((bytes + bytes / 4 + (128 << 20)) >> 20)
    }

    /// The one server that is compared with one on each node has the memory of all of these.
    fn shared_of(&self, home: DataPlacement) -> u64 {
        let is_on_one = |home: &&DataPlacement| home.copy.policy == Some(Policy::PerNode);
        match home.copy.policy {
            Some(Policy::Interleave) => {
                self.setup.homes.iter().filter(is_on_one).count().max(1) as u64
            }
            _ => 1,
        }
    }

    /// Data of the same name is the same.
    fn name(&self) -> String {
        let dataset = self.setup.dataset.map_or("nothing", |dataset| dataset.name());
        let (version, rows) = (&self.programs.version, self.setup.shape.rows);
        format!("{version}-{dataset}-{rows}-{:016x}", schema::digest(self.setup))
    }
}
