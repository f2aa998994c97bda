//! What differs between kinds of server.
//!
//! Traits of their own: [`Tables`](super::tables::Tables), [`Home`](super::attached::Home) for
//! existing servers, [`Housing`](super::managed::Housing) for managed ones. A value lives as long
//! as its run.

use std::time::Duration;

use hopcost_core::{Answer, CallError, Statement, VariantSettings};
use hopcost_sys::memory::Foreign;

use super::super::Wanted;
use super::wire::{Wire, WireError};

pub struct Profile {
    pub name: &'static str,
    pub scheme: &'static str,
    pub processes: &'static [&'static str],
    /// A query with one row for each active backend: what it waits for.
    pub waits: Option<&'static str>,
    /// Time limit for answers between windows.
    pub patience: Option<Duration>,
}

pub trait Call<W> {
    fn name(&self) -> &'static str;

    /// Sends a call, or appends it to `out` for a worker to send.
    fn begin(
        &mut self,
        wire: &mut W,
        arguments: &[i64; 4],
        out: Option<&mut Vec<u8>>,
    ) -> Result<(), CallError>;

    /// Reads the answer; `None` if the call goes on, with another message sent.
    fn go_on(
        &mut self,
        wire: &mut W,
        out: Option<&mut Vec<u8>>,
    ) -> Result<Option<Answer>, CallError>;

    /// How long the client sleeps before the call goes on.
    fn rest(&self) -> Option<Duration> {
        None
    }
}

pub trait Dialect: Send + Sync + Sized + 'static {
    type Wire: Wire;
    type Call: Call<Self::Wire>;

    fn profile(&self) -> &'static Profile;

    /// The kernel id of this connection's backend; `None` if the server does not report it.
    fn worker(&self, wire: &mut Self::Wire) -> Result<Option<u32>, WireError>;

    /// Kernel ids of the log writers; empty if backends write the log.
    fn log_writers(&self, _wire: &mut Self::Wire) -> Result<Vec<u32>, WireError> {
        Ok(Vec::new())
    }

    /// The memory with the data, as the server's process and that backend map it.
    fn memory(&self, _process: u32, _worker: u32) -> Option<Foreign> {
        None
    }

    /// Makes hopcost's tables visible by their bare names.
    fn enter(&self, _wire: &mut Self::Wire) -> Result<(), WireError> {
        Ok(())
    }

    /// Reads all data that will be used, through every index.
    fn warm(&self, _wire: &mut Self::Wire, _wanted: &[Wanted]) -> Result<(), WireError> {
        Ok(())
    }

    fn before_calls(
        &self,
        _wire: &mut Self::Wire,
        _variant: &VariantSettings,
    ) -> Result<(), WireError> {
        Ok(())
    }

    fn explain(
        &self,
        wire: &mut Self::Wire,
        number: usize,
        statement: &Statement,
        example: &[i64; 4],
    ) -> Result<Vec<String>, WireError>;

    /// Ends the sessions of these numbers, if they are still hopcost's.
    fn end(&self, wire: &mut Self::Wire, numbers: &[u32]) -> Result<(), WireError>;
}
