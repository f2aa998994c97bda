//! A kind of server as a target: one of hopcost's own, or one that runs.

use hopcost_core::{
    Capabilities, Console, Emulation, Instance, Loading, Metric, Needs, Reason, Rows, Setup,
    Target, TargetError,
};

use super::address::{Address, Asked, Environment, is_of_running};
use super::attached::{self, Home};
use super::dialect::Profile;
use super::managed::{self, Housing};
use super::tables::data_bytes;
use super::wire::{Wire, WireError};

/// A kind of server that hopcost can start itself.
pub trait Kind: Sync {
    type Dialect: Home + Housing;
    /// What a session takes, and what a server takes beside its data.
    const BYTES: [u64; 2];

    fn profile(&self) -> &'static Profile;

    /// What it is, in one line.
    fn about(&self) -> &'static str;

    /// Reads the part of a URL after the name.
    fn read(&self, rest: &str, environment: Environment<'_>) -> Result<Asked, Reason>;

    /// What one that runs can do.
    fn running(&self) -> Capabilities;

    /// What one of hopcost's own can do.
    fn managed(&self) -> Capabilities;

    /// For a run, or for whoever clears up after one.
    fn dialect(&self, setup: Option<&Setup<'_>>) -> Result<Self::Dialect, TargetError>;
}

/// A kind of server.
pub struct Server<K>(pub K);

impl<K: Kind> Server<K> {
    fn asked(&self, given: &str) -> Result<Asked, Reason> {
        self.0.read(given, &|name| std::env::var(name).ok())
    }
}

impl<K: Kind> Target for Server<K> {
    #[allow(clippy::misnamed_getters)] // a target's name is what its URL begins with
    fn name(&self) -> &'static str {
        self.0.profile().scheme
    }

    fn about(&self) -> &'static str {
        self.0.about()
    }

    fn is_in_process(&self) -> bool {
        false
    }

    fn address(&self, given: &str) -> Result<String, Reason> {
        self.asked(given).map(|asked| asked.to_string())
    }

    fn forms(&self) -> &'static [&'static str] {
        &["managed", "//user@host/"]
    }

    fn capabilities(&self, address: &str) -> Capabilities {
        if is_of_running(address) { self.0.running() } else { self.0.managed() }
    }

    fn untold(&self, metric: Metric, emulation: Option<&Emulation>) -> Option<Reason> {
        let pages = format!("all pages of {}'s", self.0.profile().name);
        super::super::untold_of_nodes(metric, emulation, &pages)
    }

    fn clear(&self, address: &str) -> Result<String, Reason> {
        let Asked::Running(address) = self.asked(address)? else { return Ok("nothing".to_owned()) };
        let dialect = self.0.dialect(None);
        attached::clear(
            &dialect.map_err(|error| error.code().because(error.to_string()))?,
            &address,
        )
    }

    fn needs(&self, setup: &Setup<'_>) -> Needs {
        let bytes = data_bytes::<K::Dialect>(setup);
        let copies = setup.homes.len().max(1) as u64;
        let [session, server] = K::BYTES;
        Needs {
            // What is free is touched, too, in servers that tell where it is.
            home_bytes: bytes + bytes / 4 + server,
            stream_bytes: setup.spec().scratch_bytes + session,
            disk_bytes: (bytes + server) * (copies + 1),
        }
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        let asked =
            self.asked(setup.address).map_err(|reason| TargetError::Failed(reason.to_string()))?;
        setup.accepted_by(self)?;
        let dialect = self.0.dialect(Some(setup))?;
        match asked {
            Asked::Managed(managed) => managed::open(dialect, &managed, setup, heard),
            Asked::Running(address) => attached::open(dialect, *address, setup, heard),
        }
    }
}

/// A connection that is asked about the server itself.
struct ServerConsole<W>(W);

impl<W: Wire> Console for ServerConsole<W> {
    fn version(&self) -> &str {
        self.0.version()
    }

    fn is_encrypted(&self) -> bool {
        self.0.channel().is_encrypted()
    }

    fn rows(&mut self, sql: &str) -> Result<Rows, hopcost_core::CallError> {
        self.0.query(sql).map_err(|error| match error {
            WireError::Server(said) if !said.is_fatal => {
                hopcost_core::CallError::Failed(said.to_string())
            }
            error => hopcost_core::CallError::Lost(error.to_string()),
        })
    }
}

/// Connects to a server, to ask it about itself.
pub fn console<W: Wire>(address: &Address) -> Result<Box<dyn Console>, TargetError> {
    Ok(Box::new(ServerConsole(W::connect(address)?)))
}
