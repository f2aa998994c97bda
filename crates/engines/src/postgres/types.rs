//! Values in PostgreSQL's protocol: an integer, a text or NULL, whatever the column's type.
//!
//! A timestamp is microseconds since 1970 here and since 2000 on the server. A sum of large
//! integers comes back as `numeric`, in digits of base 10,000.

use hopcost_core::{Row, hyphenated};

use super::super::server::call::Argument;
use super::super::server::wrong::Wrong;
use super::wire::int2;
use hopcost_data::datasets::big_table_im::uuid;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Integer(u8),
    Timestamp,
    Numeric,
    Text,
    /// As an argument it is derived from a number.
    Uuid,
}

/// Since 1970.
pub const US_TO_2000: i64 = 946_684_800_000_000;

impl Type {
    pub fn of(oid: u32) -> Option<Self> {
        Some(match oid {
            21 => Self::Integer(2),
            23 => Self::Integer(4),
            20 => Self::Integer(8),
            1114 | 1184 => Self::Timestamp,
            1700 => Self::Numeric,
            2950 => Self::Uuid,
            18 | 19 | 25 | 1042 | 1043 => Self::Text,
            _ => return None,
        })
    }

    /// `None` for types that are not sent as arguments.
    pub fn argument_bytes(self) -> Option<usize> {
        match self {
            Self::Integer(bytes) => Some(bytes.into()),
            Self::Timestamp => Some(8),
            Self::Uuid => Some(16),
            Self::Numeric | Self::Text => None,
        }
    }

    #[inline]
    pub fn add_to(self, row: Row, value: Option<&[u8]>) -> Result<Row, Wrong> {
        let Some(bytes) = value else { return Ok(row.null()) };
        Ok(match self {
            Self::Integer(_) => row.integer(integer(bytes)?),
            Self::Timestamp => {
                let us = integer(bytes)?.checked_add(US_TO_2000);
                row.integer(us.ok_or("a point in time beyond all calendars")?)
            }
            Self::Numeric => row.integer(numeric(bytes)?),
            Self::Uuid => {
                let bytes = bytes.try_into().map_err(|_| "an identifier of an odd length")?;
                row.text(&hyphenated(u128::from_be_bytes(bytes)))
            }
            Self::Text => row.text(std::str::from_utf8(bytes).map_err(|_| "a text is no UTF-8")?),
        })
    }
}

impl Argument for Type {
    #[inline]
    fn put(self, value: i64, place: &mut [u8]) -> Result<(), Wrong> {
        if self == Self::Uuid {
            place.copy_from_slice(&uuid(value).to_be_bytes());
            return Ok(());
        }
        let value = if self == Self::Timestamp { value - US_TO_2000 } else { value };
        let bytes = value.to_be_bytes();
        let (cut, kept) = bytes.split_at(8 - place.len());
        let sign = if kept.first().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
        if cut.iter().any(|byte| *byte != sign) {
            return Err(format!("the argument {value} does not fit {} bytes", place.len()).into());
        }
        place.copy_from_slice(kept);
        Ok(())
    }
}

pub fn literal(oid: u32, value: i64) -> String {
    match Type::of(oid) {
        Some(Type::Timestamp) => {
            format!("'epoch'::timestamp + {value} * '1 microsecond'::interval")
        }
        Some(Type::Uuid) => format!("'{}'::uuid", hyphenated(uuid(value))),
        _ => value.to_string(),
    }
}

fn integer(bytes: &[u8]) -> Result<i64, Wrong> {
    match *bytes {
        [a, b] => Ok(i16::from_be_bytes([a, b]).into()),
        [a, b, c, d] => Ok(i32::from_be_bytes([a, b, c, d]).into()),
        _ => {
            let eight = bytes.try_into().map_err(|_| "a whole number of an odd length")?;
            Ok(i64::from_be_bytes(eight))
        }
    }
}

const NEGATIVE: i16 = 0x4000;

/// Digits of base 10,000; the first one counts 10,000^weight.
fn numeric(bytes: &[u8]) -> Result<i64, Wrong> {
    let (digits, weight, sign) = (int2(bytes, 0), int2(bytes, 2), int2(bytes, 4));
    let no_whole_number = || "a number that is not whole, or beyond 64 bits".to_owned();
    if sign != 0 && sign != NEGATIVE {
        return Err(no_whole_number().into());
    }
    let mut value: i64 = 0;
    for at in 0..digits.max(weight.saturating_add(1)) {
        let digit = if at < digits { int2(bytes, 8 + 2 * at as usize) } else { 0 };
        if at > weight {
            if digit != 0 {
                return Err(no_whole_number().into());
            }
            continue;
        }
        let next = value.checked_mul(10_000).and_then(|value| value.checked_add(digit.into()));
        value = next.ok_or_else(no_whole_number)?;
    }
    Ok(if sign == NEGATIVE { -value } else { value })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn words(words: &[i16]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn whole_numbers_are_read_out_of_decimal_digits() {
        for (packed, value) in [
            (&[0, 0, 0, 0][..], 0),
            (&[1, 0, 0, 0, 7], 7),
            (&[1, 1, 0, 0, 7], 70_000),
            (&[2, 1, NEGATIVE, 0, 7, 8], -70_008),
            (&[2, 0, 0, 2, 7, 0], 7),
        ] {
            assert_eq!(numeric(&words(packed)), Ok(value), "{packed:?}");
        }
        assert!(numeric(&words(&[2, 0, 0, 2, 7, 5000])).is_err(), "7.5");
        assert!(numeric(&words(&[1, 9, 0, 0, 1])).is_err(), "10^36");
        assert!(numeric(&words(&[0, 0, i16::MIN | 0x4000, 0])).is_err(), "no number");
    }

    #[test]
    fn arguments_are_cut_only_where_nothing_is_lost() {
        let mut two = [0; 2];
        for value in [0, 32_767, -32_768, -1] {
            Type::Integer(2).put(value, &mut two).unwrap();
            assert_eq!(integer(&two), Ok(value));
        }
        assert!(Type::Integer(2).put(32_768, &mut two).is_err());
        assert!(Type::Integer(2).put(-32_769, &mut two).is_err());
        let mut eight = [0; 8];
        Type::Timestamp.put(US_TO_2000 + 5, &mut eight).unwrap();
        assert_eq!(integer(&eight), Ok(5));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_value_or_refused(oid in 0..3000_u32, bytes in vec(any::<u8>(), 0..24)) {
            for kind in [oid, 20, 21, 23, 25, 1114, 1700, 2950].into_iter().filter_map(Type::of) {
                let _ = kind.add_to(Row::new(), Some(&bytes));
            }
        }
    }
}
