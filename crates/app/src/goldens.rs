//! Golden plans: all experiments on all databases and recorded machines.

use std::fmt::Write as _;

use hopcost_core::{Comparison, Experiment, Known, Machine, Subject};
use hopcost_engines::TARGETS;
use hopcost_method::plan::Plan;
use hopcost_sys::{Root, topology};

use crate::on_database::OnDatabase;
use crate::{App, Dirs, Request, catalogue};

const MACHINES: [&str; 3] = ["vm-n1", "vm-n4s2", "hand-arm-2-sockets"];

#[test]
fn plans_on_recorded_machines_are_those_that_were() {
    for name in MACHINES {
        assert_golden(&format!("plans-{name}"), &plans(&machine(name), None));
    }
    assert_golden("plans-vm-n1-emulated-nodes", &plans(&machine("vm-n1"), Some("nodes=2")));
    assert_golden("plans-vm-n1-emulated", &plans(&machine("vm-n1"), Some("nodes=2,remote_ns=80")));
}

pub fn assert_golden(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../fixtures/goldens");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// With more memory than the recorded machine had, so that no plan is refused for lack of it.
pub fn machine(name: &str) -> Machine {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines");
    let mut machine =
        topology::read(&Root::recorded(format!("{dir}/{name}.tree").as_ref()).unwrap());
    for node in machine.nodes.iter_mut().filter(|node| node.available_bytes.get().is_some()) {
        node.available_bytes = Known::Is(64 << 30);
    }
    machine
}

/// For each distinct plan the databases that have it; for refusals the reason.
fn plans(machine: &Machine, emulate: Option<&str>) -> String {
    let mut text = String::new();
    for experiment in catalogue::experiments().unwrap_or_default() {
        let Subject::Database(comparison) = &experiment.subject else { continue };
        let mut answers: Vec<(String, Vec<String>)> = Vec::new();
        for target in targets() {
            let (answer, takes) = planned(&experiment, comparison, machine, &target, emulate);
            let target = format!("{target}{takes}");
            match answers.iter_mut().find(|(known, _)| *known == answer) {
                Some((_, of)) => of.push(target),
                None => answers.push((answer, vec![target])),
            }
        }
        let _ = writeln!(text, "# {}", experiment.name);
        for (answer, targets) in answers {
            let _ = writeln!(text, "{}\n  {answer}", targets.join(", "));
        }
    }
    text
}

fn targets() -> Vec<String> {
    let started = ["postgres", "mariadb", "mysql"];
    let url = |name: &str| match name {
        name if started.contains(&name) => format!("{name}:managed"),
        "sqlserver" => "sqlserver://db.example/".to_owned(),
        name => format!("{name}:"),
    };
    TARGETS.iter().map(|target| url(target.name())).collect()
}

fn planned(
    experiment: &Experiment,
    comparison: &Comparison,
    machine: &Machine,
    target: &str,
    emulate: Option<&str>,
) -> (String, String) {
    let asked = Request {
        target: Some(target.to_owned()),
        emulate: emulate.map(ToOwned::to_owned),
        ..Request::quick(&experiment.name)
    };
    let app = App::new(Dirs::below("/nowhere".as_ref()));
    let here = match OnDatabase::new(&app, experiment, comparison, machine, &asked) {
        Ok(here) => here,
        Err(failure) => return (format!("{}: {failure}", failure.code), String::new()),
    };
    match here.plan() {
        Ok(plan) => {
            let (memory, disk) = here.takes(&plan);
            (written(&plan), format!(" ({memory} bytes, {disk} of disk)"))
        }
        Err(reason) => (format!("refused, {}: {reason}", reason.code()), String::new()),
    }
}

fn written(plan: &Plan) -> String {
    serde_json::to_value(plan).unwrap().to_string()
}
