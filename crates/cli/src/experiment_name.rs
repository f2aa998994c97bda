//! The experiment argument: accepts any text, and completes built-in names.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use hopcost_app::catalogue;

#[derive(Clone, Copy, Debug)]
pub struct ExperimentName;

impl TypedValueParser for ExperimentName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(catalogue::experiment_names().map(PossibleValue::new)))
    }
}
