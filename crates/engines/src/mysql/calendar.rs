//! Calendar dates from and to microseconds since 1970.

const US_PER_DAY: i64 = 86_400_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DateTime {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}

impl DateTime {
    pub fn from_us(us: i64) -> Self {
        let (days, rest) = (us.div_euclid(US_PER_DAY), us.rem_euclid(US_PER_DAY));
        let (year, month, day) = civil(days);
        let (seconds, microsecond) = (rest / 1_000_000, (rest % 1_000_000) as u32);
        Self {
            year: year as u16,
            month: month as u8,
            day: day as u8,
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            microsecond,
        }
    }

    pub fn to_us(self) -> i64 {
        let days = days(self.year.into(), self.month.into(), self.day.into());
        let minutes = i64::from(self.hour) * 60 + i64::from(self.minute);
        let seconds = minutes * 60 + i64::from(self.second);
        days * US_PER_DAY + seconds * 1_000_000 + i64::from(self.microsecond)
    }

    pub fn words(self) -> String {
        let Self { year, month, day, hour, minute, second, microsecond } = self;
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{microsecond:06}")
    }
}

/// Days in 400 years.
const ERA: i64 = 146_097;
/// Days from March 1 of the year 0 to 1970.
const TO_1970: i64 = 719_468;

/// Year, month and day of a day since 1970. Years begin in March, so that the leap day comes last.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + TO_1970;
    let (era, day) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (day - day / 1_460 + day / 36_524 - day / (ERA - 1)) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    // From March on, month lengths repeat 31, 30, 31, 30, 31.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * ERA + year * 365 + year / 4 - year / 100 + day_of_year - TO_1970
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_that_are_known() {
        for (us, words) in [
            (0, "1970-01-01 00:00:00.000000"),
            (951_782_400_000_000, "2000-02-29 00:00:00.000000"),
            (951_868_799_999_999, "2000-02-29 23:59:59.999999"),
            (4_107_542_400_000_000, "2100-03-01 00:00:00.000000"),
            (1_000_000_000_123_456, "2001-09-09 01:46:40.123456"),
        ] {
            assert_eq!(DateTime::from_us(us).words(), words);
        }
    }

    #[test]
    fn every_day_of_five_centuries_comes_back() {
        for day in -20_000..160_000 {
            let us = day * US_PER_DAY + 12_345_678_901;
            assert_eq!(DateTime::from_us(us).to_us(), us);
        }
    }
}
