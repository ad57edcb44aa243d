//! The second at which a token ends, and its calendar form in the file.

use std::fmt;
use std::time::{Duration, SystemTime};

use toml_edit::{Datetime, Offset};

const DAY_SECS: i64 = 24 * 60 * 60;

/// Seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expiry(i64);

impl Expiry {
    pub fn after(start: SystemTime, time: Duration) -> Self {
        Self(seconds(start + time))
    }

    pub fn is_past(self, now: SystemTime) -> bool {
        seconds(now) >= self.0
    }

    /// A date, or a date and time that says its offset from UTC; a local time could be anybody's.
    pub(super) fn read(written: &Datetime) -> Option<Self> {
        let date = written.date?;
        let days = days(i64::from(date.year), i64::from(date.month), i64::from(date.day));
        let (time, offset) = match (written.time, written.offset) {
            (None, None) => (0, 0),
            (Some(time), Some(offset)) => {
                let time = i64::from(time.hour) * 3600
                    + i64::from(time.minute) * 60
                    + i64::from(time.second.unwrap_or_default());
                let offset = match offset {
                    Offset::Z => 0,
                    Offset::Custom { minutes } => i64::from(minutes) * 60,
                };
                (time, offset)
            }
            (Some(_), None) | (None, Some(_)) => return None,
        };
        Some(Self(days * DAY_SECS + time - offset))
    }
}

fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Days from 1970-01-01 in the Gregorian calendar. A year that begins in March has its leap day at the end.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let before_year = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    before_year + (month * 306 + 5) / 10 + day - 1 - 719_468
}

/// The year, month and day of a number of days from 1970-01-01.
fn date(number: i64) -> (i64, i64, i64) {
    // Close from above; a year is never shorter than 365 days nor longer than 366.
    let mut year = 1970 + number.div_euclid(365);
    while days(year, 1, 1) > number {
        year -= 1;
    }
    let month = (1..=12).rev().find(|month| days(year, *month, 1) <= number).unwrap_or(1);
    (year, month, number - days(year, month, 1) + 1)
}

impl fmt::Display for Expiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date(self.0.div_euclid(DAY_SECS));
        let second = self.0.rem_euclid(DAY_SECS);
        write!(f, "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, seconds: Option<i64>) {
        let read = Expiry::read(&text.parse().unwrap());
        assert_eq!(read, seconds.map(Expiry), "{text}");
    }

    #[test]
    fn a_date_is_utc_and_a_time_says_its_offset() {
        check("1970-01-01", Some(0));
        check("2026-11-30T07:12:19Z", Some(1_796_022_739));
        check("2026-11-30T08:12:19+01:00", Some(1_796_022_739));
        check("2000-02-29T23:59:59Z", Some(951_868_799));
        check("2026-11-30T07:12:19", None);
        check("07:12:19", None);
    }

    #[test]
    fn every_day_is_written_as_it_is_read() {
        for day in (0..60_000).step_by(17) {
            let expiry = Expiry(day * DAY_SECS + 3_661);
            check(&expiry.to_string(), Some(expiry.0));
        }
    }
}
