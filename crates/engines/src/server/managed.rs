//! Managed servers, one for each data placement.
//!
//! Method: data is loaded once and kept; each server gets a copy in its own directory, with a Unix
//! socket closed to other users. It starts on the CPUs of its data's node, so that first touch
//! places its memory there; a node without CPUs is bound instead.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use hopcost_core::{Code, DataPlacement, Instance, Policy, Setup, TargetError};
use hopcost_sys::child::{self, Stop};

use super::super::{Heard, data_words, homes_of, say, wanted, words_of};
use super::account::Account;
use super::address::{Address, Managed, PATIENCE, Place, Tls};
use super::cluster::Cluster;
use super::copy::{Levels, Reached, ServerCopy};
use super::loader::Loader;
use super::memory::place_of;
use super::process::Process;
use super::run_directory::{RunDirectory, keep};
use super::tables::{Tables, data_bytes, digest};
use super::version::numbers;
use super::wire::Wire;

#[derive(Clone, Debug)]
pub struct Programs {
    pub directory: PathBuf,
    pub version: String,
    pub account: Account,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Loading, which is repeated if it fails.
    Load,
    Serve(DataPlacement),
}

pub struct Start<'a> {
    pub programs: &'a Programs,
    pub setup: &'a Setup<'a>,
    pub purpose: Purpose,
    pub data: &'a Path,
    /// The directory for its socket and logs.
    pub beside: &'a Path,
    pub memory_mib: u64,
}

