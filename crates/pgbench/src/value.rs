//! Values of variables: conversions, and how they are sent.

use super::wrong::ValueError;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
}

/// 2^63, the first number above all `i64`.
const BEYOND_INTEGERS: f64 = 9_223_372_036_854_775_808.0;

/// Significant digits of a double that is sent.
const DIGITS: i32 = 15;

impl Value {
    /// Parses a text from the command line or the database.
    ///
    /// `true` and `yes`, `false` and `no` may be abbreviated, as in pgbench.
    pub fn read(text: &str) -> Result<Self, ValueError> {
        let lower = text.to_ascii_lowercase();
        let cut_of = |word: &str| word.starts_with(&lower);
        match lower.as_str() {
            "" => Err(ValueError::Empty),
            "null" => Ok(Self::Null),
            "on" => Ok(Self::Boolean(true)),
            "off" | "of" => Ok(Self::Boolean(false)),
            _ if cut_of("true") || cut_of("yes") => Ok(Self::Boolean(true)),
            _ if cut_of("false") || cut_of("no") => Ok(Self::Boolean(false)),
            number => read_number(number.trim_start()),
        }
    }

    /// False for NULL, which writes nothing.
    pub fn write(self, into: &mut Vec<u8>) -> bool {
        match self {
            Self::Null => return false,
            Self::Boolean(value) => {
                into.extend_from_slice(if value { b"true" } else { b"false" });
            }
            Self::Integer(value) => {
                into.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
            }
            Self::Double(value) => into.extend_from_slice(text_of_double(value).as_bytes()),
        }
        true
    }

    pub fn text(self) -> Option<String> {
        let mut text = Vec::new();
        if self.write(&mut text) { String::from_utf8(text).ok() } else { None }
    }

    pub fn holds(self) -> bool {
        match self {
            Self::Null => false,
            Self::Boolean(value) => value,
            Self::Integer(value) => value != 0,
            Self::Double(value) => value != 0.0,
        }
    }

    /// No other type converts to a boolean.
    pub fn boolean(self) -> Result<bool, ValueError> {
        match self {
            Self::Boolean(value) => Ok(value),
            _ => Err(ValueError::NoBoolean(self.described().into())),
        }
    }

    /// A double is rounded half to even.
    #[inline]
    pub fn integer(self) -> Result<i64, ValueError> {
        match self {
            Self::Integer(value) => Ok(value),
            other => other.rounded(),
        }
    }

    fn rounded(self) -> Result<i64, ValueError> {
        let value = self.double()?;
        let rounded = value.round_ties_even();
        let fits = (-BEYOND_INTEGERS..BEYOND_INTEGERS).contains(&rounded);
        fits.then_some(rounded as i64)
            .ok_or_else(|| ValueError::BeyondIntegers(text_of_double(value).into()))
    }

    pub fn double(self) -> Result<f64, ValueError> {
        match self {
            Self::Integer(value) => Ok(value as f64),
            Self::Double(value) => Ok(value),
            _ => Err(ValueError::NoNumber(self.described().into())),
        }
    }

    fn described(self) -> String {
        let kind = match self {
            Self::Null => return "NULL".into(),
            Self::Boolean(_) => "boolean",
            Self::Integer(_) => "integer",
            Self::Double(_) => "double",
        };
        format!("the {kind} {}", self.text().unwrap_or_default())
    }
}

/// A text of digits only must be an integer.
fn read_number(text: &str) -> Result<Value, ValueError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let fits = text.parse().map(Value::Integer);
        return fits.map_err(|_| ValueError::BeyondIntegers(text.into()));
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_infinite() && text.contains(|c: char| c.is_ascii_digit()) => {
            Err(ValueError::BeyondDoubles(text.into()))
        }
        Ok(number) => Ok(Value::Double(number)),
        Err(_) => Err(ValueError::NoValue(text.into())),
    }
}

/// As C's `%.15g`, and as PostgreSQL writes numbers that are not finite.
fn text_of_double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    let decimals = DIGITS as usize - 1;
    let scientific = format!("{value:.decimals$e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific.as_str(), "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..DIGITS).contains(&exponent) {
        let decimals = (DIGITS - 1 - exponent) as usize;
        return without_last_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_last_zeros(digits), exponent.abs())
}

fn without_last_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_sent_with_fifteen_digits() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (15.0, "15"),
            (-0.00032, "-0.00032"),
            (0.1 + 0.2, "0.3"),
            (1.0 / 3.0, "0.333333333333333"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123_456_789_012_345.6, "123456789012346"),
            (999_999_999_999_999.9, "1e+15"),
            (1e15, "1e+15"),
            (1e30, "1e+30"),
            (-2.5e-300, "-2.5e-300"),
            (8.507_059_173_023_46e37, "8.50705917302346e+37"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, text) in cases {
            assert_eq!(Value::Double(value).text().unwrap(), text);
        }
    }

    #[test]
    fn the_other_values_are_sent_plainly() {
        assert_eq!(Value::Null.text(), None);
        assert_eq!(Value::Boolean(true).text().unwrap(), "true");
        assert_eq!(Value::Integer(i64::MIN).text().unwrap(), "-9223372036854775808");
    }

    #[test]
    fn texts_from_outside_become_what_they_look_like() {
        use Value::{Boolean, Double, Integer, Null};
        let cases = [
            ("null", Null),
            ("NULL", Null),
            ("t", Boolean(true)),
            ("Yes", Boolean(true)),
            ("on", Boolean(true)),
            ("of", Boolean(false)),
            ("n", Boolean(false)),
            ("FALSE", Boolean(false)),
            ("+3", Integer(3)),
            ("-10", Integer(-10)),
            (" 7", Integer(7)),
            ("-10.1", Double(-10.1)),
            ("1e3", Double(1000.0)),
        ];
        for (text, value) in cases {
            assert_eq!(Value::read(text), Ok(value), "{text}");
        }
        for text in ["", "o", "trues", "1a", "9223372036854775808", "1e999", "abc"] {
            assert!(Value::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_numbers_become_numbers() {
        let rounded = [(0.5, 0), (1.5, 2), (2.5, 2), (-1.5, -2), (7.3, 7), (-7.8, -8)];
        for (double, integer) in rounded {
            assert_eq!(Value::Double(double).integer(), Ok(integer), "{double}");
        }
        for value in [1e19, -1e19, f64::NAN, 9_223_372_036_854_775_808.0] {
            assert!(Value::Double(value).integer().is_err(), "{value}");
        }
        assert_eq!(Value::Double(-9_223_372_036_854_775_808.0).integer(), Ok(i64::MIN));
        assert!(Value::Boolean(true).integer().is_err() && Value::Null.double().is_err());
        assert!(Value::Integer(1).boolean().is_err() && Value::Integer(1).holds());
        assert!(!Value::Null.holds() && !Value::Double(0.0).holds() && Value::Double(0.1).holds());
    }
}
