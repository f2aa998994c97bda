//! What stands behind `\set`, `\if` and `\elif`.

use super::functions::Function;
use super::names::Name;
use super::session::Session;
use super::value::Value;
use super::wrong::ValueError;

/// An expression that has been read.
#[derive(Clone, Debug)]
pub enum Expression {
    /// Written there.
    Constant(Value),
    /// By name.
    Variable(Name),
    /// An operator or a function, with what it works on.
    Call(Function, Vec<Expression>),
    /// `AND`, settled where the first side is false, or `OR`, settled where it is true. The second
    /// side is only looked at where the first leaves it open.
    Logic {
        /// What settles it.
        settled_by: bool,
        /// Both sides.
        sides: Box<[Expression; 2]>,
    },
    /// Only the branch that is taken is looked at.
    Case {
        /// Each condition with what holds then.
        branches: Vec<(Expression, Expression)>,
        /// What holds where no condition does.
        otherwise: Box<Expression>,
    },
}

impl Expression {
    /// What it comes to now, or why it comes to nothing.
    #[inline]
    pub fn value(&self, session: &mut Session) -> Result<Value, ValueError> {
        match self {
            Self::Constant(value) => Ok(*value),
            Self::Variable(name) => session.value(*name),
            // Only what has parts is worth a call.
            composed => composed.composed_value(session),
        }
    }

