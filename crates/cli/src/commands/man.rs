//! `hopcost man`: the manual pages, one per command.

use anyhow::Context;
use clap::CommandFactory;

use crate::args::{Cli, ManArgs};
use crate::exit::{Exit, Failure};
use crate::output;

pub fn run(args: &ManArgs) -> Result<Exit, Failure> {
    let dir = args.dir.display();
    std::fs::create_dir_all(&args.dir).with_context(|| dir.to_string())?;
    clap_mangen::generate_to(Cli::command(), &args.dir).with_context(|| dir.to_string())?;
    output::print(&format!("wrote the manual pages to {dir}: man -l {dir}/hopcost.1\n"))?;
    Ok(Exit::Done)
}
