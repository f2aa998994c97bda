//! A kind of server as a target: a managed or an existing one.

use hopcost_core::{
    Capabilities, Code, Console, Emulation, Instance, Loading, Metric, Needs, Reason, Rows, Setup,
    Spoken, Target, TargetError,
};

use super::super::Heard;
use super::address::{Address, Asked, Environment, Managed};
use super::attached::{self, Home};
use super::dialect::Profile;
use super::failed;
use super::tables::data_bytes;
use super::wire::{Wire, WireError};

pub type Start<D> =
    fn(D, &Managed, &Setup<'_>, &mut Heard<'_>) -> Result<Box<dyn Instance>, TargetError>;

pub trait Kind: Sync {
    type Dialect: Home;
    /// Bytes of a session, and of a managed server without its data.
    const BYTES: [u64; 2];
    /// `None` if hopcost only connects to existing servers.
    const START: Option<Start<Self::Dialect>> = None;

    fn profile(&self) -> &'static Profile;

    fn about(&self) -> &'static str;

    fn read(&self, rest: &str, environment: Environment<'_>) -> Result<Asked, Reason>;

    fn capabilities(&self, address: &str) -> Capabilities;

    /// What hopcost would send to a server, as far as that is known without one.
    fn spoken(&self, _setup: &Setup<'_>) -> Vec<Spoken> {
        Vec::new()
    }

    /// For a run, or for `hopcost restore`; `running` is the existing server's address.
    fn dialect(
        &self,
        running: Option<&Address>,
        setup: Option<&Setup<'_>>,
    ) -> Result<Self::Dialect, TargetError>;
}

pub struct Server<K>(pub K);

impl<K: Kind> Server<K> {
    fn asked(&self, given: &str) -> Result<Asked, Reason> {
        let asked = self.0.read(given, &|name| std::env::var(name).ok())?;
        if K::START.is_none() && matches!(asked, Asked::Managed(_)) {
            let Profile { name, scheme, .. } = self.0.profile();
            let words = format!(
                "hopcost starts no {name} of its own: write {scheme}://user@host/ for one that runs"
            );
            return Err(Code::BadUrl.because(words));
        }
        Ok(asked)
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
        match K::START {
            Some(_) => &["managed", "//user@host/"],
            None => &["//user@localhost/", "//user@host/"],
        }
    }

    fn capabilities(&self, address: &str) -> Capabilities {
        self.0.capabilities(address)
    }

    fn untold(&self, metric: Metric, emulation: Option<&Emulation>) -> Option<Reason> {
        let pages = format!("all pages of {}'s", self.0.profile().name);
        super::super::untold_of_nodes(metric, emulation, &pages)
    }

    fn clear(&self, address: &str) -> Result<String, Reason> {
        let Asked::Running(address) = self.asked(address)? else { return Ok("nothing".to_owned()) };
        let dialect = self.0.dialect(Some(&address), None);
        let dialect = dialect.map_err(|error| error.code().because(error.to_string()))?;
        attached::clear(&dialect, &address)
    }

    fn spoken(&self, setup: &Setup<'_>) -> Vec<Spoken> {
        self.0.spoken(setup)
    }

    fn needs(&self, setup: &Setup<'_>) -> Needs {
        let bytes = data_bytes::<K::Dialect>(setup);
        let [session, server] = K::BYTES;
        let stream_bytes = setup.spec().scratch_bytes + session;
        if K::START.is_none() {
            // Its disk may be another host's.
            return Needs { home_bytes: bytes, stream_bytes, disk_bytes: 0 };
        }
        let copies = setup.homes.len().max(1) as u64;
        Needs {
            // Free buffers are touched too, by servers that report where their memory is.
            home_bytes: bytes + bytes / 4 + server,
            stream_bytes,
            disk_bytes: (bytes + server) * (copies + 1),
        }
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        let asked = self.asked(setup.address).map_err(failed)?;
        setup.accepted_by(self)?;
        match asked {
            Asked::Running(address) => {
                let dialect = self.0.dialect(Some(&address), Some(setup))?;
                attached::open(dialect, *address, setup, heard)
            }
            Asked::Managed(managed) => {
                let start = K::START.ok_or_else(|| failed("hopcost cannot start it"))?;
                start(self.0.dialect(None, Some(setup))?, &managed, setup, heard)
            }
        }
    }
}

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

pub fn console<W: Wire>(address: &Address) -> Result<Box<dyn Console>, TargetError> {
    Ok(Box::new(ServerConsole(W::connect(address)?)))
}
