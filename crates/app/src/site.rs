//! The machine an experiment sees, and where it may run.

use hopcost_core::{Code, Effort, Emulation, Machine, Planted, Site};
use hopcost_method::emulation;
use hopcost_sys::memory;

use crate::{Failure, Outcome, Request};

pub fn refuse_options_of_a_comparison(asked: &Request) -> Outcome<()> {
    let option = asked.of_a_comparison();
    option.map_or(Ok(()), |option| {
        Err(Failure::usage(
            Code::BadOption,
            format!(
                "{option}: '{}' looks at the hardware alone, without a database; leave it out",
                asked.experiment
            ),
        ))
    })
}

pub fn emulated(asked: &Request, ground: &Machine) -> Outcome<(Machine, Option<Emulation>)> {
    let Some(text) = &asked.emulate else { return Ok((ground.clone(), None)) };
    let emulation = emulation::read(text)
        .map_err(|wrong| Failure::usage(Code::BadValue, format!("--emulate: {wrong}")))?;
    let machine = ground
        .emulated(&emulation)
        .map_err(|reason| Failure::not_here(reason.code(), format!("--emulate: {reason}")))?;
    Ok((machine, Some(emulation)))
}

/// Probes can only emulate less bandwidth.
pub fn for_probes<'a>(
    asked: &Request,
    ground: &'a Machine,
) -> Outcome<(Machine, Option<Planted<'a>>)> {
    let (machine, emulation) = emulated(asked, ground)?;
    if emulation.as_ref().is_some_and(Emulation::is_of_calls) {
        return Err(Failure::usage(
            Code::BadOption,
            format!(
                "--emulate: '{}' has no database whose calls could be made longer; probes know nodes and \
             bandwidth=nodeN:SHARE",
                asked.experiment
            ),
        ));
    }
    Ok((machine, emulation.map(|emulation| Planted { ground, emulation })))
}

pub fn site(machine: &Machine, effort: Effort, seed: u64) -> Outcome<Site<'_>> {
    Ok(Site {
        machine,
        planted: None,
        effort,
        cpus: machine.limits.cpus.clone(),
        nodes: machine.nodes_by_default(),
        size_bytes: None,
        stride_bytes: None,
        pages: None,
        may_bind: !memory::forbidden_calls()?.contains(&"mbind"),
        log_dir: ".".into(),
        seed,
    })
}
