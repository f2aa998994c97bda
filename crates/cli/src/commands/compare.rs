//! `hopcost compare`: compares two machines by their stored runs.

use hopcost_app::{Outcome, compare};
use hopcost_view::{Shown, format};

use super::attended;
use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::output::{self, Output};

pub fn run(args: &CompareArgs) -> Outcome<Exit> {
    let mut wanted = Output::of(&args.format.format, args.json);
    if wanted.is_empty() {
        wanted.push(Output::printed(&format::TERMINAL));
    }
    output::can_be_shown(&wanted)?;
    let found = attended(|_| {}, |control| compare((&args.a, &args.b), &args.store, control))?;
    output::show(&wanted, &Shown::Between(&found))?;
    let is_nothing = found.likenesses().next().is_none();
    Ok(if is_nothing { Exit::NotHere } else { Exit::Done })
}
