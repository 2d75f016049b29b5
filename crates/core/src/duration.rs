//! Durations as people write them: `90s`, `15m`, `12h`, `7d`.

/// The longest duration taken: a hundred years, so that adding it to a time never overflows.
const SECONDS_MAX: i64 = 100 * 366 * 24 * 3600;

/// Reads a duration into seconds; zero, negative and endless ones are none.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        _ => return None,
    };
    let digits = &text[..text.len() - 1];
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let seconds = digits.parse::<i64>().ok()?.checked_mul(unit)?;
    (1..=SECONDS_MAX).contains(&seconds).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_a_number_and_a_unit() {
        let good = [("90s", 90), ("15m", 900), ("12h", 43_200), (" 7d ", 604_800)];
        for (text, seconds) in good {
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
        let huge = "99999999999999999999d";
        for bad in ["", "s", "15", "-5m", "+5m", "1.5h", "0s", "5 m", "1w", "∞d", huge, "40000d"]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
