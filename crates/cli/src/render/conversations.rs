//! A chat: who said what, and when.

use punchlist_core::Time;
use punchlist_core::conversation::MessageKind;
use punchlist_ops::operations::{conversation_list, conversation_post, conversation_show};

use super::columns::{aligned, cut, hanging};
use super::{ago, short_among};
use crate::output::{BOLD, DIM, clean, line, width};

pub(super) fn shown(output: &conversation_show::Output, now: Time) -> String {
    let title = line(&output.conversation.title);
    let mut shown = format!("{BOLD}{title}{BOLD:#}\n");
    for message in &output.messages {
        let kind = match message.kind {
            MessageKind::Synthetic => ", written by punchlist",
            MessageKind::Report => ", a report",
            _ => "",
        };
        if message.kind == MessageKind::Result {
            // What a tool answered, in one line.
            let said = cut(&line(message.text.trim()), width().saturating_sub(4));
            shown.push_str(&format!("  {DIM}→ {said}{DIM:#}\n"));
            continue;
        }
        let (author, at) = (line(&message.author), ago(message.created_at, now));
        shown.push_str(&format!("\n{DIM}{author}, {at}{kind}{DIM:#}\n"));
        shown.push_str(&hanging("  ", "  ", &clean(&message.text), width()));
    }
    if output.messages.is_empty() {
        shown.push_str("No messages.\n");
    }
    shown
}

pub(super) fn listed(output: &conversation_list::Output) -> String {
    if output.conversations.is_empty() {
        return "No conversations to show.\n".to_owned();
    }
    let ids: Vec<&str> = output.conversations.iter().map(|one| one.id.as_str()).collect();
    let rows = output.conversations.iter().map(|conversation| {
        let channel = conversation.channel.name().to_owned();
        vec![short_among(&conversation.id, &ids).to_owned(), channel, line(&conversation.title)]
    });
    aligned(rows.collect(), width()) + &super::more(output.next_cursor.as_ref())
}

pub(super) fn posted(output: &conversation_post::Output) -> String {
    let mut shown = format!("Posted; the {} reads it next.\n", output.addressee);
    if let Some(done) = &output.done {
        shown.push_str(&format!("{}\n", line(done)));
    }
    shown
}
