//! A process with the library and all data, from the client's side.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hopcost_core::{Code, DataPlacement, Dataset, Filling, Setup, Statement, TargetError};
use hopcost_sys::child::Stop;
use hopcost_sys::memory::Foreign;

use super::super::server::account::Account;
use super::super::server::memory::{ServerMemory, place_of};
use super::super::server::open_connections::OpenConnections;
use super::super::server::process::Process;
use super::super::server::run_directory::RunDirectory;
use super::super::server::{failed, first_arguments};
use super::super::{Heard, say, words_of};
use super::library::LibraryInfo;
use super::protocol::{Asked, LOADING, Order, READY};
use super::wire::Wire;

/// `process` is declared before `_directory`, so it ends before the directory is removed.
pub struct HostedCopy {
    info: &'static LibraryInfo,
    pub process: Process,
    socket: PathBuf,
    pub version: String,
    pub memory: Option<ServerMemory>,
    pub home: DataPlacement,
    pub lines: OpenConnections,
    _directory: RunDirectory,
}

impl HostedCopy {
    pub fn start(
        info: &'static LibraryInfo,
        file: &Path,
        setup: &Setup<'_>,
        home: DataPlacement,
        heard: &mut Heard<'_>,
    ) -> Result<Self, TargetError> {
        let account = Account::OURSELVES;
        let below = account.home(&setup.cache_dir, info.scheme)?;
        let directory = RunDirectory::take(&account, &below)?;
        let socket = directory.path().join("socket");
        let spec = setup.spec();
        let asked = |(statement, example): (&Statement, _)| {
            let Statement { name, sql, arguments, .. } = *statement;
            Asked { name: name.to_owned(), sql: sql.to_owned(), arguments, example }
        };
        let examples = first_arguments(setup);
        let order = Order {
            file: file.to_owned(),
            dataset: setup.dataset.map(Dataset::name).map(str::to_owned),
            rows: setup.shape.rows,
            tables: setup.workload.info().tables.iter().map(|&name| name.to_owned()).collect(),
            statements: spec.statements.iter().zip(examples).map(asked).collect(),
            load: spec.effect.filling().map(Filling::rows_a_call),
            socket: socket.clone(),
        };
        let order = serde_json::to_string(&order).map_err(|error| info.failed(&error))?;
        let program = std::env::current_exe().map_err(|error| info.failed(&error))?;
        let mut command = Command::new(program);
        command.args([info.hidden_word(), order]).stdin(Stdio::null()).stdout(Stdio::piped());
        let (place, log) = (place_of(setup, home), directory.path().join("log"));
        let mut process = Process::start(info.name, command, &place, &log, Stop::Killed)?;
        let version = loaded(info, &mut process, home, heard)?;
        let memory = Foreign::private(process.pid()).ok().flatten();
        let memory = memory.map(|memory| ServerMemory::anywhere(memory, None).at(setup, home));
        let lines = OpenConnections::default();
        Ok(Self { info, process, socket, version, memory, home, lines, _directory: directory })
    }

    /// Opens a session; also returns the kernel's id of the thread that serves it.
    pub fn enter(&self) -> Result<(Wire, u32), TargetError> {
        let wire = Wire::connect(self.info.name, &self.socket);
        let mut wire = wire.map_err(|error| self.info.failed(&error))?;
        self.lines.add(wire.channel.line(), 0);
        let thread = wire.reply().map_err(failed)?;
        Ok((wire, thread))
    }
}

fn loaded(
    info: &LibraryInfo,
    process: &mut Process,
    home: DataPlacement,
    heard: &mut Heard<'_>,
) -> Result<String, TargetError> {
    let said = process.take_output().map(BufReader::new);
    for line in said.into_iter().flat_map(BufRead::lines) {
        let line = line.map_err(|error| info.failed(&error))?;
        if let Some(version) = line.strip_prefix(READY) {
            return Ok(version.to_owned());
        }
        let at = line.strip_prefix(LOADING).and_then(|rest| rest.split_once(' '));
        if let Some((share, table)) = at {
            let what = format!("{table}{}", words_of(home));
            say(heard, &what, share.parse().unwrap_or(0.0))?;
        }
    }
    Err(TargetError::NotHere(Code::ProgramMissing.because(process.last_words())))
}
