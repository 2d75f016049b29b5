//! Error pages in the usual frame: what happened, and where to go from there.

use maud::{Markup, html};
use punchlist_ops::Error;

use super::frame::{self, Section, Shown};
use super::respond::Reply;
use super::visit::Visit;
use super::words;

fn framed(visit: &Visit, status: u16, title: &str, body: &Markup) -> Reply {
    let shown = Shown {
        title: title.to_owned(),
        bar: title.to_owned(),
        back: Some("/".to_owned()),
        section: Section::None,
        actions: html! {},
        body: html! {
            header.page-head { h1 id="top" tabindex="-1" { (title) } }
            div.prose { (body) }
        },
    };
    Reply::page(status, frame::draw(visit, shown))
}

/// The page for an unknown path.
pub(crate) fn no_page(visit: &Visit) -> Reply {
    framed(
        visit,
        404,
        "There is no such page",
        &html! {
            p { code { (visit.path()) } " is not an address of punchlist." }
            p { a href="/" { "Go to Home" } }
        },
    )
}

/// The page for a project that does not exist, or that the reader may not see.
pub(crate) fn no_project(visit: &Visit) -> Reply {
    let title = format!("There is no project {}", visit.project());
    framed(
        visit,
        404,
        &title,
        &html! {
            @if visit.overview.projects.is_empty() {
                p { "A project begins with its first issue, plan or mission." }
                p.command { code { "punch issue new \"…\"" } }
            } @else {
                p { "These are the projects of this store:" }
                ul {
                    @for project in &visit.overview.projects {
                        li { a href=(words::address(&project.name, "")) { (project.name) } }
                    }
                }
            }
        },
    )
}

/// The page for a refusal of an operation.
pub(crate) fn in_frame(visit: &Visit, error: &Error) -> Reply {
    let status = error.meaning().http;
    let title = match status {
        404 => "There is nothing here",
        403 => "You may not see this",
        status if status >= 500 => "This did not work",
        _ => "This address is not valid",
    };
    framed(
        visit,
        status,
        title,
        &html! {
            p { (words::said(error)) }
            p { a href=(visit.at("")) { "Go to " (visit.project()) } }
        },
    )
}

/// Like `in_frame`, if the reader is not signed in, or the store cannot be read.
pub(crate) fn bare(error: &Error) -> Reply {
    let status = error.meaning().http;
    Reply::page(
        status,
        frame::alone(
            "punchlist",
            &html! {
                h1 { @if status >= 500 { "This did not work" } @else { "This request was refused" } }
                p { (words::said(error)) }
                p { a href="/" { "Go to Home" } }
            },
        ),
    )
}
