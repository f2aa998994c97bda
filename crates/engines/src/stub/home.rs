//! hopcost's database in the stub, recognized by a table in it.

use std::time::Duration;

use hopcost_core::{Code, Setup, TargetError};

use super::super::server::FOREIGN;
use super::super::server::attached::{Home, Left, Mark};
use super::super::server::wire::{Wire as _, WireError};
use super::StubDialect;
use super::wire::Wire;

impl Home for StubDialect {
    const KIND: &'static str = "database";
    const FOREIGN: &'static str = FOREIGN;

    /// The server may take a moment to release the lock of a session that just ended.
    fn lock(&self, wire: &mut Wire) -> Result<(), TargetError> {
        for _ in 0..100 {
            if wire.value("LOCK")?.as_deref() == Some("1") {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(TargetError::NotHere(Code::ServerInUse.because("another hopcost is at work there")))
    }

    fn mark(&self, wire: &mut Wire) -> Result<Mark, WireError> {
        let there = "SELECT 1 FROM pragma_database_list WHERE name = 'hopcost'";
        if wire.value(there)?.is_none() {
            return Ok(Mark::None);
        }
        let mark = "SELECT 1 FROM hopcost.sqlite_master WHERE name = 'made_by_hopcost'";
        if wire.value(mark)?.is_none() {
            return Ok(Mark::Foreign);
        }
        let contents = wire.query("SELECT content FROM made_by_hopcost")?;
        Ok(Mark::Ours(contents.into_iter().flatten().flatten().collect()))
    }

    fn make_home(&self, wire: &mut Wire, _: &Setup<'_>) -> Result<(), TargetError> {
        self.leave(wire, false)?;
        wire.query("ATTACH ':memory:' AS hopcost")?;
        wire.query("CREATE TABLE hopcost.made_by_hopcost (content)")?;
        Ok(())
    }

    fn leave(&self, wire: &mut Wire, keep: bool) -> Result<Left, WireError> {
        if !keep && !matches!(self.mark(wire)?, Mark::None) {
            wire.query("DETACH hopcost")?;
        }
        Ok(Left::default())
    }
}
