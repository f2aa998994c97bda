//! Operators and functions of expressions.

use std::cmp::Ordering;
use std::f64::consts::PI;
use std::ops::RangeInclusive;

use fastrand::Rng;

use super::hashes::{fnv1a, murmur2};
use super::random::{Shape, permute, uniform};
use super::value::Value;
use super::wrong::ValueError;

/// NULL makes NULL, except for [`Function::Is`] and `debug`.
#[derive(Clone, Copy, Debug)]
pub enum Function {
    /// On doubles if either side is one, else on integers.
    Arithmetic(Arithmetic),
    Comparison(Comparison),
    Bits(Bits),
    Modulo,
    Not,
    /// Is it NULL, true or false, without conversion?
    Is,
    Absolute,
    Debug,
    Integer,
    Real(fn(f64) -> f64),
    /// On doubles.
    Power,
    Pi,
    Least,
    Greatest,
    Fnv1a,
    Murmur2,
    /// The position in a shuffled range, with its seed.
    Permute,
    Uniform,
    Shaped(Shape),
}

#[derive(Clone, Copy, Debug)]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Clone, Copy, Debug)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug)]
pub enum Bits {
    And,
    Or,
    Xor,
    Left,
    Right,
}

pub struct Known {
    pub name: &'static str,
    pub function: Function,
    pub arguments: RangeInclusive<usize>,
    /// Does `:default_seed` replace a missing last argument?
    pub has_seed: bool,
}

const fn known(name: &'static str, function: Function, arguments: usize) -> Known {
    Known { name, function, arguments: arguments..=arguments, has_seed: false }
}

const fn seeded(name: &'static str, function: Function, arguments: usize) -> Known {
    Known { name, function, arguments: arguments - 1..=arguments, has_seed: true }
}

const fn of_many(name: &'static str, function: Function) -> Known {
    Known { name, function, arguments: 1..=usize::MAX, has_seed: false }
}

pub static FUNCTIONS: [Known; 21] = [
    known("abs", Function::Absolute, 1),
    known("debug", Function::Debug, 1),
    known("double", Function::Real(std::convert::identity), 1),
    known("exp", Function::Real(f64::exp), 1),
    of_many("greatest", Function::Greatest),
    seeded("hash", Function::Murmur2, 2),
    seeded("hash_fnv1a", Function::Fnv1a, 2),
    seeded("hash_murmur2", Function::Murmur2, 2),
    known("int", Function::Integer, 1),
    of_many("least", Function::Least),
    known("ln", Function::Real(f64::ln), 1),
    known("mod", Function::Modulo, 2),
    seeded("permute", Function::Permute, 3),
    known("pi", Function::Pi, 0),
    known("pow", Function::Power, 2),
    known("power", Function::Power, 2),
    known("random", Function::Uniform, 2),
    known("random_exponential", Function::Shaped(Shape::Exponential), 3),
    known("random_gaussian", Function::Shaped(Shape::Gaussian), 3),
    known("random_zipfian", Function::Shaped(Shape::Zipfian), 3),
    known("sqrt", Function::Real(f64::sqrt), 1),
];

impl Function {
    #[inline]
    pub fn of(self, values: &[Value], dice: &mut Rng) -> Result<Value, ValueError> {
        match (self, values) {
            (Self::Arithmetic(operator), &[Value::Integer(left), Value::Integer(right)]) => {
                operator.of(left, right)
            }
            (Self::Uniform, &[Value::Integer(low), Value::Integer(high)]) => {
                uniform(dice, low, high).map(Value::Integer)
            }
            _ => self.of_any(values, dice),
        }
    }

