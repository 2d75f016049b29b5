//! Parses server-sent events from chunks of bytes.
//!
//! Follows the WHATWG standard: lines end with LF, CR or CRLF, `data` lines are joined by newlines,
//! comments and unknown fields are ignored, and an unfinished event at the end is dropped. Unlike
//! the standard, bytes that are not UTF-8 are a fault, because a reply is never guessed.

/// One event. The name is empty if the server gave none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) data: String,
}

/// Why the bytes could not be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bad {
    TooLong,
    NotUtf8,
}

/// The longest event, in bytes.
pub(super) const EVENT_MAX: usize = 8 << 20;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Converts bytes to events.
#[derive(Debug)]
pub(super) struct Reader {
    event_max: usize,
    line: Vec<u8>,
    name: String,
    data: Option<String>,
    /// A CR has ended a line; an LF right after it belongs to the same line end.
    after_cr: bool,
    is_first_line: bool,
}

impl Reader {
    #[must_use]
    pub(super) fn new(event_max: usize) -> Self {
        let (line, name) = (Vec::new(), String::new());
        Self { event_max, line, name, data: None, after_cr: false, is_first_line: true }
    }

    /// Adds the events that these bytes complete.
    pub(super) fn feed(&mut self, mut bytes: &[u8], events: &mut Vec<Event>) -> Result<(), Bad> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.length() + part.len() > self.event_max {
                return Err(Bad::TooLong);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            events.extend(self.end_line(&line)?);
        }
        Ok(())
    }

    fn length(&self) -> usize {
        self.line.len() + self.name.len() + self.data.as_ref().map_or(0, String::len)
    }

    fn end_line(&mut self, line: &[u8]) -> Result<Option<Event>, Bad> {
        let is_first = std::mem::take(&mut self.is_first_line);
        let line = if is_first { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            return Ok(self.data.take().map(|data| Event { name, data }));
        }
        let line = std::str::from_utf8(line).map_err(|_| Bad::NotUtf8)?;
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                data => *data = Some(value.to_owned()),
            },
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(parts: &[&[u8]]) -> Result<Vec<(String, String)>, Bad> {
        let (mut reader, mut events) = (Reader::new(64), Vec::new());
        for part in parts {
            reader.feed(part, &mut events)?;
        }
        Ok(events.into_iter().map(|event| (event.name, event.data)).collect())
    }

    #[test]
    fn fields_comments_and_line_ends_are_parsed_as_in_the_standard() {
        let cases: [(&str, &[(&str, &str)]); 12] = [
            ("data: a\n\n", &[("", "a")]),
            ("event: x\ndata: a\n\ndata: b\n\n", &[("x", "a"), ("", "b")]),
            ("data: a\ndata: b\ndata\n\n", &[("", "a\nb\n")]),
            ("data:a\r\n\r\ndata: b\r\rdata: c\n\n", &[("", "a"), ("", "b"), ("", "c")]),
            (": ping\n\n: ping\ndata: a\n\n", &[("", "a")]),
            ("id: 1\nretry: 5\nfoo\ndata: a\n\n", &[("", "a")]),
            ("\u{feff}data: a\n\n", &[("", "a")]),
            ("data:  two\n\n", &[("", " two")]),
            ("data: a: b\n\n", &[("", "a: b")]),
            ("event: lonely\n\n", &[]),
            ("data: cut", &[]),
            ("data: cut\n", &[]),
        ];
        for (text, expected) in cases {
            let expected: Vec<_> =
                expected.iter().map(|(n, d)| ((*n).to_owned(), (*d).to_owned())).collect();
            assert_eq!(read(&[text.as_bytes()]), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn a_character_may_be_split_and_invalid_utf8_is_a_fault() {
        let expected = vec![(String::new(), "é".to_owned())];
        assert_eq!(read(&[b"data: \xc3", b"\xa9\n\n"]), Ok(expected));
        assert_eq!(read(&[b"data: \xc3\n\n"]), Err(Bad::NotUtf8));
        assert_eq!(read(&[b"\xff\xfe\n"]), Err(Bad::NotUtf8));
    }

    #[test]
    fn an_event_without_an_end_is_refused_at_the_limit() {
        let line = [b'a'; 40];
        assert_eq!(read(&[b"data: ", &line, &line]), Err(Bad::TooLong));
        assert_eq!(read(&[b"data: ", &line, b"\ndata: ", &line]), Err(Bad::TooLong));
        assert_eq!(read(&[b"data: ", &line, b"\n\ndata: ", &line, b"\n\n"]).unwrap().len(), 2);
    }

    /// Streams that are put together from typical pieces in any order.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just("data: "),
            Just("event: x"),
            Just("\n"),
            Just("\r"),
            Just("\r\n"),
            Just("\n\n"),
            Just(":"),
            Just("é"),
            Just("\u{feff}"),
            Just("{\"a\":1}"),
            Just("data"),
            Just(" "),
        ];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn the_events_do_not_depend_on_how_the_bytes_are_split(
            bytes in prop_oneof![stream(), prop::collection::vec(any::<u8>(), 0..80)],
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let parts: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            prop_assert_eq!(read(&parts), read(&[&bytes]));
        }
    }
}
