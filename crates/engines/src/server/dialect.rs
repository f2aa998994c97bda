//! What differs from one kind of server to another, but for its tables ([`Tables`](super::tables::Tables)) and for
//! how hopcost moves in ([`Home`](super::attached::Home)) or brings one up ([`Housing`](super::managed::Housing)).
//!
//! A value of a dialect lives as long as its run, and may hold what the run is about.

use std::time::Duration;

use hopcost_core::{
    Answer, CallError, Code, Counted, Dataset, Known, Locality, Look, Reading, SessionPlacement,
    Statement, TargetError, VariantSettings,
};
use hopcost_sys::memory::Foreign;

use super::super::Wanted;
use super::address::Address;
use super::audit_log::AuditLog;
use super::copy::ServerCopy;
use super::filling::Filler;
use super::memory::ServerMemory;
use super::open_connections::OpenConnections;
use super::wire::{Wire, WireError};

/// What a kind of server is, as far as that is data.
pub struct Profile {
    /// In words: `PostgreSQL`.
    pub name: &'static str,
    /// In URLs.
    pub scheme: &'static str,
    /// What its processes are called.
    pub processes: &'static [&'static str],
    /// The question that says what each who is at work waits for, a row each.
    pub waits: Option<&'static str>,
    /// How long an answer may take that is asked for between windows.
    pub patience: Option<Duration>,
}

/// A statement, or a script, ready to be sent.
pub trait Call<W> {
    fn name(&self) -> &'static str;

    /// Sends a call, or leaves that to who sends for many.
    fn begin(
        &mut self,
        wire: &mut W,
        arguments: &[i64; 4],
        out: Option<&mut Vec<u8>>,
    ) -> Result<(), CallError>;

    /// Takes the answer; none if the call goes on: more was sent, and is answered in its turn.
    fn go_on(
        &mut self,
        wire: &mut W,
        out: Option<&mut Vec<u8>>,
    ) -> Result<Option<Answer>, CallError>;

    /// How long it rests before it goes on, if it does.
    fn rest(&self) -> Option<Duration> {
        None
    }
}

/// What the calls of a connection are about.
pub struct Asked<'a> {
    pub statements: &'a [Statement],
    pub dataset: Option<&'static dyn Dataset>,
    pub variant: &'a VariantSettings,
    pub at: SessionPlacement,
    /// What it fills, if it does.
    pub filler: Option<&'a Filler>,
}

/// What a session of this kind proves beside what all do.
pub trait Witness<W> {
    /// Counts from here on.
    fn begin_counting(&mut self) {}

    /// A call was sent.
    fn called(&mut self) {}

    /// It was answered.
    fn answered(&mut self) {}

    /// What was seen since then, into what the session counted.
    fn counted(&mut self, _wire: &mut W, _counted: &mut Counted) {}
}

/// Nothing more is known of a session.
impl<W> Witness<W> for () {}

/// What is known of a server when its dialect may look at it.
pub struct Opened<'a> {
    pub address: &'a Address,
    pub lines: &'a OpenConnections,
    /// Was it started by hopcost?
    pub is_own: bool,
}

