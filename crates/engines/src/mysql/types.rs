//! Values in MySQL's protocol: an integer, a text or NULL, whatever the column's type.
//!
//! A timestamp is microseconds since 1970 here and a DATETIME(6) on the server. A sum of integers
//! comes back as DECIMAL, a UUID as 16 bytes without a character set.

use hopcost_core::{Column, Dataset, Kind, Row, hyphenated};

use super::super::server::wrong::Wrong;
use super::super::server::{call, compared_with};
use super::calendar::DateTime;
use super::packet::Reader;
use super::wire::UTF8MB4_BIN;
use hopcost_data::datasets::big_table_im::{small, uuid};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Integer {
        bytes: usize,
        is_signed: bool,
    },
    DateTime,
    Digits,
    Text,
    /// CHAR of this many characters: the server strips the trailing blanks.
    Padded(usize),
    Identifier,
}

const UNSIGNED: u64 = 0x20;
const MOST_PADDED: usize = 255;
const BINARY: u64 = 63;

impl Type {
    pub fn of(description: &[u8]) -> Result<Self, Wrong> {
        let mut reader = Reader(description);
        // Catalog, schema, table, original table, name, original name; then the length of the rest.
        let mut name = &b""[..];
        for n in 0..6 {
            let text = reader.text().unwrap_or_default();
            name = if n == 4 { text } else { name };
        }
        reader.length();
        let (character_set, length) = (reader.integer(2), reader.integer(4));
        let (kind, flags) = (reader.integer(1), reader.integer(2));
        let integer = |bytes| Self::Integer { bytes, is_signed: flags & UNSIGNED == 0 };
        Ok(match kind {
            1 => integer(1),
            2 | 13 => integer(2),
            3 | 9 => integer(4),
            8 => integer(8),
            7 | 10 | 12 => Self::DateTime,
            0 | 246 => Self::Digits,
            254 if character_set == BINARY && length == 16 => Self::Identifier,
            254 if character_set == u64::from(UTF8MB4_BIN) => {
                Self::Padded((length as usize / 4).min(MOST_PADDED))
            }
            15 | 249..=254 => Self::Text,
            other => {
                let name = String::from_utf8_lossy(name);
                return Err(format!("the type {other} of '{name}' is not known here").into());
            }
        })
    }

    #[inline]
    pub fn add_to(self, row: Row, reader: &mut Reader<'_>) -> Result<Row, Wrong> {
        let text = |bytes| std::str::from_utf8(bytes).map_err(|_| "a text is no UTF-8");
        Ok(match self {
            Self::Integer { bytes, is_signed } => {
                let value = reader.integer(bytes);
                let unused = 64 - 8 * bytes as u32;
                let signed = (value << unused).cast_signed() >> unused;
                row.integer(if is_signed { signed } else { value.cast_signed() })
            }
            Self::DateTime => row.integer(date_time(reader).to_us()),
            Self::Digits => row.integer(digits(text(reader.text().unwrap_or_default())?)?),
            Self::Text => row.text(text(reader.text().unwrap_or_default())?),
            Self::Padded(width) => {
                let characters = text(reader.text().unwrap_or_default())?;
                if characters.len() < width {
                    return Ok(row.text(&format!("{characters:<width$}")));
                }
                row.text(characters)
            }
            Self::Identifier => {
                let bytes = reader.text().unwrap_or_default().try_into();
                let bytes = bytes.map_err(|_| "an identifier of an odd length")?;
                row.text(&hyphenated(u128::from_be_bytes(bytes)))
            }
        })
    }
}

/// Omitted trailing fields are zero.
fn date_time(reader: &mut Reader<'_>) -> DateTime {
    let length = reader.integer(1) as usize;
    let mut reader = Reader(reader.bytes(length));
    DateTime {
        year: reader.integer(2) as u16,
        month: reader.integer(1) as u8,
        day: reader.integer(1) as u8,
        hour: reader.integer(1) as u8,
        minute: reader.integer(1) as u8,
        second: reader.integer(1) as u8,
        microsecond: reader.integer(4) as u32,
    }
}

fn digits(text: &str) -> Result<i64, Wrong> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let number = whole.parse().ok().filter(|_| rest.bytes().all(|digit| digit == b'0'));
    number.ok_or_else(|| format!("'{text}' is not whole, or beyond 64 bits").into())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    Integer,
    /// Eleven bytes after their length.
    DateTime,
    /// The 16 bytes of the UUID derived from the number, after their length.
    Identifier,
    Digits,
    Small(usize),
}

const DIGITS: usize = 17;

impl Argument {
    pub fn code(self) -> u8 {
        match self {
            Self::Integer | Self::Small(_) => 8,
            Self::DateTime => 12,
            Self::Identifier | Self::Digits => 254,
        }
    }