    fn composed_value(&self, session: &mut Session) -> Result<Value, ValueError> {
        match self {
            Self::Constant(_) | Self::Variable(_) => self.value(session),
            Self::Call(function, arguments) => {
                // Nearly all have two or three, which need no memory of their own.
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
                // NULL on the first side settles it as NULL, unlike in SQL: pgbench looks no further.
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
    use super::super::cursor::Cursor;
    use super::super::grammar;
    use super::*;

    fn evaluate(text: &str) -> Result<Value, ValueError> {
        let mut session = Session::new(
            1,
            &[
                ("default_seed", Value::Integer(5432)),
                ("two", Value::Integer(2)),
                ("half", Value::Double(0.5)),
                ("unknown", Value::Null),
            ],
        );
        session.define("text", "12").unwrap();
        let expression = grammar::read(&mut Cursor::new("s", text));
        expression.unwrap_or_else(|wrong| panic!("{text}: {wrong}")).value(&mut session)
    }

    #[track_caller]
    fn is(text: &str, expected: Value) {
        assert_eq!(evaluate(text), Ok(expected), "{text}");
    }

    #[track_caller]
    fn is_integer(text: &str, expected: i64) {
        is(text, Value::Integer(expected));
    }

    #[track_caller]
    fn fails(text: &str, words: &str) {
        let says = evaluate(text).expect_err(text).to_string();
        assert!(says.contains(words), "{text}: {says}");
    }

    #[test]
    fn whole_numbers_stay_whole_and_a_double_makes_doubles() {
        for (text, expected) in [
            ("7 / 2", 3),
            ("-7 / 2", -3),
            ("7 % 3", 1),
            ("-7 % 3", -1),
            ("5.5 % 4", 2),
            ("17 / (4|1) + ( 4 + (7 >> 2))", 8),
            ("3 % -1", 0),
            ("int(5.4 + 3.8)", 9),
            (":text + :two", 14),
        ] {
            is_integer(text, expected);
        }
        for (text, expected) in [
            ("7 / 2.0", 3.5),
            ("7. / 2", 3.5),
            ("1 + .5e1", 6.0),
            ("-:half", -0.5),
            ("double(5432)", 5432.0),
            ("2 * :half", 1.0),
            ("1e2", 100.0),
            ("1 / 0.0", f64::INFINITY),
        ] {
            is(text, Value::Double(expected));
        }
    }

    #[test]
    fn operators_bind_as_in_postgresql() {
        for (text, expected) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("10 - 4 - 3", 3),
            ("100 / 10 / 5", 2),
            ("2 + 3 << 1", 10),
            ("1 | 2 & 2", 2),
            ("6 # 3", 5),
            ("- 2 * 3", -6),
            ("- - 2", 2),
            ("~ 1", -2),
            ("~ 1 + 2", -4),
            ("~ 1 & 7", 6),
            ("2 * ~ 1 + 2", -8),
            ("-1 >> 1", -1),
            ("1 << 65", 2),
            ("-9223372036854775808", i64::MIN),
        ] {
            is_integer(text, expected);
        }
        for (text, expected) in [
            ("1 + 1 = 2", true),
            ("1 < 2 AND 2 < 3", true),
            ("true OR true AND false", true),
            ("NOT 1 = 2", true),
            ("NOT false AND false", false),
            ("1 < 2 IS TRUE", true),
            ("1 = 1 AND NOT 2 <> 2 or false", true),
        ] {
            is(text, Value::Boolean(expected));
        }
    }

    #[test]
    fn comparisons_take_numbers_of_both_kinds() {
        for text in ["1 = 1.0", "1 <> 2", "1 != 1.5", "1 <= 1", "2 >= 1.5", "2 > 1", "-1 < 0"] {
            is(text, Value::Boolean(true));
        }
        for text in ["1 = 2", "1 <> 1.0", "2 <= 1", "1 >= 2", "1 > 1", "sqrt(-1) = sqrt(-1)"] {
            is(text, Value::Boolean(false));
        }
        is("sqrt(-1) <> sqrt(-1)", Value::Boolean(true));
        fails("true = true", "the boolean true is no number");
    }

    #[test]
    fn null_makes_null_but_can_be_asked_for() {
        for text in [
            "NULL + 1",
            "NULL * exp(NULL)",
            "NOT NULL",
            "NULL = NULL",
            "NULL AND false",
            "NULL OR true",
            "true AND null",
            "greatest(1, :unknown)",
            "CASE WHEN false THEN 1 END",
            "debug(NULL)",
        ] {
            is(text, Value::Null);
        }
        for text in [
            "NULL IS NULL",
            ":unknown ISNULL",
            "1 NOTNULL",
            "1 IS NOT NULL",
            "NOT 1 IS NULL",
            "true IS TRUE",
            "false is not true",
            "1 IS NOT TRUE",
            "NULL IS NOT FALSE",
            ":unknown IS NULL IS TRUE",
        ] {
            is(text, Value::Boolean(true));
        }
    }

    #[test]
    fn what_is_settled_is_not_looked_at() {
        is("false AND 1 / 0 = 1", Value::Boolean(false));
        is("true OR 1 / 0 = 1", Value::Boolean(true));
        is_integer("CASE WHEN 1 = 1 THEN 5 ELSE 1 / 0 END", 5);
        is_integer("case when 0 then 1 / 0 when 0.5 then 6 end", 6);
        is_integer("CASE WHEN :unknown THEN 1 WHEN false THEN 2 ELSE 3 END + 1", 4);
        fails("true AND 1", "the integer 1 is no boolean");
        fails("1 OR true", "the integer 1 is no boolean");
        fails("NOT 0", "the integer 0 is no boolean");
    }

    #[test]
    fn functions_do_what_their_names_say() {
        for (text, expected) in [
            ("abs(-17)", 17),
            ("ABS(17)", 17),
            ("debug(5)", 5),
            ("greatest(5, 4, 3, 2)", 5),
            ("least(5)", 5),
            ("mod(54, 32)", 22),
            ("random(3, 3)", 3),
            ("hash(10) - hash(10, 5432)", 0),
            ("hash_murmur2(10)", -5_817_877_081_768_721_676),
            ("hash_fnv1a(10)", -7_793_829_335_365_542_153),
            ("permute(0, 3) + permute(1, 3) + permute(2, 3)", 3),
            (
                "random_zipfian(7, 7, 1.5) + random_gaussian(1, 1, 2) * random_exponential(2, 2, 1)",
                9,
            ),
        ] {
            is_integer(text, expected);
        }
        for (text, expected) in [
            ("abs(-0.5)", 0.5),
            ("least(5, 4, 3, 2.1)", 2.1),
            ("greatest(5, 4.0)", 5.0),
            ("pow(2.0, 10)", 1024.0),
            ("power(2, 3)", 8.0),
            ("sqrt(2 * 2)", 2.0),
            ("ln(exp(1))", 1.0),
            ("pi()", std::f64::consts::PI),
        ] {
            is(text, Value::Double(expected));
        }
        fails("abs(true)", "the boolean true is no number");
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        fails("9223372036854775807 + 1", "9223372036854775807 + 1 does not fit an integer");
        fails("-9223372036854775808 - 1", "does not fit");
        fails("4611686018427387904 * 2", "does not fit");
        fails("-9223372036854775808 / -1", "does not fit");
        fails("--9223372036854775808", "does not fit");
        fails("abs(-9223372036854775808)", "does not fit");
        fails("int(1e30)", "1e+30 does not fit");
        fails("1 / 0", "1 is divided by zero");
        fails("mod(1, 0)", "1 is divided by zero");
        is_integer("-9223372036854775808 % -1", 0);
        fails("random(2, 1)", "from 2 up to 1");
        fails(":missing + 1", "nothing has set :missing");
    }
}
