//! Gate cards: everything that waits for a person, answerable in place.
//!
//! `waiting` collects them, `list` draws the cards, oldest first; `card` draws one by its kind;
//! `act` answers. Home, the inbox and the issue page use the same cards.

mod act;
mod card;
mod escalation;
mod form;
mod preview;
mod proposal;
mod review;
mod sign_off;

use maud::{Markup, html};
use punchlist_core::Time;
use punchlist_core::gate::{GateKind, GateState, Purpose};
use punchlist_ops::Error;
use punchlist_ops::input::{Cursor, Limit};
use punchlist_ops::operations::gate_list::{self, GateList, ProposalView, ReviewView};
use punchlist_ops::views::GateView;

use super::asking;
use super::icons::Icon;
use super::parts;
use super::visit::Visit;

pub(crate) use act::{MISSING, act, answer};
pub(crate) use punchlist_core::gate::form::plain;

/// How many items of one project are listed.
const LISTED_MAX: i64 = 50;

/// Something that waits for a person.
#[derive(Debug)]
pub(crate) enum Matter {
    Gate(Box<GateView>),
    Review(Box<ReviewView>),
    Proposal(Box<ProposalView>),
}

/// Something that waits, and its place.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) project: String,
    pub(crate) matter: Matter,
}

impl Item {
    pub(crate) fn id(&self) -> String {
        match &self.matter {
            Matter::Gate(gate) => gate.id.to_string(),
            Matter::Review(review) => review.todo_id.to_string(),
            Matter::Proposal(proposal) => proposal.delegation.id.to_string(),
        }
    }

    pub(crate) fn anchor(&self) -> String {
        format!("gate-{}", self.id())
    }

    pub(crate) fn since(&self) -> Time {
        match &self.matter {
            Matter::Gate(gate) => gate.created_at,
            Matter::Review(review) => review.claim.at,
            Matter::Proposal(proposal) => {
                proposal.delegation.finished_at.unwrap_or(proposal.delegation.updated_at)
            }
        }
    }

    /// The kind in a word, with its icon.
    pub(crate) fn kind(&self) -> (&'static str, Icon) {
        match &self.matter {
            Matter::Gate(gate) => match (gate.kind, gate.purpose) {
                (_, Some(Purpose::SignOff)) => ("Sign-off", Icon::SignOff),
                (GateKind::Checkpoint, _) => ("Pause", Icon::Pause),
                (GateKind::Ask, _) => ("Question", Icon::Question),
                (GateKind::Form, _) => ("Form", Icon::Form),
                (GateKind::Permission, _) => ("Permission", Icon::Permission),
                (GateKind::Escalation, _) => ("Escalation", Icon::Escalation),
            },
            Matter::Review(_) => ("Review", Icon::Review),
            Matter::Proposal(_) => ("Proposal", Icon::Proposal),
        }
    }

    /// May it be unfolded although it is not the oldest? Only if it is short.
    fn is_short(&self) -> bool {
        match &self.matter {
            Matter::Gate(gate) => matches!(gate.kind, GateKind::Ask | GateKind::Permission),
            _ => false,
        }
    }
}

/// Everything that waits, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) items: Vec<Item>,
    /// Are there more than are listed?
    pub(crate) has_more: bool,
    total: i64,
}

impl Waiting {
    pub(crate) const fn total(&self) -> i64 {
        self.total
    }
}

/// Collects what waits in these projects.
pub(crate) fn waiting(visit: &Visit, projects: &[&str]) -> Result<Waiting, Error> {
    let mut waiting = Waiting::default();
    for project in projects {
        let here = visit.overview.projects.iter().find(|one| one.name == *project);
        let count = here.map_or(0, |here| here.waiting);
        if count == 0 {
            continue;
        }
        waiting.total += count;
        let wanted = gate_list::Input {
            state: Some(GateState::Open),
            kind: None,
            session: Default::default(),
            number: None,
            limit: Limit::of(LISTED_MAX),
            cursor: Cursor::FIRST,
        };
        let found = visit.run_in::<GateList>(project, wanted)?;
        waiting.has_more |= found.next_cursor.is_some();
        let item = |matter| Item { project: (*project).to_owned(), matter };
        waiting.items.extend(found.gates.into_iter().map(|one| item(Matter::Gate(Box::new(one)))));
        let reviews = found.reviews.into_iter().map(|one| item(Matter::Review(Box::new(one))));
        waiting.items.extend(reviews);
        let proposals = found.proposals.into_iter();
        waiting.items.extend(proposals.map(|one| item(Matter::Proposal(Box::new(one)))));
    }
    waiting.items.sort_by_key(Item::since);
    Ok(waiting)
}

