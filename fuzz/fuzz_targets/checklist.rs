//! Any bytes as a checklist: the reader never stumbles, and what it takes it takes the same again
//! after it was written (K-28).

#![no_main]

use libfuzzer_sys::fuzz_target;
use punchlist_core::issue::checklist::{Line, MARKDOWN_LIMIT, parse, render};

/// The same lines wherever they stand.
fn anywhere(mut lines: Vec<Line>) -> Vec<Line> {
    for line in &mut lines {
        line.at = 0;
    }
    lines
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(lines) = parse(text) else { return };
    let written = render(&lines);
    // Escaping may lengthen a text beyond what is read.
    if written.len() > MARKDOWN_LIMIT {
        return;
    }
    let again = parse(&written).expect("what was written can be read");
    assert_eq!(render(&again), written);
    assert_eq!(anywhere(again), anywhere(lines));
});
