//! `hopcost machine`: describes this machine, or a recorded one.

use hopcost_app::{InContext, Outcome, machine, record, recorded};
use hopcost_view::{svg, text};

use crate::args::MachineArgs;
use crate::exit::Exit;
use crate::output;

pub fn run(args: &MachineArgs) -> Outcome<Exit> {
    if let Some(path) = &args.record {
        let recorded = record(path);
        let path = path.display();
        recorded.in_context(format!("--record {path}"))?;
        output::remark(&format!(
            "recorded into {path}; 'hopcost machine --sysfs {path}' reads it anywhere"
        ));
        return Ok(Exit::Done);
    }
    let machine = match &args.sysfs {
        Some(path) => recorded(path).in_context(format!("--sysfs {}", path.display()))?,
        None => machine(),
    };
    if let Some(path) = &args.svg {
        let written = std::fs::write(path, svg::machine(&machine));
        written.in_context(format!("--svg {}", path.display()))?;
    } else if args.json {
        output::print_json(&machine)?;
    } else {
        output::print(&text::machine(&machine, output::columns()))?;
    }
    Ok(Exit::Done)
}
