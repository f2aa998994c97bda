//! Splits workers between two places at a given distance.

use hopcost_core::{Code, CpuId, CpuSet, DistanceClass, Known, Machine, Reason};

use super::distances::cpus_away;

/// Alternates between the places, so that few clients use both.
pub fn in_two_places(
    class: DistanceClass,
    machine: &Machine,
    among: &CpuSet,
) -> Result<Vec<CpuId>, Reason> {
    let first = machine.in_order_of_use(among).first().copied();
    let first = first.ok_or_else(|| Code::TooFewCpus.because("no CPU there can be used"))?;
    let near = together_with(first, machine);
    if class == DistanceClass::SameL3 {
        if near.len() < 2 {
            return Err(Code::NoSuchDistance.because(
                "needs 2 cores under one last-level cache; here each cache has 1 that can be used",
            ));
        }
        return Ok(near);
    }
    let away = machine.in_order_of_use(&cpus_away(machine, first, class)?);
    let far = away.first().map_or_else(Vec::new, |cpu| together_with(*cpu, machine));
    Ok(near.into_iter().zip(far).flat_map(|(near, far)| [near, far]).collect())
}

/// One CPU per core under the same last-level cache.
fn together_with(cpu: CpuId, machine: &Machine) -> Vec<CpuId> {
    let is_near =
        |other: &CpuId| machine.cpu_distance(cpu, *other) == Known::Is(DistanceClass::SameL3);
    let others: CpuSet = machine.limits.cpus.iter().filter(is_near).collect();
    std::iter::once(cpu).chain(machine.one_cpu_per_core(&others).iter()).collect()
}
