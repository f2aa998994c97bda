//! Reads `--set key=value`, durations and sizes.

use std::ops::RangeInclusive;
use std::str::FromStr;

use hopcost_core::{Code, Comparison, Level, Open, Reason, Scale};

use crate::pace::{LEAST_UNITS, LEAST_UNITS_OF_A_START, StartsAsked, Wishes};

pub const SETTINGS: &[(&str, &str)] = &[
    ("streams", "numbers of clients to sweep, e.g. 1+2+4"),
    ("think", "a client's pause after each answer, e.g. 10ms"),
    ("rate", "calls per second of an open loop, over all clients"),
    ("arrivals", "fixed or poisson, with rate"),
    ("ramp", "time over which the clients start, e.g. 1s"),
    ("window", "length of a window, e.g. 0.2s"),
    ("guard", "time at the start of a window that is not counted, e.g. 50ms"),
    (
        "units",
        "fresh units of blocks, 8 or more, with --starts 2 or more in each; they are measured whatever they take",
    ),
    ("half_width", "half of the interval that is narrow enough, e.g. 1%"),
    ("dop", "processes that work on a query, at the levels with more than one"),
    ("margin", "a difference smaller than this does not matter, e.g. 3%"),
];

pub fn set(text: &str, comparison: &mut Comparison, wishes: &mut Wishes) -> Result<(), Reason> {
    put(text, comparison, wishes).map_err(|wrong| Code::BadValue.because(wrong))
}

fn put(text: &str, comparison: &mut Comparison, wishes: &mut Wishes) -> Result<(), String> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(format!("'{text}' is no key=value"));
    };
    let load = &mut comparison.load;
    match key.trim() {
        "streams" => comparison.streams = streams(value)?,
        "think" => load.think_s = seconds(value)?,
        "ramp" => load.ramp_s = seconds(value)?,
        "rate" => {
            let at_random = load.open.is_some_and(|open| open.at_random);
            load.open = Some(Open { calls_per_s: positive(value)?, at_random });
        }
        "arrivals" => {
            let calls_per_s = load.open.map(|open| open.calls_per_s);
            let calls_per_s =
                calls_per_s.ok_or("arrivals belong to an open loop: set rate first")?;
            load.open = Some(Open { calls_per_s, at_random: at_random(value)? });
        }
        "window" => wishes.window_s = Some(seconds(value)?).filter(|s| *s > 0.0),
        "guard" => wishes.guard_s = Some(seconds(value)?),
        "units" => {
            let least = if matches!(wishes.starts, StartsAsked::Number(_)) {
                LEAST_UNITS_OF_A_START
            } else {
                LEAST_UNITS
            };
            let units = within(value, least..=u64::MAX);
            let units = units.ok_or_else(|| format!("units={value}: {least} is the least"))?;
            wishes.units = Some(units);
        }
        "half_width" => wishes.half_width = Some(share(value)?),
        "dop" => set_dop(&mut comparison.levels, value)?,
        "margin" => wishes.margin = Some(share(value)?),
        key => {
            let known: Vec<&str> = SETTINGS.iter().map(|(key, _)| *key).collect();
            return Err(format!("there is no setting '{key}'; known: {}", known.join(", ")));
        }
    }
    Ok(())
}

pub fn set_rows(comparison: &mut Comparison, rows: u64) {
    comparison.scale = Scale { quick: rows, full: rows };
}

pub(crate) fn within<T: FromStr + PartialOrd>(value: &str, range: RangeInclusive<T>) -> Option<T> {
    value.parse().ok().filter(|number| range.contains(number))
}

fn set_dop(levels: &mut [Level], value: &str) -> Result<(), String> {
    let dop = within(value, 2..=1024);
    let dop: u32 = dop.ok_or_else(|| format!("dop={value}: 2 to 1024 are possible"))?;
    let mut parallel = levels.iter_mut().filter(|level| level.dop > Some(1)).peekable();
    parallel.peek().ok_or("no level of this experiment asks for parallel workers")?;
    parallel.for_each(|level| level.dop = Some(dop));
    Ok(())
}

