//! The log writer threads, and the CPU on which a session has the wanted distance from them.
//!
//! Method: log writers cannot be moved. The server is bound to a CPU that is as far from all of
//! them as the variant's two CPUs are from each other.
//!
//! Limits: experimental, never run on SQL Server itself. From 2016 on there are several writers on
//! one node: often no CPU has the same distance from all.

use hopcost_core::{Code, CpuId, CpuSet, Known, Machine, Reason};

use super::super::server::wire::WireError;
use super::wire::Wire;

#[derive(Clone, Debug)]
pub struct LogWriterPlacement {
    pub cpu: CpuId,
    /// CPUs at the wanted distance from `cpu`.
    in_place: Vec<CpuId>,
}

pub fn cpus(wire: &mut Wire) -> Result<Vec<CpuId>, WireError> {
    let rows = wire.say("log_writers")?;
    let cpu = |row: Vec<Option<String>>| row.into_iter().next()??.parse().ok().map(CpuId);
    Ok(rows.into_iter().filter_map(cpu).collect())
}

impl LogWriterPlacement {
    /// The CPU whose distance to all writers is that of `one` to `other`.
    pub fn of(
        [one, other]: [CpuId; 2],
        machine: &Machine,
        writers: &[CpuId],
    ) -> Result<Self, Reason> {
        if writers.is_empty() {
            return Err(
                Code::NotPlaceable.because("the server does not tell where it writes its log")
            );
        }
        let asked = match machine.cpu_distance(one, other) {
            Known::Is(class) => class,
            Known::Missing(reason) => return Err(reason),
        };
        let is_so_far = |from: CpuId, to: CpuId| machine.cpu_distance(from, to).ok() == Some(asked);
        let as_asked = |cpu: &CpuId| writers.iter().all(|writer| is_so_far(*cpu, *writer));
        let none = || {
            let cpus: CpuSet = writers.iter().copied().collect();
            Code::NoSuchDistance.because(format!(
                "{asked}: no CPU here is that far from all that write the server's log, on CPU {cpus}"
            ))
        };
        let cpu = machine.limits.cpus.iter().find(as_asked).ok_or_else(none)?;
        let in_place = machine.limits.cpus.iter().filter(|to| is_so_far(cpu, *to)).collect();
        Ok(Self { cpu, in_place })
    }

    pub fn proved(&self, writers: &[CpuId]) -> [u64; 2] {
        let there = writers.iter().filter(|writer| self.in_place.contains(writer));
        [there.count() as u64, writers.len() as u64]
    }
}
