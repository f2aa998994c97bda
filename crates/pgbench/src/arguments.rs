//! Parses `NAME@WEIGHT` and `NAME=VALUE` arguments of the command line.

use super::cursor;

/// pgbench's limit.
const MOST_WEIGHT: u32 = i32::MAX.cast_unsigned();

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' behind '@' is no weight: write NAME@2, with a whole number up to {most}", most = MOST_WEIGHT)]
pub struct UnreadableWeight(String);

/// The weight defaults to 1. A name that contains `@` needs an explicit weight.
pub fn name_and_weight(argument: &str) -> Result<(&str, u32), UnreadableWeight> {
    let Some((name, weight)) = argument.rsplit_once('@') else { return Ok((argument, 1)) };
    let digits_only = weight.bytes().all(|byte| byte.is_ascii_digit());
    match weight.parse() {
        Ok(number) if digits_only && number <= MOST_WEIGHT => Ok((name, number)),
        _ => Err(UnreadableWeight(weight.to_owned())),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableDefinition {
    #[error("write NAME=VALUE")]
    NoValue,
    #[error("'{0}' is no name of a variable: {NAMES}")]
    NoName(String),
}

const NAMES: &str = "letters, digits and _, and no digit first";

/// As `pgbench -D` takes it; the value is any text.
pub fn name_and_value(argument: &str) -> Result<(&str, &str), UnreadableDefinition> {
    let (name, value) = argument.split_once('=').ok_or(UnreadableDefinition::NoValue)?;
    if cursor::is_name(name) {
        return Ok((name, value));
    }
    Err(UnreadableDefinition::NoName(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_a_weight() {
        assert_eq!(name_and_weight("a.sql"), Ok(("a.sql", 1)));
        assert_eq!(name_and_weight("a.sql@3"), Ok(("a.sql", 3)));
        assert_eq!(name_and_weight("a@b.sql@0"), Ok(("a@b.sql", 0)));
        assert_eq!(name_and_weight("x@2147483647"), Ok(("x", 2_147_483_647)));
        for wrong in ["a@b.sql", "a@", "a@-1", "a@+1", "a@1.5", "a@2147483648"] {
            let says = name_and_weight(wrong).unwrap_err().to_string();
            assert!(says.contains("is no weight: write NAME@2"), "{says}");
        }
    }

    #[test]
    fn a_definition_is_a_name_and_any_text() {
        assert_eq!(name_and_value("a=1"), Ok(("a", "1")));
        assert_eq!(name_and_value("a="), Ok(("a", "")));
        assert_eq!(name_and_value("a=b=c"), Ok(("a", "b=c")));
        for (wrong, says) in
            [("a", "write NAME=VALUE"), ("1a=2", "no digit first"), ("=2", "no name")]
        {
            let error = name_and_value(wrong).unwrap_err().to_string();
            assert!(error.contains(says), "{wrong}: {error}");
        }
    }
}
