//! `hopcost where`: finds where a running database runs and keeps its memory.

use hopcost_app::{Outcome, locate, machine};
use hopcost_view::text;

use crate::args::WhereArgs;
use crate::exit::Exit;
use crate::output;

pub fn run(args: &WhereArgs) -> Outcome<Exit> {
    let environment = |name: &str| std::env::var(name).ok();
    let asked = locate::read(&args.target, &environment)?;
    let found = locate::find(&asked)?;
    if args.json {
        output::print_json(&found)?;
    } else {
        output::print(&text::whereabouts(&found, &machine(), output::columns()))?;
    }
    Ok(Exit::Done)
}
