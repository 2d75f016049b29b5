//! JSON with the offset of every field. serde_json parses the text; a second pass over the valid
//! text only records where fields start, and refuses a field that occurs twice.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Misplaced, Place, below, twice};
use crate::explain::Fault;

pub(super) fn read(text: &str) -> Result<(Value, BTreeMap<String, usize>), Misplaced> {
    let input: Value = serde_json::from_str(text).map_err(|error| {
        let place = Place { line: error.line(), column: error.column().max(1) };
        let said = error.to_string();
        let detail = said.split(" at line ").next().unwrap_or(&said).to_owned();
        Misplaced::new(Fault::Json { detail }, place)
    })?;
    let mut walk = Walk { text, at: 0, offsets: BTreeMap::new() };
    walk.value("")?;
    Ok((input, walk.offsets))
}

struct Walk<'t> {
    text: &'t str,
    at: usize,
    offsets: BTreeMap<String, usize>,
}

impl Walk<'_> {
    /// The next byte that is not white space.
    fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied().unwrap_or_default()
    }

    fn value(&mut self, path: &str) -> Result<(), Misplaced> {
        match self.peek() {
            b'{' => self.object(path),
            b'[' => self.array(path),
            b'"' => {
                self.string();
                Ok(())
            }
            _ => {
                let rest = &self.text[self.at..];
                let ends = |c: char| matches!(c, ',' | ']' | '}') || c.is_whitespace();
                self.at += rest.find(ends).unwrap_or(rest.len()).max(1);
                Ok(())
            }
        }
    }

    fn object(&mut self, path: &str) -> Result<(), Misplaced> {
        self.at += 1;
        while self.peek() == b'"' {
            let start = self.at;
            let name = self.string();
            let path = below(path, &name);
            if self.offsets.insert(path.clone(), start).is_some() {
                return Err(twice(path, Place::at(self.text, start)));
            }
            // Skip the colon.
            self.peek();
            self.at += 1;
            self.value(&path)?;
            if self.peek() == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        Ok(())
    }

    fn array(&mut self, path: &str) -> Result<(), Misplaced> {
        self.at += 1;
        let mut n = 0;
        while !matches!(self.peek(), b']' | 0) {
            let path = format!("{path}[{n}]");
            self.offsets.insert(path.clone(), self.at);
            self.value(&path)?;
            if self.peek() == b',' {
                self.at += 1;
            }
            n += 1;
        }
        self.at += 1;
        Ok(())
    }

    /// Skips a string and returns its value.
    fn string(&mut self) -> String {
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'"' => break,
                _ => {}
            }
        }
        let written = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(written).unwrap_or_default()
    }
}