    fn of_any(self, values: &[Value], dice: &mut Rng) -> Result<Value, ValueError> {
        let takes_null = matches!(self, Self::Is | Self::Debug);
        if !takes_null && values.iter().any(|value| matches!(value, Value::Null)) {
            return Ok(Value::Null);
        }
        Ok(match (self, values) {
            (Self::Arithmetic(operator), &[left, right]) => arithmetic(operator, left, right)?,
            (Self::Comparison(operator), &[left, right]) => {
                Value::Boolean(operator.holds(order(left, right)?))
            }
            (Self::Bits(operator), &[left, right]) => {
                Value::Integer(operator.of(left.integer()?, right.integer()?))
            }
            (Self::Modulo, &[left, right]) => modulo(left.integer()?, right.integer()?)?,
            (Self::Not, &[value]) => Value::Boolean(!value.boolean()?),
            (Self::Is, &[value, other]) => Value::Boolean(value == other),
            (Self::Absolute, &[Value::Integer(value)]) => {
                let absolute = value.checked_abs();
                Value::Integer(absolute.ok_or_else(|| too_large(format!("abs({value})")))?)
            }
            (Self::Absolute, &[value]) => Value::Double(value.double()?.abs()),
            (Self::Debug, &[value]) => value,
            (Self::Integer, &[value]) => Value::Integer(value.integer()?),
            (Self::Real(function), &[value]) => Value::Double(function(value.double()?)),
            (Self::Power, &[base, exponent]) => {
                Value::Double(base.double()?.powf(exponent.double()?))
            }
            (Self::Pi, []) => Value::Double(PI),
            (Self::Least, values) => extreme(values, Ordering::Less)?,
            (Self::Greatest, values) => extreme(values, Ordering::Greater)?,
            (Self::Fnv1a, &[value, seed]) => {
                Value::Integer(fnv1a(value.integer()?, seed.integer()?))
            }
            (Self::Murmur2, &[value, seed]) => {
                Value::Integer(murmur2(value.integer()?, seed.integer()?))
            }
            (Self::Permute, &[value, size, seed]) => {
                Value::Integer(permute(value.integer()?, size.integer()?, seed.integer()?)?)
            }
            (Self::Uniform, &[low, high]) => {
                Value::Integer(uniform(dice, low.integer()?, high.integer()?)?)
            }
            (Self::Shaped(shape), &[low, high, parameter]) => {
                let (low, high) = (low.integer()?, high.integer()?);
                Value::Integer(shape.draw(dice, low, high, parameter.double()?)?)
            }
            _ => unreachable!("the grammar counts arguments"),
        })
    }
}

fn has_double(values: &[Value]) -> bool {
    values.iter().any(|value| matches!(value, Value::Double(_)))
}

fn too_large(what: String) -> ValueError {
    ValueError::BeyondIntegers(what.into())
}

fn arithmetic(operator: Arithmetic, left: Value, right: Value) -> Result<Value, ValueError> {
    use Arithmetic::{Add, Divide, Multiply, Subtract};
    if has_double(&[left, right]) {
        let (left, right) = (left.double()?, right.double()?);
        return Ok(Value::Double(match operator {
            Add => left + right,
            Subtract => left - right,
            Multiply => left * right,
            Divide => left / right,
        }));
    }
    operator.of(left.integer()?, right.integer()?)
}

impl Arithmetic {
    #[inline]
    fn of(self, left: i64, right: i64) -> Result<Value, ValueError> {
        let (result, sign) = match self {
            Self::Add => (left.checked_add(right), '+'),
            Self::Subtract => (left.checked_sub(right), '-'),
            Self::Multiply => (left.checked_mul(right), '*'),
            Self::Divide if right == 0 => return Err(ValueError::DividedByZero(left)),
            Self::Divide => (left.checked_div(right), '/'),
        };
        let result = result.ok_or_else(|| too_large(format!("{left} {sign} {right}")))?;
        Ok(Value::Integer(result))
    }
}

fn modulo(left: i64, right: i64) -> Result<Value, ValueError> {
    match right {
        0 => Err(ValueError::DividedByZero(left)),
        // The smallest integer by -1 has remainder 0, though its quotient overflows.
        _ => Ok(Value::Integer(left.wrapping_rem(right))),
    }
}

/// `None` for NaN.
fn order(left: Value, right: Value) -> Result<Option<Ordering>, ValueError> {
    Ok(if has_double(&[left, right]) {
        left.double()?.partial_cmp(&right.double()?)
    } else {
        Some(left.integer()?.cmp(&right.integer()?))
    })
}

impl Comparison {
    fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::NotEqual => order != Some(Ordering::Equal),
            Self::Less => order == Some(Ordering::Less),
            Self::LessOrEqual => order.is_some_and(Ordering::is_le),
            Self::Greater => order == Some(Ordering::Greater),
            Self::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
        }
    }
}

impl Bits {
    /// Shift counts use their last six bits, as processors do for pgbench.
    fn of(self, left: i64, right: i64) -> i64 {
        match self {
            Self::And => left & right,
            Self::Or => left | right,
            Self::Xor => left ^ right,
            Self::Left => left.wrapping_shl(right as u32),
            Self::Right => left.wrapping_shr(right as u32),
        }
    }
}

fn extreme(values: &[Value], wanted: Ordering) -> Result<Value, ValueError> {
    if has_double(values) {
        let values = values.iter().map(|value| value.double()).collect::<Result<Vec<_>, _>>()?;
        return Ok(most(&values, wanted).map_or(Value::Null, Value::Double));
    }
    let values = values.iter().map(|value| value.integer()).collect::<Result<Vec<_>, _>>()?;
    Ok(most(&values, wanted).map_or(Value::Null, Value::Integer))
}

fn most<T: Copy + PartialOrd>(values: &[T], wanted: Ordering) -> Option<T> {
    let better = |a: T, b: T| if a.partial_cmp(&b) == Some(wanted) { a } else { b };
    values.iter().copied().reduce(better)
}
