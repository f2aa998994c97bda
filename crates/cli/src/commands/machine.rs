//! `hopcost machine`: what this machine, or a recorded one, is.

use std::path::Path;

use anyhow::Context;
use hopcost_sys::{Root, topology};
use hopcost_view::{svg, text};

use crate::args::MachineArgs;
use crate::exit::{Exit, Failure};
use crate::output;

pub fn run(args: &MachineArgs) -> Result<Exit, Failure> {
    let root = match &args.sysfs {
        Some(path) => {
            Root::recorded(path).with_context(|| format!("--sysfs {}", path.display()))?
        }
        None if args.record.is_some() => Root::live_noting(),
        None => Root::live(),
    };
    let machine = topology::read(&root);
    if let Some(path) = &args.record {
        record(root, path)?;
    } else if let Some(path) = &args.svg {
        let written = std::fs::write(path, svg::machine(&machine));
        written.with_context(|| format!("--svg {}", path.display()))?;
    } else if args.json {
        output::print_json(&machine)?;
    } else {
        output::print(&text::machine(&machine, output::columns()))?;
    }
    Ok(Exit::Done)
}

fn record(root: Root, path: &Path) -> Result<(), Failure> {
    let tree = root.into_notes();
    if path.extension().is_some_and(|extension| extension == "tree") {
        let written = std::fs::write(path, tree.to_text());
        written.with_context(|| format!("--record {}", path.display()))?;
    } else {
        tree.write_below(path).with_context(|| format!("--record {}", path.display()))?;
    }
    output::remark(&format!(
        "recorded into {path}; 'hopcost machine --sysfs {path}' reads it anywhere",
        path = path.display()
    ));
    Ok(())
}
