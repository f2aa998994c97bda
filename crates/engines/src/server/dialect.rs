//! What differs from one kind of server to another, but for its tables ([`Tables`](super::tables::Tables)) and for
//! how hopcost moves in ([`Home`](super::attached::Home)) or brings one up ([`Housing`](super::managed::Housing)).
//!
//! A value of a dialect lives as long as its run, and may hold what the run is about.

use std::time::Duration;

use hopcost_core::{Answer, CallError, Statement, VariantSettings};
use hopcost_sys::memory::Foreign;

use super::super::Wanted;
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
