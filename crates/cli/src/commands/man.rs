//! `hopcost man`: the manual pages, one per command.

use clap::CommandFactory;
use hopcost_app::{InContext, Outcome};

use crate::args::{Cli, ManArgs};
use crate::exit::Exit;
use crate::output;

pub fn run(args: &ManArgs) -> Outcome<Exit> {
    let dir = args.dir.display();
    std::fs::create_dir_all(&args.dir).in_context(&dir)?;
    clap_mangen::generate_to(Cli::command(), &args.dir).in_context(&dir)?;
    output::print(&format!("wrote the manual pages to {dir}: man -l {dir}/hopcost.1\n"))?;
    Ok(Exit::Done)
}
