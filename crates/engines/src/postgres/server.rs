//! A server of our own: started in a chosen place, asked to stop at the end, gone with us.
//!
//! Method: it runs in the foreground as a child of ours, in a directory of its own, reachable by a Unix
//! socket that nobody else can reach. It begins on the CPUs of the node where its data is to be, so that
//! what it and the process that warms it touch first lies there; a node without CPUs is bound instead.
//! Afterwards each connection's process is pinned on its own.

use std::path::Path;

use hopcost_core::TargetError;
use hopcost_sys::child::{self, Stop};

use super::super::remote::account::done;
use super::super::remote::address::{Address, PATIENCE, Place, Tls, Wait};
use super::super::remote::process::Process;
use super::programs::Programs;
use super::wire::Wire;

/// The user and owner of everything in it.
const USER: &str = "hopcost";

/// A server that runs.
pub struct Server {
    process: Process,
    /// How it is reached.
    pub address: Address,
}

/// How a server is to be started.
pub struct Start<'a> {
    pub programs: &'a Programs,
    /// Its data.
    pub data: &'a Path,
    /// A directory for its socket and its log.
    pub beside: &'a Path,
    /// `-c name=value`, the last one counts.
    pub settings: &'a [(String, String)],
    pub place: child::Place,
    pub wait: Wait,
}

impl Server {
    /// Starts it, and waits until it answers.
    pub fn start(start: &Start<'_>) -> Result<Self, TargetError> {
        let mut command = start.programs.command("postgres");
        command.arg("-D").arg(start.data).current_dir(start.beside);
        let socket = ("unix_socket_directories".to_owned(), start.beside.display().to_string());
        for (name, value) in start.settings.iter().chain([&socket]) {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        let address = Address {
            scheme: "postgres",
            place: Place::Unix(start.beside.to_owned()),
            port: 5432,
            user: USER.to_owned(),
            password: None,
            database: "postgres".to_owned(),
            tls: Tls::Disable,
            tls_at_once: None,
            root_certificates: None,
            wait: start.wait,
            patience: PATIENCE,
        };
        let log = start.beside.join("log");
        let process = Process::start("PostgreSQL", command, &start.place, &log, Stop::AtOnce)?;
        let answers = || Wire::connect(&address).map(|_| ()).map_err(|error| error.to_string());
        let process = process.be_ready(answers)?;
        Ok(Self { process, address })
    }

    /// Where it writes what it has to say.
    pub fn log(&self) -> &Path {
        self.process.log()
    }

    /// Has it written everything down, and ended?
    pub fn stop(self) -> Result<(), TargetError> {
        self.process.stop(Stop::Soon)
    }
}

/// An empty database cluster, whose text is ordered by its bytes.
pub fn create(programs: &Programs, data: &Path) -> Result<(), TargetError> {
    let mut command = programs.command("initdb");
    command.arg("-D").arg(data).args(["-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C"]);
    command.args(["--no-sync", "--no-instructions"]);
    command.current_dir(data.parent().unwrap_or(Path::new(".")));
    done(&mut command, "initdb")
}
