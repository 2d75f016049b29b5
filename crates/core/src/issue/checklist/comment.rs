//! The part of a line after an item's mark: its text, then who claimed it and why it is held.
//!
//! `<!-- claimed by root:primary -->` and `<!-- blocked: waiting for the key -->`. A comment has no
//! effect by itself: naming a claimant in one makes no claim.

use super::HeldFor;
use super::escape::{find, unescape};
use crate::text::{Body, Content, normalised};
use crate::todo::HoldKind;

pub(super) struct Tail {
    pub(super) content: Content,
    pub(super) claimed_by: Option<String>,
    pub(super) hold: Option<HeldFor>,
}

impl Tail {
    pub(super) fn read(raw: &str) -> Result<Self, String> {
        let (text, mut rest) = raw.split_at(find(raw, "<!--").unwrap_or(raw.len()));
        let content = Content::new(&normalised(&unescape(text)));
        let content = content.map_err(|fault| format!("the text {fault}"))?;
        let mut tail = Self { content, claimed_by: None, hold: None };
        while !rest.is_empty() {
            let body = rest.strip_prefix("<!--").ok_or(
                "a comment may only be at the end of an item; write `\\<!--` to mean the signs",
            )?;
            let end = find(body, "-->").ok_or("the comment does not end on its line")?;
            tail.comment(body[..end].trim())?;
            rest = body[end + "-->".len()..].trim_start();
        }
        Ok(tail)
    }

    fn comment(&mut self, raw: &str) -> Result<(), String> {
        let told_twice = if let Some(by) = raw.strip_prefix("claimed by ") {
            self.claimed_by.replace(normalised(&unescape(by))).is_some()
        } else {
            self.hold.replace(held(raw)?).is_some()
        };
        if told_twice { Err("two comments say the same kind of thing".to_owned()) } else { Ok(()) }
    }
}

fn held(raw: &str) -> Result<HeldFor, String> {
    let (kind, reason) = raw.split_once(':').unwrap_or((raw, ""));
    let kind = match kind.trim() {
        "blocker" => Some(HoldKind::Blocked),
        name => HoldKind::parse(name),
    };
    let kind = kind.ok_or(
        "unknown comment; there are `claimed by`, `blocked:`, `failed:` and `awaiting_approval:`",
    )?;
    let reason = Body::new(&normalised(&unescape(reason)));
    Ok(HeldFor { kind, reason: reason.map_err(|fault| format!("the reason {fault}"))? })
}
