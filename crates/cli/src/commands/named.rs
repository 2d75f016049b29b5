//! What people name on the command line and operations want exactly: an issue by its title, an item
//! of a checklist by its short id or a part of its text.
//!
//! The tool `todo` takes exact texts (K-19, K-24), so the exact text is found here first. The rule
//! itself is `core::naming`.

use punchlist_core::issue::address::Precision;
use punchlist_core::naming::{self, Candidate};
use punchlist_core::text::normalised;
use punchlist_ops::input::{Cursor, Limit};
use punchlist_ops::operations::issue_list::{self, IssueList};
use punchlist_ops::operations::issue_show::{self, IssueShow};
use punchlist_ops::views::issue::ItemStatus;
use punchlist_ops::views::{IssueView, ItemView};
use punchlist_ops::{Envelope, Error, Operation, Ops};
use serde_json::Value;

use crate::args::{self, Globals};
use crate::caller;
use crate::failure::Failure;

/// How many issues an error names.
const NAMED_MAX: usize = 5;

/// Fields that take the number of an issue, and where they do.
const NUMBERS: [(&str, &[&str]); 3] = [
    ("number", &[]),
    ("to", &["issue_link", "issue_unlink"]),
    ("of", &["issue_close_as_duplicate"]),
];

/// The number of the issue that a text names: `3`, `#3`, its title, or a part of the title that only
/// one open issue has.
pub(crate) fn issue(globals: &Globals, named: &str) -> Result<i64, Failure> {
    if let Ok(number) = args::issue(named) {
        return Ok(number);
    }
    let ops = caller::ops(globals)?;
    let envelope = caller::envelope(&ops, globals, false)?;
    let open = open_issues(&ops, &envelope)?;
    let found = naming::find(named, &open).map_err(Error::from)?;
    match found.and_then(|one| args::issue(&one.id).ok()) {
        Some(number) => Ok(number),
        None => Err(unknown(named, &open)),
    }
}

fn open_issues(ops: &Ops, envelope: &Envelope) -> Result<Vec<Candidate>, Error> {
    let envelope = Envelope { idempotency_key: None, ..envelope.clone() };
    let mut open = Vec::new();
    let mut cursor = None;
    loop {
        let input = issue_list::Input::open(Limit::MAX, Cursor(cursor));
        let page = ops.run::<IssueList>(&envelope, input)?;
        let one = |issue: IssueView| Candidate::new(format!("#{}", issue.number), issue.title);
        open.extend(page.issues.into_iter().map(one));
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(open);
        }
    }
}

fn unknown(named: &str, open: &[Candidate]) -> Failure {
    let message = format!("there is no open issue `{named}`");
    let some: Vec<String> =
        open.iter().take(NAMED_MAX).map(|one| format!("{} {}", one.id, one.text)).collect();
    let list = "`punch issue list` shows the issues";
    let hint = match some.as_slice() {
        [] => "no issue is open; `punch issue list --all` shows closed ones".to_owned(),
        _ if open.len() > some.len() => format!("{list}; the newest are {}", some.join(", ")),
        _ => format!("{list}; open are {}", some.join(", ")),
    };
    Failure::Declined { code: "unknown_issue", message, hint: Some(hint) }
}

/// Puts the numbers of issues in the place of their titles.
pub(super) fn issues_of(
    globals: &Globals,
    operation: &Operation,
    input: &mut Value,
) -> Result<(), Failure> {
    for (field, operations) in NUMBERS {
        let is_issue = operations.is_empty() || operations.contains(&operation.name);
        let text = input.get(field).and_then(Value::as_str).map(str::to_owned);
        if let Some(text) = text.filter(|_| is_issue) {
            input[field] = issue(globals, &text)?.into();
        }
    }
    Ok(())
}

/// Puts the exact text of a criterion in the place of its short id or a part of its text.
pub(super) fn criterion_of(globals: &Globals, input: &mut Value) -> Result<(), Failure> {
    let (Some(number), Some(named)) = (input["number"].as_i64(), input["content"].as_str()) else {
        return Ok(());
    };
    let ops = caller::ops(globals)?;
    let envelope = caller::envelope(&ops, globals, false)?;
    if !may_be_brief(&envelope) {
        return Ok(());
    }
    let reading = Envelope { idempotency_key: None, ..envelope };
    // If the issue cannot be read, the operation says why.
    let Ok(shown) = ops.run::<IssueShow>(&reading, issue_show::Input { number }) else {
        return Ok(());
    };
    let exact = item(&shown.criteria.iter().collect::<Vec<_>>(), named)?;
    if let Some(exact) = exact.map(|item| item.content.clone()) {
        input["content"] = exact.into();
    }
    Ok(())
}

/// May this caller name an item by less than its exact text?
pub(super) fn may_be_brief(envelope: &Envelope) -> bool {
    Precision::of(envelope.actor.role) == Precision::Brief
}

/// The item that is meant by its id, the end of its id, its text or a part of it; an open one before
/// a settled one. None: no item fits, or its exact text was given.
pub(super) fn item<'i>(items: &[&'i ItemView], named: &str) -> Result<Option<&'i ItemView>, Error> {
    let of = |items: &[&ItemView]| -> Vec<Candidate> {
        let one = |item: &&ItemView| Candidate::new(item.id.clone(), item.content.clone());
        items.iter().map(one).collect()
    };
    let by_id = |id: &str| items.iter().copied().find(|item| item.id == id);
    let everything = of(items);
    if let Some(item) = by_id(named) {
        return Ok(Some(item));
    }
    if let Some(found) = naming::find_id(named, &everything) {
        return Ok(by_id(&found.id));
    }
    let wanted = normalised(named);
    if items.iter().any(|item| normalised(&item.content) == wanted) {
        return Ok(None);
    }
    let is_open = |item: &&ItemView| {
        let is_claimed = item.claim.is_some() && item.accepted_at.is_none();
        is_claimed || !matches!(item.status, ItemStatus::Completed | ItemStatus::Abandoned)
    };
    let open: Vec<&ItemView> = items.iter().copied().filter(is_open).collect();
    for candidates in [of(&open), everything] {
        if let Some(found) = naming::find(named, &candidates).map_err(Error::from)? {
            return Ok(by_id(&found.id));
        }
    }
    Ok(None)
}
