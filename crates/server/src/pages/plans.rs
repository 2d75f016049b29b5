//! The plans of a project, each with its branch and its progress.

use maud::{Markup, html};
use punchlist_ops::Error;
use punchlist_ops::operations::plan_list::{self, PlanList, PlanRow};

use super::forms::{Done, Form, unknown};
use super::frame::{self, Head, Section, Shown};
use super::visit::Visit;
use super::{marks, parts, words};

/// How many plans are listed.
const PLANS_MAX: usize = 200;

/// The address of a plan: its file is the path, its branch a parameter.
pub(crate) fn address(visit: &Visit, file: &str, branch: Option<&str>) -> String {
    let path: Vec<String> = file.split('/').map(words::encoded).collect();
    let to = visit.at(&format!("/plans/{}", path.join("/")));
    match branch {
        Some(branch) => format!("{to}?{}", words::pair("branch", branch)),
        None => to,
    }
}

pub(crate) fn show(visit: &Visit) -> Result<Shown, Error> {
    let mut plans = visit.run::<PlanList>(plan_list::Input::MOST)?.plans;
    // Plans with open tasks come before finished ones.
    plans.sort_by_key(|plan| plan.open == 0);
    let crumbs = [(visit.project().to_owned(), visit.at(""))];
    let body = html! {
        (frame::head(&Head { crumbs: &crumbs, title: html! { "Plans" }, ..Head::default() }))
        @if plans.is_empty() {
            (parts::empty(
                "No plans yet",
                "A plan is a markdown file with tasks. Import one to see its tree and who works on what.",
                "punch plan import docs/plan.md",
            ))
        } @else {
            ul.criteria.card.list data-rows="end" { @for plan in plans.iter().take(PLANS_MAX) { (row(visit, plan)) } }
            @if plans.len() > PLANS_MAX { p.hint { "The first " (PLANS_MAX) " of " (plans.len()) " plans are shown." } }
        }
    };
    let (title, bar) = ("Plans".to_owned(), "Plans".to_owned());
    Ok(Shown {
        title,
        bar,
        back: Some(visit.at("")),
        section: Section::Plans,
        actions: html! {},
        body,
    })
}

fn row(visit: &Visit, plan: &PlanRow) -> Markup {
    let total = plan.open + plan.completed;
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    html! {
        li.row id={"plan-" (plan.id)} data-item="" {
            @if plan.open == 0 && total > 0 { (marks::completed()) }
            @else if plan.completed > 0 { (marks::in_progress()) }
            @else { (marks::pending(marks::Shape::Round)) }
            div {
                p.content { a.mono href=(address(visit, &plan.plan_file, Some(&plan.branch))) { (plan.plan_file) } }
                p.below {
                    span { "on branch " span.mono { (plan.branch) } } span {
                        "imported " (words::ago(plan.created_at, visit.now()))
                    }
                }
            }
            span.progress-of {
                span.words { (plan.completed) " of " (total) }
                (parts::bar(size(plan.completed), 0, size(total), "green"))
            }
        }
    }
}

pub(crate) fn act(_: &Visit, form: &Form) -> Result<Done, Error> {
    Err(unknown(form))
}