pub type ServerSetting = (&'static str, String);

pub trait Housing: Levels + Tables {
    /// The users it may run as if hopcost is root; the first that exists is taken.
    const USERS: &'static [&'static str];
    /// How it is stopped when hopcost ends, and when its data is loaded.
    const STOPS: [Stop; 2];
    /// The superuser, and the database to connect to.
    const LOGIN: [&'static str; 2];
    const MEMORY_STEP_MIB: u64 = 1;

    fn directories(&self) -> Vec<PathBuf>;

    /// The version of the programs in a directory; `None` if any is missing.
    fn version_in(&self, directory: &Path) -> Option<String>;

    fn missing(&self, wanted: &str, there: &str) -> String;

    fn create(&self, programs: &Programs, data: &Path) -> Result<(), TargetError>;

    fn command(&self, start: &Start<'_>) -> Command;

    /// Appends a setting; the last of the same name counts.
    fn set(command: &mut Command, name: &str, value: &str);

    fn socket(beside: &Path) -> PathBuf;

    fn make_ready(&self, wire: &mut Self::Wire) -> Result<(), TargetError>;

    fn before_stop(&self, _wire: &mut Self::Wire) -> Result<(), TargetError> {
        Ok(())
    }

    fn about_memory(&self, copy: &ServerCopy<Self>, mib: u64, times: u64) -> String;
}

pub fn open<D: Housing>(
    dialect: D,
    managed: &Managed,
    setup: &Setup<'_>,
    heard: &mut Heard<'_>,
) -> Result<Box<dyn Instance>, TargetError> {
    let dialect = Arc::new(dialect);
    let profile = dialect.profile();
    let programs = find(&*dialect, managed)?;
    let home = programs.account.home(&setup.cache_dir, profile.scheme)?;
    let house = House { dialect: &dialect, managed, setup, programs: &programs, home: &home };
    let kept = house.ensure(heard)?;
    let homes = homes_of(setup);
    let mut copies = Vec::new();
    for (n, home) in homes.iter().enumerate() {
        let at = words_of(*home);
        say(heard, &format!("starting a server{at}"), n as f64 / homes.len() as f64)?;
        copies.push(house.start(&kept, *home)?);
    }
    let mib = house.memory_mib(Purpose::Load);
    let times = homes.iter().map(|home| house.times(*home)).max().unwrap_or(1);
    let settings = managed.settings.iter().map(|(name, value)| format!(", {name} = {value}"));
    let identity = format!(
        "{} {}, a server of hopcost's own, {}{}; {}",
        profile.name,
        copies[0].admin().version(),
        dialect.about_memory(&copies[0], mib, times),
        settings.collect::<String>(),
        data_words(setup)
    );
    Ok(Box::new(Cluster::new(setup, dialect, copies, identity)))
}

fn find<D: Housing>(dialect: &D, managed: &Managed) -> Result<Programs, TargetError> {
    let directories =
        managed.programs.clone().map_or_else(|| dialect.directories(), |directory| vec![directory]);
    let version = |directory: PathBuf| {
        let version = dialect.version_in(&directory)?;
        Some((numbers(&version), version, directory))
    };
    let mut found: Vec<_> = directories.into_iter().filter_map(version).collect();
    found.sort();
    let wanted = managed.version.as_deref();
    let is_wanted = |of: &[u32]| wanted.is_none_or(|wanted| of.starts_with(&numbers(wanted)));
    let mut there: Vec<&str> = found.iter().map(|(_, version, _)| version.as_str()).collect();
    there.dedup();
    let there = match there.as_slice() {
        [] => "none is installed here".to_owned(),
        there => format!("here there is {}", there.join(", ")),
    };
    let chosen = found.iter().rev().find(|(numbers, ..)| is_wanted(numbers));
    let Some((_, version, directory)) = chosen.cloned() else {
        let wanted = wanted.map_or(String::new(), |version| format!(" {version}"));
        let words = dialect.missing(&wanted, &there);
        return Err(TargetError::NotHere(Code::ProgramMissing.because(words)));
    };
    let account = Account::of_server(dialect.profile().name, D::USERS)?;
    Ok(Programs { directory, version, account })
}

struct House<'a, D> {
    dialect: &'a Arc<D>,
    managed: &'a Managed,
    setup: &'a Setup<'a>,
    programs: &'a Programs,
    home: &'a Path,
}

impl<D: Housing> House<'_, D> {
    fn ensure(&self, heard: &mut Heard<'_>) -> Result<PathBuf, TargetError> {
        let path = self.home.join(self.name());
        if path.is_dir() {
            return Ok(path);
        }
        let Programs { account, version, .. } = self.programs;
        let directory = RunDirectory::take_for_sockets(account, self.home)?;
        let data = directory.path().join("data");
        say(heard, "making an empty database", 0.0)?;
        let empty = self.home.join(format!("{version}-empty"));
        let create = |data: &Path| self.dialect.create(self.programs, data);
        directory.create_database(account, &empty, &data, create)?;
        let (process, address) =
            self.serve(Purpose::Load, &data, &directory, &child::Place::default())?;
        let nowhere = Address { database: String::new(), ..address.clone() };
        let mut wire =
            D::Wire::connect(if D::LOGIN[1] == super::DATABASE { &nowhere } else { &address })?;
        self.dialect.make_ready(&mut wire)?;
        if let Some(dataset) = self.setup.dataset {
            let loader =
                Loader { dialect: &**self.dialect, address: &address, enters: false, dataset };
            loader.load(&wanted(self.setup), heard)?;
        }
        self.dialect.before_stop(&mut wire)?;
        drop(wire);
        process.stop(D::STOPS[1])?;
        keep(&data, &path)?;
        Ok(path)
    }

    fn start(&self, kept: &Path, home: DataPlacement) -> Result<ServerCopy<D>, TargetError> {
        let directory = RunDirectory::take_for_sockets(&self.programs.account, self.home)?;
        let data = directory.path().join("data");
        self.programs.account.copy(kept, &data)?;
        let place = place_of(self.setup, home);
        let (process, address) = self.serve(Purpose::Serve(home), &data, &directory, &place)?;
        let admin = D::Wire::connect(&address)?;
        let reached = Reached { address, admin, enters: false, own: Some((process, directory)) };
        ServerCopy::of(self.dialect, reached, home, self.setup)
    }

    fn serve(
        &self,
        purpose: Purpose,
        data: &Path,
        directory: &RunDirectory,
        place: &child::Place,
    ) -> Result<(Process, Address), TargetError> {
        let beside = directory.path();
        let memory_mib = self.memory_mib(purpose);
        let mut command = self.dialect.command(&Start {
            programs: self.programs,
            setup: self.setup,
            purpose,
            data,
            beside,
            memory_mib,
        });
        for (name, value) in &self.managed.settings {
            D::set(&mut command, name, value);
        }
        command.current_dir(beside);
        let profile = self.dialect.profile();
        let process =
            Process::start(profile.name, command, place, &beside.join("log"), D::STOPS[0])?;
        let [user, database] = D::LOGIN.map(str::to_owned);
        let address = Address {
            scheme: profile.scheme,
            place: Place::Unix(D::socket(beside)),
            port: 5432,
            user,
            password: None,
            database,
            tls: Tls::Disable,
            tls_at_once: None,
            root_certificates: None,
            wait: self.managed.wait,
            patience: PATIENCE,
            own: BTreeMap::new(),
        };
        let anywhere = Address { database: String::new(), ..address.clone() };
        let to = if D::LOGIN[1] == super::DATABASE { &anywhere } else { &address };
        let answers = || D::Wire::connect(to).map(drop).map_err(|error| error.to_string());
        Ok((process.be_ready(answers)?, address))
    }

    /// A quarter more than the data.
    fn memory_mib(&self, purpose: Purpose) -> u64 {
        let bytes = data_bytes::<D>(self.setup);
        let mib = ((bytes + bytes / 4 + (128 << 20)) >> 20).next_multiple_of(D::MEMORY_STEP_MIB);
        match purpose {
            Purpose::Load => mib,
            Purpose::Serve(home) => mib * self.times(home),
        }
    }

    /// A server compared with one server per node gets the memory of all of these.
    fn times(&self, home: DataPlacement) -> u64 {
        let is_on_one = |home: &&DataPlacement| home.copy.policy == Some(Policy::PerNode);
        match home.copy.policy {
            Some(Policy::Interleave) => {
                self.setup.homes.iter().filter(is_on_one).count().max(1) as u64
            }
            _ => 1,
        }
    }

    /// The same name means the same data.
    fn name(&self) -> String {
        let dataset = self.setup.dataset.map_or("nothing", |dataset| dataset.name());
        let (version, rows) = (&self.programs.version, self.setup.shape.rows);
        format!("{version}-{dataset}-{rows}-{:016x}", digest::<D>(self.setup))
    }
}
