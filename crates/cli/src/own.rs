//! The user's own workload: `--file`, `--builtin` and `--define`, as pgbench takes them.

use hopcost_core::Code;
use hopcost_kit::pgbench::{BUILTINS, Script, builtin, name_and_value, name_and_weight};
use hopcost_kit::workloads::Own;

use crate::args::OwnArgs;
use crate::exit::Failure;

/// The scripts that are asked for, if any are.
pub fn workload(args: &OwnArgs) -> Result<Option<&'static Own>, Failure> {
    let variables = args.define.iter().map(|definition| variable(definition));
    let variables = variables.collect::<Result<Vec<_>, _>>()?;
    let files = args.file.iter().map(|file| from_file(file, &variables));
    let builtins = args.builtin.iter().map(|name| from_builtin(name));
    let scripts = files.chain(builtins).collect::<Result<Vec<_>, _>>()?;
    if scripts.is_empty() {
        if let Some(definition) = args.define.first() {
            let words = "a variable is for a script: name one by --file or --builtin";
            return Err(Failure::usage(Code::BadValue, format!("--define {definition}: {words}")));
        }
        return Ok(None);
    }
    if scripts.iter().all(|(_, _, weight)| *weight == 0) {
        return Err(Failure::usage(
            Code::BadValue,
            "all scripts have the weight 0: nothing would be asked",
        ));
    }
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Ok(Some(Own::of(scripts, variables.into_iter().map(owned).collect())))
}

fn variable(definition: &str) -> Result<(&str, &str), Failure> {
    name_and_value(definition)
        .map_err(|error| Failure::usage(Code::BadValue, format!("--define {definition}: {error}")))
}

fn from_file(argument: &str, variables: &[(&str, &str)]) -> Result<(String, String, u32), Failure> {
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::usage(Code::BadFile, format!("--file {argument}: {error}"))
    };
    let (path, weight) = name_and_weight(argument).map_err(|error| wrong(&error))?;
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    // It says where it is wrong itself.
    Script::with(path, &text, variables).map_err(|wrong| Failure::usage(Code::BadFile, wrong))?;
    Ok((path.to_owned(), text, weight))
}

fn from_builtin(argument: &str) -> Result<(String, String, u32), Failure> {
    let (name, weight) = name_and_weight(argument).map_err(|error| {
        Failure::usage(Code::BadValue, format!("--builtin {argument}: {error}"))
    })?;
    let Some(found) = builtin(name) else {
        let known: Vec<&str> = BUILTINS.iter().map(|builtin| builtin.name).collect();
        let known = known.join(", ");
        return Err(Failure::usage(
            Code::UnknownName,
            format!("--builtin {name}: known are {known}, and how they begin"),
        ));
    };
    Ok((found.name.to_owned(), found.text.to_owned(), weight))
}
