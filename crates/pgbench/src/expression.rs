//! Expressions of `\set`, `\if` and `\elif`.

use super::functions::Function;
use super::names::Name;
use super::session::Session;
use super::value::Value;
use super::wrong::ValueError;

#[derive(Clone, Debug)]
pub enum Expression {
    Constant(Value),
    Variable(Name),
    Call(Function, Vec<Expression>),
    /// `AND`, settled if the first side is false, or `OR`, settled if it is true. The second side
    /// is evaluated only if the first does not settle it.
    Logic {
        settled_by: bool,
        sides: Box<[Expression; 2]>,
    },
    /// Only the selected branch is evaluated.
    Case {
        branches: Vec<(Expression, Expression)>,
        otherwise: Box<Expression>,
    },
}

impl Expression {
    #[inline]
    pub fn value(&self, session: &mut Session) -> Result<Value, ValueError> {
        match self {
            Self::Constant(value) => Ok(*value),
            Self::Variable(name) => session.value(*name),
            composed => composed.composed_value(session),
        }
    }

    fn composed_value(&self, session: &mut Session) -> Result<Value, ValueError> {
        match self {
            Self::Constant(_) | Self::Variable(_) => self.value(session),
            Self::Call(function, arguments) => {
                // Nearly all have two or three arguments, which need no allocation.
                match &**arguments {
                    [first, second] => {
                        let values = [first.value(session)?, second.value(session)?];
                        function.of(&values, session.dice())
                    }
                    [first, second, third] => {
                        let (first, second) = (first.value(session)?, second.value(session)?);
                        function.of(&[first, second, third.value(session)?], session.dice())
                    }
                    all => {
                        let values = all.iter().map(|argument| argument.value(session));
                        function.of(&values.collect::<Result<Vec<_>, _>>()?, session.dice())
                    }
                }
            }
            Self::Logic { settled_by, sides } => {
                let [first, second] = &**sides;
                // Unlike in SQL, NULL on the first side settles it as NULL: pgbench evaluates no
                // further.
                match first.value(session)? {
                    Value::Null => return Ok(Value::Null),
                    value if value.boolean()? == *settled_by => return Ok(value),
                    _ => {}
                }
                match second.value(session)? {
                    Value::Null => Ok(Value::Null),
                    value => value.boolean().map(Value::Boolean),
                }
            }
            Self::Case { branches, otherwise } => {
                for (condition, then) in branches {
                    if condition.value(session)?.holds() {
                        return then.value(session);
                    }
                }
                otherwise.value(session)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::corpus::{EXPRESSIONS, cases};
    use super::super::cursor::Cursor;
    use super::super::grammar;
    use super::*;

    fn evaluate(text: &str) -> Result<Value, ValueError> {
        let presets = [
            ("default_seed", Value::Integer(5432)),
            ("two", Value::Integer(2)),
            ("half", Value::Double(0.5)),
            ("unknown", Value::Null),
        ];
        let mut session = Session::new(1, &presets);
        session.define("text", "12").unwrap();
        let expression = grammar::read(&mut Cursor::new("s", text));
        expression.unwrap_or_else(|wrong| panic!("{text}: {wrong}")).value(&mut session)
    }

    #[track_caller]
    fn corpus(section: &str) {
        for (text, expected) in cases(EXPRESSIONS, section) {
            if let Some(words) = expected.strip_prefix("error: ") {
                let says = evaluate(&text).expect_err(&text).to_string();
                assert!(says.contains(words), "{text}: {says}");
            } else {
                assert_eq!(evaluate(&text), Value::read(expected), "{text}");
            }
        }
    }

    #[test]
    fn whole_numbers_stay_whole_and_a_double_makes_doubles() {
        corpus("whole_numbers_stay_whole_and_a_double_makes_doubles");
    }

    #[test]
    fn operators_bind_as_in_postgresql() {
        corpus("operators_bind_as_in_postgresql");
    }

    #[test]
    fn comparisons_take_numbers_of_both_kinds() {
        corpus("comparisons_take_numbers_of_both_kinds");
    }

    #[test]
    fn null_makes_null_but_can_be_asked_for() {
        corpus("null_makes_null_but_can_be_asked_for");
    }

    #[test]
    fn what_is_settled_is_not_looked_at() {
        corpus("what_is_settled_is_not_looked_at");
    }

    #[test]
    fn functions_do_what_their_names_say() {
        corpus("functions_do_what_their_names_say");
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        corpus("what_does_not_fit_is_an_error");
    }
}
