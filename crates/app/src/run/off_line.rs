//! `--allow-machine-changes`: takes unused CPUs off-line in the windows of a variant.

use std::cell::RefCell;

use hopcost_core::Code;
use hopcost_method::plan::Plan;
use hopcost_sys::hotplug::Hotplug;

use crate::on_database::OnDatabase;
use crate::{Failure, Outcome};

/// Changes nothing yet, but refuses what is known to fail before data is loaded.
pub fn wanted(prepared: &OnDatabase<'_>, plan: &Plan) -> Outcome<Option<RefCell<Hotplug>>> {
    if !prepared.allow_machine_changes {
        return Ok(None);
    }
    if let Some(words) = senseless(prepared, plan) {
        return Err(Failure::usage(Code::BadOption, format!("--allow-machine-changes: {words}")));
    }
    let hotplug = Hotplug::new(&prepared.state_dir)
        .map_err(|why| Failure::not_here(Code::NotPermitted, why))?;
    for placement in plan.placements.iter().flatten() {
        hotplug
            .check(&placement.spare)
            .map_err(|why| Failure::not_here(Code::NotPermitted, why))?;
    }
    Ok(Some(RefCell::new(hotplug)))
}

fn senseless(prepared: &OnDatabase<'_>, plan: &Plan) -> Option<String> {
    if plan.spares().is_empty() {
        return Some(format!(
            "no level of '{}' leaves CPUs unused here by 'siblings' or 'cores', so there is nothing to \
             change; leave it out",
            prepared.experiment.name
        ));
    }
    if prepared.emulation.is_some() {
        return Some("no kernel takes off-line what is planted; leave it out, or --emulate".into());
    }
    if !prepared.target.is_in_process() || prepared.target.has_own_threads() {
        return Some(format!(
            "hopcost pins its workers anew when their CPUs come back, and cannot do so for the threads that \
             {} has of its own: leave it out, or take --target sqlite",
            prepared.url()
        ));
    }
    None
}

pub fn told(plan: &Plan) -> String {
    let of_level = |(level, spares): (&str, std::collections::BTreeSet<String>)| {
        format!("{level} CPU {}", spares.into_iter().collect::<Vec<_>>().join(" or "))
    };
    let all: Vec<String> = plan.spares().into_iter().map(of_level).collect();
    format!(
        "CPUs that a level leaves unused were to be truly off in its windows; one before or after which the \
         kernel's list of those on-line was another voids the run: {}",
        all.join("; ")
    )
}
