//! Servers of our own, one for each home of the data.

use std::path::{Path, PathBuf};

use hopcost_core::{DataPlacement, Instance, Policy, Setup, TargetError};
use hopcost_sys::child::{self, Stop};

use super::super::remote::address::{Address, Managed, PATIENCE, Place, Tls};
use super::super::remote::failed;
use super::super::remote::ground::place_of;
use super::super::remote::process::Process;
use super::super::remote::quarters::{Quarters, keep};
use super::super::{Heard, data_words, homes_of, say, wanted, with_commas, words_of};
use super::DATABASE;
use super::instance::{Cluster, Copy};
use super::load::Loader;
use super::programs::{Flavour, Programs};
use super::schema;
use super::wire::Wire;

/// Sessions beside those of the experiment.
const OWN_SESSIONS: u32 = 8;
/// What it writes down of statements, and of how they were done.
const GENERAL_LOG: &str = "statements";
const SLOW_LOG: &str = "details";

/// Brings the servers up.
pub fn open(
    flavour: Flavour,
    managed: &Managed,
    setup: &Setup<'_>,
    heard: &mut Heard<'_>,
) -> Result<Box<dyn Instance>, TargetError> {
    let programs = Programs::find(flavour, managed)?;
    let home = programs.account.home(&setup.cache_dir, flavour.scheme())?;
    let loading = Loading { managed, setup, programs: &programs, home: &home };
    let kept = loading.ensure(heard)?;
    let homes = homes_of(setup);
    let mut copies = Vec::new();
    for (n, home) in homes.iter().enumerate() {
        let at = words_of(*home);
        say(heard, &format!("starting a server{at}"), n as f64 / homes.len() as f64)?;
        copies.push(loading.start(&kept, *home)?);
    }
    let pool = with_commas(loading.pool_mib(DataPlacement::default()));
    let identity = format!(
        "{} {}, a server of hopcost's own, {pool} MiB of buffer pool{}; {}",
        flavour.name(),
        copies[0].version(),
        loading.own_settings(),
        data_words(setup)
    );
    Ok(Box::new(Cluster::new(setup, copies, identity)))
}

struct Loading<'a> {
    managed: &'a Managed,
    setup: &'a Setup<'a>,
    programs: &'a Programs,
    home: &'a Path,
}

/// A setting of the server's: its name as an option, and its value.
type Setting<'a> = (&'a str, &'a str);

