//! What is the same for all connections of a run.

use std::sync::atomic::AtomicU32;

use hopcost_core::PageSize;

use super::super::server::copy::ServerCopy;
use super::super::server::memory::ServerMemory;
use super::super::server::nodes::Nodes;
use super::calls::Ready;

/// What a run says to its servers, and what of.
pub struct PostgresDialect {
    pub ready: Vec<Ready>,
    pub nodes: Nodes,
    /// Are nodes sets of CPUs, whose pages are all in one place?
    pub is_emulated: bool,
    /// Processes that work on a query, at most; 0 if the experiment does not say it.
    pub dop: AtomicU32,
}

/// What its memory is made of.
pub fn pages(copy: &ServerCopy<PostgresDialect>) -> PageSize {
    copy.ground.as_ref().map_or(PageSize::Base, ServerMemory::page_size)
}
