//! Times as people say them: "3 min ago".

use punchlist_core::Time;

/// How much time may pass between setting an end time and showing it.
const GRACE_S: i64 = 30;

/// How long ago a time was, or how far ahead it is.
pub(crate) fn relative(at: Time, now: Time) -> String {
    let seconds = (now.micros() - at.micros()) / 1_000_000;
    // An end set to 12 h just now is shown as 12 h, not as 11 h.
    let grace = if seconds <= GRACE_S - 3_600 { GRACE_S } else { 0 };
    let span = span(seconds.abs() + grace);
    match seconds {
        -1..=1 => "now".to_owned(),
        2.. => format!("{span} ago"),
        _ => format!("in {span}"),
    }
}

/// A time of the log, without the fraction of its second.
pub(crate) fn to_the_second(at: Time) -> String {
    let at = at.to_string();
    match at.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => at,
    }
}

/// A time that people chose: only the date, if it is the start of that day.
pub(crate) fn day_or_time(at: Time) -> String {
    let at = to_the_second(at);
    at.strip_suffix("T00:00:00Z").map(str::to_owned).unwrap_or(at)
}

/// How long something has lasted: "3 min".
pub(crate) fn elapsed(since: Time, now: Time) -> String {
    span(((now.micros() - since.micros()) / 1_000_000).max(0))
}

fn span(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    match seconds {
        ..MINUTE => format!("{seconds} s"),
        MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        HOUR..DAY => format!("{} h", seconds / HOUR),
        _ => format!("{} d", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_the_second_have_no_fraction() {
        let at = |text: &str| to_the_second(Time::parse(text).unwrap());
        assert_eq!(at("2026-11-15T12:00:00.123456Z"), "2026-11-15T12:00:00Z");
        assert_eq!(at("2026-11-15T12:00:00Z"), "2026-11-15T12:00:00Z");
        let chosen = |text: &str| day_or_time(Time::parse(text).unwrap());
        assert_eq!(chosen("2026-11-15T00:00:00Z"), "2026-11-15");
        assert_eq!(chosen("2026-11-15T12:00:00Z"), "2026-11-15T12:00:00Z");
    }

    #[test]
    fn times_are_shown_as_people_say_them() {
        let now = Time::parse("2026-11-15T12:00:00Z").unwrap();
        let at = |seconds: i64| relative(now.plus_seconds(seconds), now);
        assert_eq!(at(0), "now");
        assert_eq!(at(-5), "5 s ago");
        assert_eq!(at(-185), "3 min ago");
        assert_eq!(at(-7_300), "2 h ago");
        assert_eq!(at(-200_000), "2 d ago");
        assert_eq!(at(90), "in 1 min");
        assert_eq!(at(12 * 3600 - 2), "in 12 h", "`--expires 12h`, shown two seconds later");
        assert_eq!((at(3599), at(11 * 3600 + 1800)), ("in 1 h".into(), "in 11 h".into()));
        assert_eq!((at(7 * 86_400 - 5), at(-3599)), ("in 7 d".into(), "59 min ago".into()));
    }
}
