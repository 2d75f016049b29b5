//! One issue: its open decisions, its criteria and steps, its history, and the sidebar.

mod act;
mod checklist;
mod edit;
mod head;
mod history;
mod menu;
mod rail;

use maud::html;
use punchlist_core::gate::GateState;
use punchlist_ops::Error;
use punchlist_ops::operations::issue_show::{self, IssueShow};
use punchlist_ops::web_fault::WebFault;

use super::frame::{Section, Shown};
use super::gates;
use super::markdown;
use super::visit::Visit;

pub(crate) use act::act;

/// The issue number in the path.
fn number(visit: &Visit) -> Result<i64, Error> {
    let text = visit.part("number");
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| WebFault::UnknownPath { path: visit.path().to_owned() }.into())
}

pub(crate) fn show(visit: &Visit) -> Result<Shown, Error> {
    let number = number(visit)?;
    let shown = visit.run::<IssueShow>(issue_show::Input { number })?;
    let gates = gates::of_issue(visit, number, GateState::Open)?;
    let actions = head::actions(visit, &shown.issue);
    let is_editing = visit.is_open(edit::KEY);
    let cited = rail::cited(visit, &shown);
    let change = cited.draw(visit);
    let body = html! {
        (head::draw(visit, &shown, &actions))
        div.columns {
            div.main-col {
                @if !shown.issue.body.is_empty() { div.md.prose { (markdown::render(&shown.issue.body)) } }
                (head::opened(visit, &shown))
                @if !gates.items.is_empty() { (gates::list(visit, &gates)) }
                @if is_editing { (edit::draw(visit, &shown)) } @else {
                    (checklist::criteria(visit, &shown))
                    (checklist::steps(visit, &shown))
                }
                @if cited.is_shown(visit) && !cited.commits.is_empty() {
                    section.whole-change aria-labelledby="the-change-title" {
                        h2 id="the-change-title" { "Change" }
                        div.facts { (cited.facts(visit)) }
                        (change)
                    }
                }
                (history::draw(visit, &shown))
            }
            (rail::draw(visit, &shown, &cited))
        }
    };
    let title = format!("#{number} {}", shown.issue.title);
    let bar = format!("#{number}");
    let back = Some(visit.at("/issues"));
    Ok(Shown { title, bar, back, section: Section::Issues, actions, body })
}
