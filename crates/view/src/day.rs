//! The day of a moment, as a person writes it.

const DAY_S: i64 = 86_400;

/// `2026-11-21`, in UTC, of a moment in seconds since 1970.
pub fn day(unix_s: i64) -> String {
    let mut days = (unix_s / DAY_S).max(0);
    let mut year = 1970;
    while days >= days_of_year(year) {
        days -= days_of_year(year);
        year += 1;
    }
    let february = days_of_year(year) - 337;
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

const fn days_of_year(year: i64) -> i64 {
    let leaps = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if leaps { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `date -u -d @SECONDS +%F` says.
    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (86_399, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_795_219_199, "2026-11-20"),
            (1_795_219_200, "2026-11-21"),
            (4_107_542_400, "2100-03-01"),
            (1_798_761_599, "2026-12-31"),
        ] {
            assert_eq!(day(seconds), expected);
        }
    }
}
