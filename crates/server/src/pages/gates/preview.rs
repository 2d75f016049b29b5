//! A proposal in the list it is for: what comes in, at its place, and what is around it.

use maud::{Markup, html};
use punchlist_core::TodoKind;
use punchlist_core::delegation::ProposedItem;
use punchlist_core::text::normalised;
use punchlist_ops::operations::issue_show::Output;
use punchlist_ops::views::ItemView;
use punchlist_ops::views::issue::ItemStatus;

use crate::pages::icons::Icon;
use crate::pages::{marks, words};

/// How many items before the new ones are shown.
const AROUND: usize = 3;

/// The items of one heading.
#[derive(Debug, Default)]
struct Group<'a> {
    kind: TodoKind,
    phase: Option<&'a str>,
    stay: Vec<&'a ItemView>,
    /// The new ones, and whether the list has them already.
    come: Vec<(&'a str, bool)>,
}

impl Group<'_> {
    fn is_of(&self, kind: TodoKind, phase: Option<&str>) -> bool {
        self.kind == kind && self.phase.map(normalised) == phase.map(normalised)
    }

    fn name(&self) -> &str {
        self.phase.unwrap_or(match self.kind {
            TodoKind::Criterion => "Criteria",
            TodoKind::Step => "Steps",
        })
    }
}

/// A claimed criterion reads as completed, but is open until it is accepted.
fn is_open(item: &ItemView) -> bool {
    match item.status {
        ItemStatus::Pending | ItemStatus::InProgress => true,
        ItemStatus::Completed => item.claim.is_some() && item.accepted_at.is_none(),
        ItemStatus::Abandoned => false,
    }
}

/// The list after the proposal: criteria, steps without a phase, then the phases, new ones last.
fn after<'a>(shown: &'a Output, proposed: &'a [ProposedItem]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> =
        [TodoKind::Criterion, TodoKind::Step].map(|kind| Group { kind, ..Group::default() }).into();
    let at = |groups: &mut Vec<Group<'a>>, kind, phase: Option<&'a str>| {
        let found = groups.iter().position(|group| group.is_of(kind, phase));
        found.unwrap_or_else(|| {
            groups.push(Group { kind, phase, ..Group::default() });
            groups.len() - 1
        })
    };
    let criteria = shown.criteria.iter().map(|item| (TodoKind::Criterion, item));
    let mut open = Vec::new();
    for (kind, item) in criteria.chain(shown.steps.iter().map(|item| (TodoKind::Step, item))) {
        let phase = item.phase.as_deref().filter(|_| kind == TodoKind::Step);
        let at = at(&mut groups, kind, phase);
        groups[at].stay.push(item);
        if is_open(item) {
            open.push(normalised(&item.content));
        }
    }
    for item in proposed {
        let phase = item.phase.as_ref().map(|phase| phase.as_str());
        let at = at(&mut groups, item.kind, phase.filter(|_| item.kind == TodoKind::Step));
        let text = normalised(item.content.as_str());
        let is_listed = open.contains(&text);
        groups[at].come.push((item.content.as_str(), is_listed));
        open.push(text);
    }
    groups
}

/// Draws the list as it will be, where the proposal touches it.
pub(super) fn draw(shown: &Output, proposed: &[ProposedItem]) -> Markup {
    let groups = after(shown, proposed);
    let stay = |kind: TodoKind| {
        let of_kind = groups.iter().filter(|group| group.kind == kind);
        i64::try_from(of_kind.map(|group| group.stay.len()).sum::<usize>()).unwrap_or(0)
    };
    html! {
        div.after {
            @for group in groups.iter().filter(|group| !group.come.is_empty()) {
                h3 { (group.name()) @if group.stay.is_empty() && group.phase.is_some() { span.hint { " new phase" } } }
                ul.criteria { (lines(group)) }
            }
            p.hint {
                @match (stay(TodoKind::Criterion), stay(TodoKind::Step)) {
                    (0, 0) => "The list is empty now.",
                    (criteria, steps) => {
                        "Nothing is removed or changed: "
                        @if criteria > 0 { (words::count(criteria, "criterion", "criteria")) }
                        @if criteria > 0 && steps > 0 { " and " }
                        @if steps > 0 { (words::count(steps, "step", "steps")) }
                        @if criteria + steps == 1 { " stays." } @else { " stay." }
                    }
                }
            }
        }
    }
}

fn lines(group: &Group<'_>) -> Markup {
    let is_criterion = group.kind == TodoKind::Criterion;
    let hidden = group.stay.len().saturating_sub(AROUND);
    html! {
        @if hidden > 0 {
            li.row.hint { (words::count(i64::try_from(hidden).unwrap_or(0), "item", "items")) " before these" }
        }
        @for item in &group.stay[hidden..] {
            @let state = marks::of_item(item, is_criterion, None);
            li.row.stays { (state.mark) p.content { (item.content) } (state.shown()) }
        }
        @for (content, is_listed) in &group.come {
            @if *is_listed {
                li.row.stays { (Icon::Tick.draw()) p.content { (content) } span.word.grey { "already on the list" } }
            } @else {
                li.row.comes { (Icon::Plus.draw()) p.content { (content) } span.word.green { "new" } }
            }
        }
    }
}
