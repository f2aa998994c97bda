//! Numbers as a person reads them: three significant digits, the unit beside, never more precision
//! than the figure has.

use hopcost_core::Estimate;

/// `0.42`, `8.15`, `81.2`, `812`, `11,240`.
pub fn figure(value: f64) -> String {
    let magnitude = value.abs();
    let decimals = match magnitude {
        m if m >= 99.95 => 0,
        m if m >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    if magnitude >= 9_999.5 { thousands(&text) } else { text }
}

/// An interval whose one side is this much longer than the other is written side by side.
const LOPSIDED: f64 = 3.0;
/// Below this level an interval is none.
const LEAST_LEVEL: f64 = 0.949;

/// Were there enough rounds for an interval?
pub fn has_interval(estimate: &Estimate) -> bool {
    estimate.level >= LEAST_LEVEL
}

/// The half-width of an interval, with the decimals of its figure: `±0.4`; or how few rounds there
/// were, where those are too few for an interval.
pub fn margin(estimate: &Estimate) -> String {
    if !has_interval(estimate) {
        return format!("n={:.0}", estimate.n_effective);
    }
    let (down, up) = (estimate.point - estimate.low, estimate.high - estimate.point);
    let decimals = |width: f64| match estimate.point.abs() {
        m if m >= 99.95 && width >= 0.95 => 0,
        m if m >= 9.995 => 1,
        _ => 2,
    };
    let written = |width: f64| {
        let text = format!("{width:.*}", decimals(width));
        if width >= 9_999.5 { thousands(&text) } else { text }
    };
    let (short, long) = (down.min(up), down.max(up));
    if long > LOPSIDED * short && long > 0.1 * estimate.point.abs() {
        return format!("−{} +{}", written(down), written(up));
    }
    format!("±{}", written((estimate.high - estimate.low) / 2.0))
}

/// `1,234,567`.
pub fn count(number: u64) -> String {
    thousands(&number.to_string())
}

/// `480 KiB`, `27.5 MiB`, `1.9 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(value < 99.95 && value.fract() >= 0.05 && value.fract() <= 0.95);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// `1 core`, `2 cores`, `4 caches`.
pub fn plural(number: usize, noun: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{} {noun}{end}", count(number as u64))
}

/// Digits in groups of three.
pub fn thousands(text: &str) -> String {
    let (sign, digits) = text.split_at(usize::from(text.starts_with('-')));
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_three_digits() {
        let cases =
            [(0.416, "0.42"), (8.149, "8.15"), (9.999, "10.0"), (81.24, "81.2"), (812.4, "812")];
        for (value, text) in cases {
            assert_eq!(figure(value), text);
        }
        assert_eq!(figure(11_240.4), "11,240");
        assert_eq!(figure(-1_234_567.0), "-1,234,567");
    }

    #[test]
    fn bytes_are_named_as_memory_is_sold() {
        let cases = [
            (48 << 10, "48 KiB"),
            (28_835_840, "27.5 MiB"),
            (512 << 20, "512 MiB"),
            ((3 << 30) / 2, "1.5 GiB"),
            (0, "0 B"),
        ];
        for (number, text) in cases {
            assert_eq!(bytes(number), text);
        }
    }

    #[test]
    fn a_margin_has_the_decimals_of_its_figure() {
        let estimate = |point, half| Estimate {
            point,
            low: point - half,
            high: point + half,
            level: 0.95,
            n: 9,
            n_effective: 9.0,
        };
        assert_eq!(margin(&estimate(132.0, 1.4)), "±1");
        assert_eq!(margin(&estimate(132.0, 0.34)), "±0.3");
        assert_eq!(margin(&estimate(81.2, 0.44)), "±0.4");
        assert_eq!(margin(&estimate(2.17, 0.019)), "±0.02");
        let lopsided = Estimate { low: 255.0, high: 2099.0, ..estimate(262.0, 0.0) };
        assert_eq!(margin(&lopsided), "−7 +1837");
        let thin = Estimate { level: 0.75, n_effective: 3.0, ..estimate(262.0, 4.0) };
        assert_eq!(margin(&thin), "n=3");
    }
}