/// What waits about one issue.
pub(crate) fn of_issue(visit: &Visit, number: i64, state: GateState) -> Result<Waiting, Error> {
    if super::frame::waiting_here(visit) == 0 {
        return Ok(Waiting::default());
    }
    let wanted = gate_list::Input {
        state: Some(state),
        kind: None,
        session: Default::default(),
        number: Some(number),
        limit: Limit::of(LISTED_MAX),
        cursor: Cursor::FIRST,
    };
    let found = visit.run::<GateList>(wanted)?;
    let item = |matter| Item { project: visit.project().to_owned(), matter };
    let gates = found.gates.into_iter().map(|one| item(Matter::Gate(Box::new(one))));
    let proposals = found.proposals.into_iter().map(|one| item(Matter::Proposal(Box::new(one))));
    let items: Vec<Item> = gates.chain(proposals).collect();
    let total = i64::try_from(items.len()).unwrap_or(0);
    Ok(Waiting { items, has_more: found.next_cursor.is_some(), total })
}

/// What waits in one session.
pub(crate) fn of_session(visit: &Visit, session: &str) -> Result<Waiting, Error> {
    if super::frame::waiting_here(visit) == 0 {
        return Ok(Waiting::default());
    }
    let wanted = gate_list::Input {
        state: Some(GateState::Open),
        kind: None,
        session: asking::maybe(Some(session)),
        number: None,
        limit: Limit::of(LISTED_MAX),
        cursor: Cursor::FIRST,
    };
    let found = visit.run::<GateList>(wanted)?;
    let item = |matter| Item { project: visit.project().to_owned(), matter };
    let items: Vec<Item> =
        found.gates.into_iter().map(|one| item(Matter::Gate(Box::new(one)))).collect();
    let total = i64::try_from(items.len()).unwrap_or(0);
    Ok(Waiting { items, has_more: found.next_cursor.is_some(), total })
}

/// Claims that wait for their reviewer, which the page has already loaded.
pub(crate) fn of_reviews(visit: &Visit, reviews: Vec<ReviewView>) -> Waiting {
    let item =
        |one| Item { project: visit.project().to_owned(), matter: Matter::Review(Box::new(one)) };
    let mut items: Vec<Item> = reviews.into_iter().map(item).collect();
    items.sort_by_key(Item::since);
    let total = i64::try_from(items.len()).unwrap_or(0);
    Waiting { items, has_more: false, total }
}

/// The cards. The oldest and the short ones are unfolded; the others are two lines that unfold.
pub(crate) fn list(visit: &Visit, waiting: &Waiting) -> Markup {
    html! {
        div.gates id="gates" data-rows="end" {
            (overtaken(visit, waiting))
            @for (n, item) in waiting.items.iter().enumerate() {
                (visit.notice_at(&item.anchor()))
                @if n == 0 || is_in_use(visit, item) || (n < 3 && item.is_short()) {
                    (card::open(visit, item, n == 0))
                } @else {
                    (card::folded(visit, item))
                }
            }
            @if waiting.items.is_empty() {
                (visit.notice_at("nothing"))
                (parts::empty("Nothing is waiting", "When an agent needs a decision, it appears here.", ""))
            }
            @if waiting.has_more {
                p.hint { "More decisions appear here when these are answered." }
            }
        }
    }
}

/// Is the reader answering this one?
fn is_in_use(visit: &Visit, item: &Item) -> bool {
    visit.refused().is_some_and(|refused| refused.form.text("gate") == item.id())
        || visit.query("change") == Some(item.id().as_str())
        || ["refuse", "always", "list", "tried"]
            .iter()
            .any(|key| visit.is_open(&format!("{key}-{}", item.id())))
}

/// Somebody else answered first: the card is gone, and the typed text is shown with the reason.
fn overtaken(visit: &Visit, waiting: &Waiting) -> Markup {
    let refused = visit.refused().filter(|refused| {
        let gate = refused.form.text("gate");
        !gate.is_empty() && waiting.items.iter().all(|item| item.id() != gate)
    });
    html! { @if let Some(refused) = refused { (act::overtaken(visit, refused)) } }
}