    pub fn bytes(self) -> usize {
        match self {
            Self::Integer | Self::Small(_) => 8,
            Self::DateTime => 12,
            Self::Identifier => 1 + 16,
            Self::Digits => 1 + DIGITS,
        }
    }

    pub fn literal(self, value: i64) -> String {
        match self {
            Self::Integer => value.to_string(),
            Self::Small(n) => small(value)[n].to_string(),
            Self::DateTime => format!("'{}'", DateTime::from_us(value).words()),
            Self::Identifier => format!("x'{:032x}'", uuid(value)),
            Self::Digits => format!("'{value}'"),
        }
    }
}

impl call::Argument for Argument {
    #[inline]
    fn put(self, value: i64, place: &mut [u8]) -> Result<(), Wrong> {
        match self {
            Self::Integer => place.copy_from_slice(&value.to_le_bytes()),
            Self::Small(n) => place.copy_from_slice(&small(value)[n].to_le_bytes()),
            Self::DateTime => {
                let at = DateTime::from_us(value);
                place[0] = 11;
                place[1..3].copy_from_slice(&at.year.to_le_bytes());
                place[3..8].copy_from_slice(&[at.month, at.day, at.hour, at.minute, at.second]);
                place[8..12].copy_from_slice(&at.microsecond.to_le_bytes());
            }
            Self::Identifier => {
                place[0] = 16;
                place[1..].copy_from_slice(&uuid(value).to_be_bytes());
            }
            Self::Digits => {
                place[0] = DIGITS as u8;
                let mut digits = itoa::Buffer::new();
                place[1..].copy_from_slice(&digits.format(value).as_bytes()[..DIGITS]);
            }
        }
        Ok(())
    }
}

/// Derived from the columns they are compared with: MySQL reports no parameter types.
pub fn arguments(sql: &str, dataset: Option<&dyn Dataset>) -> Vec<Argument> {
    let columns = compared_with(sql, dataset).into_iter();
    let argument = |column: Option<Column>| match column.map(|column| column.kind) {
        Some(Kind::Timestamp) => Argument::DateTime,
        _ => Argument::Integer,
    };
    columns.map(argument).collect()
}

#[cfg(test)]
mod tests {
    use hopcost_data::datasets::DATASETS;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn arguments_are_what_they_are_compared_with() {
        let tran_stats = DATASETS.iter().find(|dataset| dataset.name() == "tran_stats");
        let sql =
            "SELECT 1 FROM tran_stats AS t WHERE t.tran_begin >= ? AND tran_begin<? AND users = ?";
        let expected = [Argument::DateTime, Argument::DateTime, Argument::Integer];
        assert_eq!(arguments(sql, tran_stats.copied()), expected);
        assert_eq!(
            arguments("INSERT INTO insert_test (number) VALUES (?)", None),
            [Argument::Integer]
        );
        assert_eq!(arguments("SELECT 1", None), []);
    }

    #[test]
    fn sums_are_whole_numbers() {
        assert_eq!([digits("-12"), digits("70.000")], [Ok(-12), Ok(70)]);
        assert!(digits("7.5").is_err() && digits("99999999999999999999").is_err());
    }

    #[test]
    fn a_point_in_time_is_read_as_it_is_written() {
        let us = 1_700_000_000_123_400;
        let mut place = [0; 12];
        call::Argument::put(Argument::DateTime, us, &mut place).unwrap();
        assert_eq!(date_time(&mut Reader(&place)).to_us(), us);
        assert_eq!(Argument::DateTime.literal(us), "'2023-11-14 22:13:20.123400'");
    }

    #[test]
    fn numbers_keep_their_sign() {
        let row = |is_signed| {
            let kind = Type::Integer { bytes: 2, is_signed };
            kind.add_to(Row::new(), &mut Reader(&[0xfe, 0xff])).unwrap()
        };
        let of = |value| hopcost_core::Answer::of(Row::new().integer(value));
        assert_eq!(hopcost_core::Answer::of(row(true)), of(-2));
        assert_eq!(hopcost_core::Answer::of(row(false)), of(65_534));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_value_or_refused(kind in any::<u8>(), bytes in vec(any::<u8>(), 0..24)) {
            let described = |set: u8| {
                let end = [0, 0, 12, set, 0, bytes.len() as u8, 0, 0, 0, kind, 0, 0];
                [&[0; 4][..], &end].concat()
            };
            for kind in [46, 63].into_iter().filter_map(|set| Type::of(&described(set)).ok()) {
                let _ = kind.add_to(Row::new(), &mut Reader(&bytes));
            }
            let _ = Type::of(&bytes);
        }
    }
}
