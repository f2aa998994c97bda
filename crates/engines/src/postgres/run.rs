//! Settings that all connections of a run share.

use std::sync::atomic::AtomicU32;

use hopcost_core::PageSize;

use super::super::server::copy::ServerCopy;
use super::super::server::memory::ServerMemory;
use super::super::server::nodes::Nodes;
use super::calls::Ready;

pub struct PostgresDialect {
    pub ready: Vec<Ready>,
    pub nodes: Nodes,
    /// With emulated nodes (sets of CPUs), all pages are on one real node.
    pub is_emulated: bool,
    /// 0 for none.
    pub dop: AtomicU32,
}

pub fn pages(copy: &ServerCopy<PostgresDialect>) -> PageSize {
    copy.ground.as_ref().map_or(PageSize::Base, ServerMemory::page_size)
}