fn streams(value: &str) -> Result<Vec<u32>, String> {
    let all = value.split('+').map(|part| within(part.trim(), 1..=400)).collect::<Option<_>>();
    all.ok_or_else(|| format!("streams={value}: use numbers from 1 to 400, e.g. 1+2+4"))
}

pub(crate) fn at_random(value: &str) -> Result<bool, String> {
    match value {
        "fixed" => Ok(false),
        "poisson" => Ok(true),
        _ => Err(format!("'{value}' arrivals: fixed and poisson are known")),
    }
}

fn positive(value: &str) -> Result<f64, String> {
    let number = value.parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0);
    number.ok_or_else(|| format!("'{value}' is no number above 0"))
}

fn share(value: &str) -> Result<f64, String> {
    let number = match value.strip_suffix('%') {
        Some(percent) => percent.trim().parse().map(|percent: f64| percent / 100.0),
        None => value.parse(),
    };
    let share = number.ok().filter(|share| (1e-6..1.0).contains(share));
    share.ok_or_else(|| format!("'{value}' is no share: write 3% or 0.03"))
}

pub fn seconds(text: &str) -> Result<f64, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("'{text}' has no unit of time: write 10ms, 0.2s or 5m")),
    };
    let seconds = number.trim().parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0);
    seconds.map(|n: f64| n * factor).ok_or_else(|| format!("'{text}' is no time: write 10ms or 5m"))
}

const LEAST_BYTES: u64 = 1 << 20;

/// `64M`, `2G`, `8GiB`: powers of 1,024, 1M or more.
pub fn bytes(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let shift = match unit.to_ascii_uppercase().trim_end_matches("IB").trim_end_matches('B') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err(format!("'{unit}' is no unit: use K, M or G (powers of 1,024)")),
    };
    let number =
        digits.parse::<u64>().map_err(|_| "write a number with a unit, as 64M".to_owned())?;
    let bytes = number.checked_shl(shift).filter(|bytes| bytes >> shift == number);
    let bytes = bytes.ok_or_else(|| "that is more than can be addressed".to_owned())?;
    if bytes < LEAST_BYTES { Err("1M is the least".into()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use hopcost_core::Effort;

    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, expected) in [("10ms", 0.01), ("0.2s", 0.2), ("5m", 300.0), ("80us", 8e-5)] {
            assert!((seconds(text).unwrap() - expected).abs() < 1e-12, "{text}");
        }
        for text in ["10", "ms", "-1s", "1d", "NaNs"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_are_bounded() {
        assert!((share("3%").unwrap() - 0.03).abs() < 1e-12);
        assert!(share("0").is_err() && share("100%").is_err() && share("x").is_err());
    }

    #[test]
    fn only_levels_with_parallel_workers_get_more_of_them() {
        let level = |dop| Level { dop, ..Level::default() };
        let mut levels = [level(None), level(Some(1)), level(Some(2))];
        set_dop(&mut levels, "8").unwrap();
        assert_eq!(levels.map(|level| level.dop), [None, Some(1), Some(8)]);
        assert!(set_dop(&mut [level(Some(1))], "4").is_err());
        assert!(set_dop(&mut [level(Some(2))], "1").is_err());
    }

    #[test]
    fn sizes_are_powers_of_1024_and_bounded() {
        assert_eq!(bytes("64M"), Ok(64 << 20));
        assert_eq!(bytes("2GiB"), Ok(2 << 30));
        assert_eq!(bytes("1048576"), Ok(1 << 20));
        for bad in ["12", "64X", "M", "-1M", "99999999999999G"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn wishes_begin_empty() {
        assert_eq!(Wishes::of(Effort::Quick, 1).units, None);
    }
}
