//! `hopcost where`: where a running database really is.

use hopcost_app::locate;
use hopcost_sys::{Root, topology};
use hopcost_view::text;

use crate::args::WhereArgs;
use crate::exit::{Exit, Failure};
use crate::output;

pub fn run(args: &WhereArgs) -> Result<Exit, Failure> {
    let environment = |name: &str| std::env::var(name).ok();
    let asked = locate::read(&args.target, &environment)?;
    let root = Root::live();
    let found = locate::find(&root, &topology::read(&root), &asked)?;
    if args.json {
        output::print_json(&found)?;
    } else {
        output::print(&text::whereabouts(&found, output::columns()))?;
    }
    Ok(Exit::Done)
}
