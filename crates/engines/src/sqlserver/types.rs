//! Values in TDS: integers, text, timestamps, UUIDs or NULL, whatever the column's type.
//!
//! A timestamp is microseconds since 1970 here and a datetime2(6) on the server.

use std::borrow::Cow;

use hopcost_core::{Column, Kind, Row, hyphenated};

use super::super::server::call;
use super::super::server::wrong::Wrong;
use super::packet::{Reader, narrow, put_wide};
use hopcost_data::datasets::big_table_im::{small, uuid};

pub mod code {
    pub const GUID: u8 = 0x24;
    pub const INTEGER: u8 = 0x26;
    pub const DATETIME2: u8 = 0x2a;
    pub const VARCHAR: u8 = 0xa7;
    pub const CHAR: u8 = 0xaf;
    pub const NVARCHAR: u8 = 0xe7;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    code: u8,
    /// `IN_PIECES` for types without a maximum length.
    length: u16,
    scale: u8,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Integer(i64),
    /// A number in units of 10⁻ⁿ, and n.
    Decimal(i128, u8),
    Float(f64),
    /// Microseconds since 1970.
    Moment(i64),
    Identifier(u128),
    /// One byte per character.
    Text(Cow<'a, [u8]>),
    Wide(Cow<'a, [u8]>),
    Bytes(Cow<'a, [u8]>),
}

const IN_PIECES: u16 = u16::MAX;
const US_PER_DAY: i64 = 86_400_000_000;
/// From January 1 of the years 1 and 1900 to 1970.
const DAYS_FROM_1: i64 = 719_162;
const DAYS_FROM_1900: i64 = 25_567;
/// The unit of a datetime's time.
const TICKS_PER_SECOND: i64 = 300;

impl Type {
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Wrong> {
        let code = reader.integer(1) as u8;
        let (mut length, mut scale) = (0, 0);
        match code {
            // Types of fixed length, and date.
            0x28 | 0x30 | 0x32 | 0x34 | 0x38 | 0x3a..=0x3e | 0x7a | 0x7f => {}
            0x24 | 0x26 | 0x68 | 0x6d | 0x6e | 0x6f => length = reader.integer(1) as u16,
            0x29..=0x2b => scale = reader.integer(1) as u8,
            0x6a | 0x6c => {
                length = reader.integer(1) as u16;
                reader.bytes(1);
                scale = reader.integer(1) as u8;
            }
            0xa5 | 0xad => length = reader.integer(2) as u16,
            0xa7 | 0xaf | 0xe7 | 0xef => {
                length = reader.integer(2) as u16;
                reader.bytes(5);
            }
            // XML: the names of a schema may follow.
            0xf1 => {
                if reader.integer(1) != 0 {
                    reader.wide_text(1);
                    reader.wide_text(1);
                    reader.wide_text(2);
                }
                length = IN_PIECES;
            }
            _ => return Err(format!("its type {code:#04x} is not known here").into()),
        }
        Ok(Self { code, length, scale })
    }

    #[inline]
    pub fn value<'a>(self, reader: &mut Reader<'a>) -> Result<Value<'a>, Wrong> {
        let fixed = match self.code {
            0x30 | 0x32 => Some(1),
            0x34 => Some(2),
            0x38 | 0x3a | 0x3b | 0x7a => Some(4),
            0x3c..=0x3e | 0x7f => Some(8),
            _ => None,
        };
        if let Some(length) = fixed {
            return self.of_bytes(reader.bytes(length));
        }
        if self.length == IN_PIECES {
            return Ok(in_pieces(reader).map_or(Value::Null, |bytes| self.of_text(bytes.into())));
        }
        if self.code >= 0xa5 {
            let length = reader.integer(2) as u16;
            let is_missing = length == u16::MAX;
            let text = |reader: &mut Reader<'a>| self.of_text(reader.bytes(length.into()).into());
            return Ok(if is_missing { Value::Null } else { text(reader) });
        }
        match reader.integer(1) as usize {
            0 => Ok(Value::Null),
            length => self.of_bytes(reader.bytes(length)),
        }
    }

    fn of_text(self, bytes: Cow<'_, [u8]>) -> Value<'_> {
        match self.code {
            0xa7 | 0xaf => Value::Text(bytes),
            0xa5 | 0xad => Value::Bytes(bytes),
            _ => Value::Wide(bytes),
        }
    }

    #[inline]
    fn of_bytes(self, bytes: &[u8]) -> Result<Value<'_>, Wrong> {
        let mut reader = Reader(bytes);
        Ok(match (self.code, bytes.len()) {
            // tinyint is unsigned.
            (0x26 | 0x30 | 0x32 | 0x68, 1) => Value::Integer(bytes[0].into()),
            (0x26 | 0x34 | 0x38 | 0x7f, length @ (2 | 4 | 8)) => {
                Value::Integer(signed(&mut reader, length))
            }
            (0x6d | 0x3b, 4) => Value::Float(f32::from_bits(reader.integer(4) as u32).into()),
            (0x6d | 0x3e, 8) => Value::Float(f64::from_bits(reader.integer(8))),
            (0x6e | 0x7a, 4) => Value::Decimal(signed(&mut reader, 4).into(), 4),
            // The higher half comes first.
            (0x6e | 0x3c, 8) => {
                let high = signed(&mut reader, 4);
                Value::Decimal((high << 32 | reader.integer(4).cast_signed()).into(), 4)
            }
            (0x6f | 0x3a, 4) => {
                let days = reader.integer(2).cast_signed() - DAYS_FROM_1900;
                moment(days, reader.integer(2).cast_signed() * 60_000_000)?
            }
            (0x6f | 0x3d, 8) => {
                let days = signed(&mut reader, 4) - DAYS_FROM_1900;
                let ticks = signed(&mut reader, 4);
                moment(days, ticks * 1_000_000 / TICKS_PER_SECOND)?
            }
            (0x6a | 0x6c, length @ 2..=17) => {
                let sign = if reader.integer(1) == 0 { -1 } else { 1 };
                let mut sixteen = [0; 16];
                sixteen[..length - 1].copy_from_slice(reader.bytes(length - 1));
                let digits = i128::from_le_bytes(sixteen).checked_mul(sign);
                Value::Decimal(digits.ok_or("a decimal number beyond 38 digits")?, self.scale)
            }
            (0x24, 16) => Value::Identifier(identifier(*bytes.first_chunk().unwrap_or(&[0; 16]))),
            (0x28, 3) => moment(days(&mut reader), 0)?,
            (0x2a | 0x2b, _) => {
                let units = reader.integer(time_bytes(self.scale)).cast_signed();
                moment(days(&mut reader), in_us(units, self.scale))?
            }
            (code, length) => {
                let words =
                    format!("a value of type {code:#04x} with {length} bytes is not known here");
                return Err(words.into());
            }
        })
    }
}

fn moment<'a>(days: i64, us: i64) -> Result<Value<'a>, Wrong> {
    let us = days.checked_mul(US_PER_DAY).and_then(|days| days.checked_add(us));
    Ok(Value::Moment(us.ok_or("a point in time beyond all calendars")?))
}

fn days(reader: &mut Reader<'_>) -> i64 {
    reader.integer(3).cast_signed() - DAYS_FROM_1
}

/// From units of 10⁻ˢᶜᵃˡᵉ seconds to microseconds.
fn in_us(units: i64, scale: u8) -> i64 {
    match scale {
        7.. => units / 10,
        _ => units * 10_i64.pow(6 - u32::from(scale)),
    }
}

fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

#[inline]
fn signed(reader: &mut Reader<'_>, bytes: usize) -> i64 {
    let unused = 64 - 8 * bytes as u32;
    (reader.integer(bytes) << unused).cast_signed() >> unused
}

/// The first three groups of a GUID are little-endian.
fn identifier(bytes: [u8; 16]) -> u128 {
    u128::from_be_bytes(identifier_bytes(u128::from_be_bytes(bytes)))
}

pub fn identifier_bytes(identifier: u128) -> [u8; 16] {
    let mut bytes = identifier.to_be_bytes();
    bytes[..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    bytes
}

/// As a datetime2(6).
pub fn moment_bytes(us: i64) -> [u8; 8] {
    let (days, rest) = (us.div_euclid(US_PER_DAY) + DAYS_FROM_1, us.rem_euclid(US_PER_DAY));
    let mut bytes = [0; 8];
    bytes[..5].copy_from_slice(&rest.to_le_bytes()[..5]);
    bytes[5..].copy_from_slice(&days.to_le_bytes()[..3]);
    bytes
}

/// Joins the pieces of a value; `None` for NULL.
fn in_pieces(reader: &mut Reader<'_>) -> Option<Vec<u8>> {
    if reader.integer(8) == u64::MAX {
        return None;
    }
    let mut bytes = Vec::new();
    loop {
        match reader.integer(4) as usize {
            0 => return Some(bytes),
            length => bytes.extend_from_slice(reader.bytes(length)),
        }
    }
}

impl Value<'_> {
    #[inline]
    pub fn add_to(&self, row: Row) -> Result<Row, Wrong> {
        Ok(match self {
            Self::Null => row.null(),
            Self::Integer(value) | Self::Moment(value) => row.integer(*value),
            Self::Decimal(digits, scale) => row.integer(whole(*digits, *scale)?),
            Self::Identifier(value) => row.text(&hyphenated(*value)),
            Self::Text(bytes) => {
                row.text(std::str::from_utf8(bytes).map_err(|_| "a text is no UTF-8")?)
            }
            Self::Wide(bytes) => row.text(&narrow(bytes)),
            Self::Float(value) => return Err(format!("{value} is no whole number").into()),
            Self::Bytes(_) => return Err("bytes are no answer of ours".into()),
        })
    }

    pub fn words(&self) -> Option<String> {
        Some(match self {
            Self::Null => return None,
            Self::Integer(value) | Self::Moment(value) => value.to_string(),
            Self::Decimal(digits, 0) => digits.to_string(),
            Self::Decimal(digits, scale) => {
                (*digits as f64 / 10_f64.powi((*scale).into())).to_string()
            }
            Self::Float(value) => value.to_string(),
            Self::Identifier(value) => hyphenated(*value),
            Self::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Wide(bytes) => narrow(bytes),
            Self::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }
}

fn whole(digits: i128, scale: u8) -> Result<i64, Wrong> {
    let unit = 10_i128.checked_pow(scale.into()).filter(|unit| digits % unit == 0);
    let number = unit.and_then(|unit| i64::try_from(digits / unit).ok());
    number.ok_or_else(|| format!("{digits}·10⁻{scale} is not whole, or beyond 64 bits").into())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    Integer(u8),
    Moment,
    Identifier,
    Digits,
    Small(usize),
}

const DIGITS: usize = 17;

impl Argument {
    /// bigint when the column is unknown.
    pub fn of(column: Option<&Column>) -> Self {
        match column.map(|column| column.kind) {
            Some(Kind::Timestamp) => Self::Moment,
            Some(Kind::Integer(0..=2)) => Self::Integer(2),
            Some(Kind::Integer(3..=4)) => Self::Integer(4),
            _ => Self::Integer(8),
        }
    }

    pub fn declared(self) -> &'static str {
        match self {
            Self::Integer(2) => "smallint",
            Self::Integer(4) => "int",
            Self::Integer(_) | Self::Small(_) => "bigint",
            Self::Moment => "datetime2(6)",
            Self::Identifier => "uniqueidentifier",
            Self::Digits => "nvarchar(17)",
        }
    }

    /// Returns the length of the value.
    pub fn make_room(self, out: &mut Vec<u8>) -> usize {
        const DIGIT_BYTES: u8 = 2 * DIGITS as u8;
        let (description, length): (&[u8], u8) = match self {
            Self::Integer(bytes) => (&[code::INTEGER, bytes], bytes),
            Self::Small(_) => (&[code::INTEGER, 8], 8),
            Self::Moment => (&[code::DATETIME2, 6], 8),
            Self::Identifier => (&[code::GUID, 16], 16),
            // No collation; a length of two bytes.
            Self::Digits => (&[code::NVARCHAR, DIGIT_BYTES, 0, 0, 0, 0, 0, 0], DIGIT_BYTES),
        };
        out.extend_from_slice(description);
        out.push(length);
        out.resize(out.len() + usize::from(self == Self::Digits) + usize::from(length), 0);
        length.into()
    }
}

impl call::Argument for Argument {
    #[inline]
    fn put(self, value: i64, place: &mut [u8]) -> Result<(), Wrong> {
        match self {
            Self::Integer(_) => place.copy_from_slice(&value.to_le_bytes()[..place.len()]),
            Self::Small(n) => place.copy_from_slice(&small(value)[n].to_le_bytes()),
            Self::Moment => place.copy_from_slice(&moment_bytes(value)),
            Self::Identifier => place.copy_from_slice(&identifier_bytes(uuid(value).to_owned())),
            Self::Digits => {
                let mut digits = itoa::Buffer::new();
                let mut wide = Vec::with_capacity(place.len());
                put_wide(&mut wide, &digits.format(value)[..DIGITS]);
                place.copy_from_slice(&wide);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::packet::wide;
    use super::call::Argument as _;
    use super::*;

    fn read(bytes: &[u8]) -> Value<'_> {
        let mut reader = Reader(bytes);
        let kind = Type::read(&mut reader).unwrap();
        let value = kind.value(&mut reader).unwrap();
        assert!(reader.0.is_empty(), "{:?} is left", reader.0);
        value
    }

    #[test]
    fn arguments_are_read_as_they_are_written() {
        let digits = 12_345_678_901_234_567;
        for (argument, value, expected) in [
            (Argument::Integer(2), -7, Value::Integer(-7)),
            (Argument::Integer(4), -70_000, Value::Integer(-70_000)),
            (Argument::Integer(8), i64::MIN, Value::Integer(i64::MIN)),
            (Argument::Moment, 1_700_000_000_123_456, Value::Moment(1_700_000_000_123_456)),
            (Argument::Identifier, 99, Value::Identifier(uuid(99))),
            (Argument::Digits, digits, Value::Wide(wide("12345678901234567").into())),
        ] {
            let mut out = Vec::new();
            let length = argument.make_room(&mut out);
            let start = out.len() - length;
            argument.put(value, &mut out[start..]).unwrap();
            assert_eq!(read(&out), expected);
        }
    }

    #[test]
    fn values_of_all_lengths_are_read() {
        let text = |bytes: &[u8]| [&[0xa7, 3, 0, 0, 0, 0, 0, 0], bytes].concat();
        let pieces = [
            &[0xe7, 255, 255, 0, 0, 0, 0, 0, 254, 255, 255, 255, 255, 255, 255, 255][..],
            &[2, 0, 0, 0, b'a', 0, 2, 0, 0, 0, b'b', 0, 0, 0, 0, 0],
        ];
        for (bytes, expected) in [
            (vec![0x38, 0xff, 0xff, 0xff, 0xff], Value::Integer(-1)),
            (vec![0x26, 4, 0], Value::Null),
            (vec![0x30, 255], Value::Integer(255)),
            (vec![0x6c, 5, 9, 2, 5, 0, 44, 1, 0, 0], Value::Decimal(-300, 2)),
            (text(&[2, 0, b'a', b'b']), Value::Text(b"ab".into())),
            (text(&[255, 255]), Value::Null),
            (pieces.concat(), Value::Wide(wide("ab").into())),
        ] {
            assert_eq!(read(&bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn points_in_time_are_read_at_every_scale() {
        // 1970-01-02 00:00:01 as datetime, datetime2(0), datetime2(3), datetime2(7).
        let datetime = [25_568_u32, 300].map(u32::to_le_bytes).concat();
        let of_scale = |scale: u8, bytes: usize| {
            let units = 10_u64.pow(scale.into()).to_le_bytes();
            let days = &719_163_u32.to_le_bytes()[..3];
            [&[0x2a, scale, bytes as u8 + 3], &units[..bytes], days].concat()
        };
        let datetime = [vec![0x6f, 8, 8], datetime].concat();
        for bytes in [datetime, of_scale(0, 3), of_scale(3, 4), of_scale(7, 5)] {
            assert_eq!(read(&bytes), Value::Moment(US_PER_DAY + 1_000_000), "{bytes:?}");
        }
    }

    #[test]
    fn sums_are_whole_numbers() {
        assert_eq!([whole(-12, 0), whole(70_000, 3)], [Ok(-12), Ok(70)]);
        assert!(whole(75, 1).is_err() && whole(i128::MAX, 0).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_value_or_refused(code in any::<u8>(), bytes in vec(any::<u8>(), 0..48)) {
            let bytes = [&[code][..], &bytes].concat();
            let mut reader = Reader(&bytes);
            if let Ok(kind) = Type::read(&mut reader)
                && let Ok(value) = kind.value(&mut reader)
            {
                let _ = (value.add_to(Row::new()), value.words());
            }
        }
    }
}
