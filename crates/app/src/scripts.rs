//! The user's workload: pgbench scripts, built-in scripts and variables.

use hopcost_core::{Code, Reason};
use hopcost_data::workloads::Own;
use hopcost_pgbench::{BUILTINS, Script, builtin, name_and_value, name_and_weight};

use crate::Scripts;

pub fn workload(asked: &Scripts) -> Result<Option<&'static Own>, Reason> {
    let variables = asked.definitions.iter().map(|definition| variable(definition));
    let variables = variables.collect::<Result<Vec<_>, _>>()?;
    let files = asked.files.iter().map(|file| from_file(file, &variables));
    let builtins = asked.builtins.iter().map(|name| from_builtin(name));
    let scripts = files.chain(builtins).collect::<Result<Vec<_>, _>>()?;
    if scripts.is_empty() {
        if let Some(definition) = asked.definitions.first() {
            let words = "a variable is for a script: name one by --file or --builtin";
            return Err(Code::BadValue.because(format!("--define {definition}: {words}")));
        }
        return Ok(None);
    }
    if scripts.iter().all(|(_, _, weight)| *weight == 0) {
        return Err(Code::BadValue.because("all scripts have the weight 0: nothing would be asked"));
    }
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Ok(Some(Own::of(scripts, variables.into_iter().map(owned).collect())))
}

fn variable(definition: &str) -> Result<(&str, &str), Reason> {
    name_and_value(definition)
        .map_err(|error| Code::BadValue.because(format!("--define {definition}: {error}")))
}

fn from_file(argument: &str, variables: &[(&str, &str)]) -> Result<(String, String, u32), Reason> {
    let wrong = |error: &dyn std::fmt::Display| {
        Code::BadFile.because(format!("--file {argument}: {error}"))
    };
    let (path, weight) = name_and_weight(argument).map_err(|error| wrong(&error))?;
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    // The error names its position itself.
    Script::with(path, &text, variables)
        .map_err(|wrong| Code::BadFile.because(wrong.to_string()))?;
    Ok((path.to_owned(), text, weight))
}

fn from_builtin(argument: &str) -> Result<(String, String, u32), Reason> {
    let (name, weight) = name_and_weight(argument)
        .map_err(|error| Code::BadValue.because(format!("--builtin {argument}: {error}")))?;
    let Some(found) = builtin(name) else {
        let known: Vec<&str> = BUILTINS.iter().map(|builtin| builtin.name).collect();
        let known = known.join(", ");
        return Err(Code::UnknownName
            .because(format!("--builtin {name}: known are {known}, and how they begin")));
    };
    Ok((found.name.to_owned(), found.text.to_owned(), weight))
}