/// A server's language, and what it tells of itself.
pub trait Dialect: Send + Sync + Sized + 'static {
    type Wire: Wire;
    type Call: Call<Self::Wire>;

    fn profile(&self) -> &'static Profile;

    /// The kernel's number of who serves this connection; none if the server does not tell.
    fn worker(&self, wire: &mut Self::Wire) -> Result<Option<u32>, WireError>;

    /// The kernel's numbers of who writes the log; none if who commits does.
    fn log_writers(&self, _wire: &mut Self::Wire) -> Result<Vec<u32>, WireError> {
        Ok(Vec::new())
    }

    /// The memory with the data in it, of a server's process and of who serves the connection that read it.
    fn memory(&self, _process: u32, _worker: u32) -> Option<Foreign> {
        None
    }

    /// Has our tables found by their names alone, from here on.
    fn enter(&self, _wire: &mut Self::Wire) -> Result<(), WireError> {
        Ok(())
    }

    /// Reads all that will be asked for, by every index.
    fn warm(&self, _wire: &mut Self::Wire, _wanted: &[Wanted]) -> Result<(), WireError> {
        Ok(())
    }

    /// What a session says before its statements are compiled.
    fn before_calls(
        &self,
        _wire: &mut Self::Wire,
        _variant: &VariantSettings,
    ) -> Result<(), WireError> {
        Ok(())
    }

    /// All calls of a connection, in the order of the statements.
    fn calls(
        &self,
        copy: &ServerCopy<Self>,
        wire: &mut Self::Wire,
        asked: &Asked<'_>,
    ) -> Result<Vec<Self::Call>, TargetError>
    where
        Self: Levels;

    /// How a statement is carried out, line by line.
    fn explain(
        &self,
        wire: &mut Self::Wire,
        number: usize,
        statement: &Statement,
        example: &[i64; 4],
    ) -> Result<Vec<String>, WireError>;

    /// Ends the sessions of these numbers, if they are still ours.
    fn end(&self, wire: &mut Self::Wire, numbers: &[u32]) -> Result<(), WireError>;
}

/// What a level asks of a server, what the server tells of it, and what its sessions prove.
pub trait Levels: Dialect {
    type Witness: Witness<Self::Wire>;
    /// What it has beside each copy of the data.
    type Beside: Send + Sync;
    /// How what it writes down of statements is known.
    type AuditLog: AuditLog;

    fn beside(
        &self,
        admin: &mut Self::Wire,
        opened: &Opened<'_>,
    ) -> Result<Self::Beside, TargetError>;

    /// Where a session connects to, if not where all do. An error if this server cannot do what the level asks for.
    fn address(
        &self,
        _copy: &ServerCopy<Self>,
        _variant: &VariantSettings,
        _at: SessionPlacement,
    ) -> Result<Option<Address>, TargetError> {
        Ok(None)
    }

    /// What it writes down of statements, from now on; none if its witness knows.
    fn audit_log(&self, _copy: &ServerCopy<Self>) -> Result<Option<Self::AuditLog>, TargetError> {
        Ok(None)
    }

    /// What a session says once its statements are compiled.
    fn after_calls(
        &self,
        _copy: &ServerCopy<Self>,
        _wire: &mut Self::Wire,
        _variant: &VariantSettings,
    ) -> Result<(), WireError> {
        Ok(())
    }

    fn witness(
        &self,
        copy: &ServerCopy<Self>,
        wire: &Self::Wire,
        variant: &VariantSettings,
        at: SessionPlacement,
    ) -> Result<Self::Witness, TargetError>;

    /// Before a window, once the log writers are in their place.
    fn enter_level(
        &self,
        _copy: &ServerCopy<Self>,
        _variant: &VariantSettings,
    ) -> Result<(), TargetError> {
        Ok(())
    }

    /// After a window, before anybody is asked what was counted.
    fn leave_level(&self, _copy: &ServerCopy<Self>, _variant: &VariantSettings) -> Counted {
        Counted::default()
    }

    /// Where the server itself says that its memory is.
    fn prove(&self, _copy: &ServerCopy<Self>, _look: Look) -> Known<Vec<Locality>> {
        Known::missing(Code::NotAsked, "the experiment does not say where the data is to be")
    }

    /// What it counts.
    fn readings(&self, _copy: &ServerCopy<Self>) -> Vec<Reading> {
        Vec::new()
    }

    /// What a reader of the result should know of it.
    fn notes(&self, _copy: &ServerCopy<Self>) -> Vec<String> {
        Vec::new()
    }
}

/// What a session proves of pages in their place, of a server whose memory is known.
pub fn prove_pages(ground: Option<&ServerMemory>, counted: &mut Counted) {
    if let Some(ground) = ground {
        counted.proved.insert(hopcost_core::Metric::PagesInPlace, ground.in_place());
    }
}
