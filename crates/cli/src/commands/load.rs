//! `hopcost load`: loads a data set into a database.

use hopcost_app::{App, LoadResult, Outcome};
use hopcost_view::count;
use serde::Serialize;

use super::attended;
use crate::args::LoadArgs;
use crate::exit::Exit;
use crate::output;

#[derive(Serialize)]
struct Printed<'a> {
    version: u32,
    #[serde(flatten)]
    result: &'a LoadResult,
}

pub fn run(app: &App, args: &LoadArgs) -> Outcome<Exit> {
    let result = attended(|_| {}, |control| app.load(&args.request(), control))?;
    if args.data.json {
        output::print_json(&Printed { version: 1, result: &result })?;
    } else {
        let LoadResult { target, identity, dataset, rows, seconds, rows_per_s } = &result;
        let (rows, per_s) = (count(*rows), count(*rows_per_s as u64));
        output::print(&format!(
            "{target} has {rows} rows of {dataset} after {seconds:.1} s: {per_s} a second\n{identity}\n"
        ))?;
    }
    Ok(Exit::Done)
}