/// What is not to outlive the loading.
const WHILE_LOADING: &[Setting<'_>] = &[
    ("innodb-flush-log-at-trx-commit", "0"),
    ("loose-innodb-doublewrite", "OFF"),
    ("innodb-autoinc-lock-mode", "2"),
];

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
        let create = |data: &Path| self.programs.create(data);
        quarters.create_database(&self.programs.account, &empty, &data, create)?;
        let place = child::Place::default();
        let (process, address) =
            self.serve(&data, &quarters, DataPlacement::default(), WHILE_LOADING, &place)?;
        let mut wire = Wire::connect(&Address { database: String::new(), ..address.clone() })
            .map_err(failed)?;
        wire.query(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}")).map_err(failed)?;
        if let Some(dataset) = self.setup.dataset {
            Loader { address: &address, dataset }.load(&wanted(self.setup), heard)?;
        }
        // All that is changed is written down, so that a copy has nothing to make good.
        wire.query("SET GLOBAL innodb_fast_shutdown = 0").map_err(failed)?;
        drop(wire);
        process.stop(Stop::Politely)?;
        keep(&data, &path)?;
        Ok(path)
    }

    /// A server on a copy of the data, in its home.
    fn start(&self, kept: &Path, home: DataPlacement) -> Result<Copy, TargetError> {
        let quarters = Quarters::take_for_sockets(&self.programs.account, self.home)?;
        let data = quarters.path().join("data");
        self.programs.account.copy(kept, &data)?;
        let place = place_of(self.setup, home);
        let (process, address) = self.serve(&data, &quarters, home, &[], &place)?;
        let logs = [GENERAL_LOG, SLOW_LOG].map(|name| quarters.path().join(name));
        Copy::own(address, (process, quarters), logs, home, self.setup)
    }

    /// Starts a server, and waits until it answers.
    fn serve(
        &self,
        data: &Path,
        quarters: &Quarters,
        home: DataPlacement,
        more: &[Setting<'_>],
        place: &child::Place,
    ) -> Result<(Process, Address), TargetError> {
        let beside = quarters.path();
        let socket = beside.join("socket");
        let mut command = self.programs.server();
        // Packages set some of these to directories that they make when they are installed whole.
        for (name, path) in [
            ("datadir", data),
            ("socket", &socket),
            ("tmpdir", beside),
            ("secure-file-priv", beside),
        ] {
            command.arg(format!("--{name}={}", path.display()));
        }
        command.arg(format!("--general-log-file={}", beside.join(GENERAL_LOG).display()));
        command.arg(format!("--slow-query-log-file={}", beside.join(SLOW_LOG).display()));
        command.arg("--skip-log-bin");
        command.arg(format!("--pid-file={}", beside.join("pid").display()));
        for (name, value) in
            self.settings(home).iter().map(|(n, v)| (*n, v.as_str())).chain(more.iter().copied())
        {
            command.arg(format!("--{name}={value}"));
        }
        for (name, value) in &self.managed.settings {
            command.arg(format!("--{name}={value}"));
        }
        command.current_dir(beside);
        let name = self.programs.flavour.name();
        let process = Process::start(name, command, place, &beside.join("log"), Stop::Killed)?;
        let address = Address {
            scheme: self.programs.flavour.scheme(),
            place: Place::Unix(socket),
            port: 3306,
            user: "root".to_owned(),
            password: None,
            database: DATABASE.to_owned(),
            tls: Tls::Disable,
            tls_at_once: None,
            root_certificates: None,
            wait: self.managed.wait,
            patience: PATIENCE,
        };
        let to_anywhere = Address { database: String::new(), ..address.clone() };
        let answers = || Wire::connect(&to_anywhere).map(|_| ()).map_err(|error| error.to_string());
        Ok((process.be_ready(answers)?, address))
    }

    /// What all of our servers have. What only one of the two knows is loose.
    fn settings(&self, home: DataPlacement) -> Vec<(&'static str, String)> {
        let pool = format!("{}M", self.pool_mib(home));
        let connections = (self.setup.sessions + OWN_SESSIONS).to_string();
        let heap = (2 * super::data_bytes(self.setup)).max(64 << 20).to_string();
        [
            ("log-output", "FILE"),
            ("skip-networking", "ON"),
            ("skip-name-resolve", "ON"),
            ("local-infile", "ON"),
            ("max-connections", &connections),
            // A thread's place is its connection's: another one is not to find itself there.
            ("thread-cache-size", "0"),
            ("loose-thread-handling", "one-thread-per-connection"),
            ("loose-mysqlx", "OFF"),
            ("performance-schema", "ON"),
            ("character-set-server", "utf8mb4"),
            ("collation-server", "utf8mb4_bin"),
            // Everything is in memory, in one piece, and nothing is to happen but what is asked for.
            ("innodb-buffer-pool-size", &pool),
            ("loose-innodb-buffer-pool-instances", "1"),
            ("loose-innodb-buffer-pool-chunk-size", &pool),
            ("innodb-buffer-pool-dump-at-shutdown", "OFF"),
            ("innodb-buffer-pool-load-at-startup", "OFF"),
            ("innodb-stats-auto-recalc", "OFF"),
            ("loose-innodb-redo-log-capacity", "256M"),
            ("loose-innodb-log-writer-threads", "ON"),
            ("max-heap-table-size", &heap),
        ]
        .into_iter()
        .map(|(name, value)| (name, value.to_owned()))
        .chain(self.log_size())
        .collect()
    }

    /// MySQL says it otherwise from 8.0.30 on.
    fn log_size(&self) -> Option<(&'static str, String)> {
        let is_mariadb = self.programs.flavour == Flavour::MariaDb;
        is_mariadb.then(|| ("innodb-log-file-size", "256M".to_owned()))
    }

    fn own_settings(&self) -> String {
        let settings = self.managed.settings.iter();
        settings.map(|(name, value)| format!(", {name} = {value}")).collect()
    }

    fn pool_mib(&self, home: DataPlacement) -> u64 {
        let bytes = super::data_bytes(self.setup);
        self.shared_of(home) * ((bytes + bytes / 4 + (128 << 20)) >> 20).next_multiple_of(64)
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
