//! The frame around every page: the navigation at the side or at the bottom, the live state, and
//! the reading order of a page.

use maud::{DOCTYPE, Markup, html};
use punchlist_core::IssueStatus;

use super::icons::{self, Icon};
use super::visit::Visit;
use super::{assets, words};

/// The part of the navigation that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    None,
    Home,
    Project,
    Inbox,
    Issues,
    Missions,
    Plans,
    Agents,
    Activity,
}

/// The parts of a project, in the order of the navigation.
const SECTIONS: [(Section, &str, &str, Icon); 6] = [
    (Section::Inbox, "Inbox", "/inbox", Icon::Inbox),
    (Section::Issues, "Issues", "/issues", Icon::Issues),
    (Section::Missions, "Missions", "/missions", Icon::Missions),
    (Section::Plans, "Plans", "/plans", Icon::Plans),
    (Section::Agents, "Agents", "/agents", Icon::Agents),
    (Section::Activity, "Activity", "/activity", Icon::Activity),
];

/// The content of a page, without the frame.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) title: String,
    /// The title in the top bar on a phone.
    pub(crate) bar: String,
    /// The target of the back arrow on a phone.
    pub(crate) back: Option<String>,
    pub(crate) section: Section,
    /// The page's further buttons; on a phone they are in a menu of the top bar.
    pub(crate) actions: Markup,
    pub(crate) body: Markup,
}

/// The beginning of a page.
#[derive(Debug, Default)]
pub(crate) struct Head<'a> {
    /// The breadcrumbs: names and addresses.
    pub(crate) crumbs: &'a [(String, String)],
    pub(crate) title: Markup,
    /// A line below the title.
    pub(crate) sub: Markup,
    /// As in [`Shown`].
    pub(crate) actions: Option<&'a Markup>,
}

/// Draws the beginning of a page. Its title has the id `top`.
pub(crate) fn head(head: &Head<'_>) -> Markup {
    html! {
        header.page-head {
            @if !head.crumbs.is_empty() {
                nav.crumbs aria-label="Where this is" {
                    @for (n, (words, to)) in head.crumbs.iter().enumerate() {
                        @if n > 0 { (Icon::Right.draw()) }
                        a href=(to) { (words) }
                    }
                }
            }
            h1 id="top" tabindex="-1" { (head.title) }
            @if !head.sub.0.is_empty() { div.sub { (head.sub) } }
            @if let Some(actions) = head.actions { div.actions.wide-actions { (actions) } }
        }
    }
}

/// Draws the whole page.
pub(crate) fn draw(visit: &Visit, shown: Shown) -> Markup {
    let waiting = visit.overview.waiting;
    let count = if waiting > 0 { format!("({waiting}) ") } else { String::new() };
    let title = match shown.section {
        Section::Home => format!("{count}punchlist"),
        _ => format!("{count}{} · punchlist", shown.title),
    };
    let section = shown.section;
    // Only if no part of the page has shown it.
    let (body, notice) = (shown.body, visit.notice_left());
    let body = html! {
        a.skip href="#main" { "Skip to the content" }
        div.frame {
            nav.side id="side" aria-label="Main" { (side(visit, section)) }
            header.topbar id="topbar" {
                @match &shown.back {
                    Some(back) => {
                        a.back href=(back) { (Icon::Back.draw()) span.hidden { "Back" } }
                        span.bar-title { (shown.bar) }
                    }
                    None => { (icons::sign()) span.bar-title { (shown.bar) } }
                }
                @if !shown.actions.0.is_empty() {
                    details.menu.bar-menu id="bar-menu" {
                        summary.dots { (Icon::Dots.draw()) span.hidden { "Menu" } }
                        div.menu-list { (shown.actions) }
                    }
                }
                (live())
            }
            main id="main" tabindex="-1" { (notice) (body) }
            nav.bottom id="bottom" aria-label="Short" { (bottom(visit, section)) }
        }
        (keys())
    };
    let project = visit.is_of_project().then(|| visit.project());
    document(
        &title,
        &html! {
            body data-seq=(visit.seq) data-project=[project] data-focus=[visit.focus()] { (body) }
        },
    )
}

/// A page with a single card, without navigation.
pub(crate) fn alone(title: &str, card: &Markup) -> Markup {
    document(
        &format!("{title} · punchlist"),
        &html! {
            body.alone {
                main id="main" {
                    p.brand { (icons::sign()) "punchlist" }
                    section.card { (card) }
                }
            }
        },
    )
}

fn document(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { (title) }
                meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                link rel="icon" type="image/svg+xml" href=(assets::icon());
                link rel="stylesheet" href=(assets::style());
                script src=(assets::script()) defer {}
            }
            (body)
        }
    }
}

/// A link of the navigation.
fn entry(to: &str, icon: Icon, label: &str, is_here: bool, count: &Markup) -> Markup {
    html! {
        a.entry href=(to) aria-current=[is_here.then_some("page")] {
            (icon.draw()) span.label { (label) } (count)
        }
    }
}

/// The number of open issues in the project.
fn open_issues(visit: &Visit) -> i64 {
    let open = visit.overview.issues.iter().filter(|count| !count.status.is_closed());
    open.map(|count| count.count).sum()
}

/// The number of the project's issues in a status.
pub(crate) fn issues_in(visit: &Visit, status: IssueStatus) -> i64 {
    visit.overview.issues.iter().find(|count| count.status == status).map_or(0, |count| count.count)
}

/// The number of decisions that wait in the page's project.
pub(crate) fn waiting_here(visit: &Visit) -> i64 {
    visit.overview.projects.iter().find(|project| project.current).map_or(0, |one| one.waiting)
}

fn badge(count: i64) -> Markup {
    html! {
        @if count > 0 {
            span.badge { (words::grouped(count)) span.hidden { " waiting" } }
        }
    }
}

fn number(count: i64) -> Markup {
    html! { @if count > 0 { span.number { (words::grouped(count)) } } }
}

fn side(visit: &Visit, section: Section) -> Markup {
    html! {
        a.brand href="/" { (icons::sign()) "punchlist" }
        (entry("/", Icon::Home, "Home", section == Section::Home, &badge(visit.overview.waiting)))
        @if !visit.overview.projects.is_empty() {
            p.nav-title { "Project" }
            (switch(visit, section))
            @for (of, label, below, icon) in SECTIONS {
                @let count = match of {
                    Section::Inbox => waiting_here(visit),
                    Section::Issues => open_issues(visit),
                    _ => 0,
                };
                (entry(&visit.at(below), icon, label, section == of, &number(count)))
            }
        }
        div.side-foot {
            (live())
            (sign_out(visit))
        }
    }
}

/// The current project, and links to the others.
fn switch(visit: &Visit, section: Section) -> Markup {
    let below =
        SECTIONS.iter().find(|(of, ..)| *of == section).map_or("", |(_, _, below, _)| below);
    let name = visit.project();
    let letter: String = name.chars().take(1).collect();
    html! {
        details.switch id="switch" {
            summary { span.letter aria-hidden="true" { (letter) } span.label { (name) } (Icon::Down.draw()) }
            ul {
                @for project in &visit.overview.projects {
                    li {
                        a href=(words::address(&project.name, below))
                            aria-current=[project.current.then_some("true")] {
                            span.label { (project.name) } (number(project.waiting))
                        }
                    }
                }
            }
        }
    }
}

/// The navigation at the bottom, on a phone.
fn bottom(visit: &Visit, section: Section) -> Markup {
    let is_more = matches!(section, Section::Inbox | Section::Plans | Section::Activity);
    html! {
        (entry("/", Icon::Home, "Home", section == Section::Home, &badge(visit.overview.waiting)))
        @if !visit.overview.projects.is_empty() {
            @for (of, label, below, icon) in SECTIONS {
                @if matches!(of, Section::Issues | Section::Missions | Section::Agents) {
                    (entry(&visit.at(below), icon, label, section == of, &html! {}))
                }
            }
        }
        details.more id="more" {
            summary.entry aria-current=[is_more.then_some("true")] {
                (Icon::More.draw()) span.label { "More" }
            }
            div.sheet {
                @if !visit.overview.projects.is_empty() {
                    @for (of, label, below, icon) in SECTIONS {
                        @if matches!(of, Section::Inbox | Section::Plans | Section::Activity) {
                            @let count = if of == Section::Inbox { waiting_here(visit) } else { 0 };
                            (entry(&visit.at(below), icon, label, section == of, &number(count)))
                        }
                    }
                    p.nav-title { "Project" }
                    @for project in &visit.overview.projects {
                        a.entry href=(words::address(&project.name, ""))
                            aria-current=[project.current.then_some("true")] {
                            span.label { (project.name) } (number(project.waiting))
                        }
                    }
                }
                (sign_out(visit))
            }
        }
    }
}

/// The live state, which the script fills in: whether the page is kept up to date.
fn live() -> Markup {
    html! {
        span.live data-live="" role="status" {
            noscript { "Not live: reload to see changes" }
        }
    }
}

fn sign_out(visit: &Visit) -> Markup {
    html! {
        form.sign-out method="post" action="/sign-out" data-plain="" {
            input type="hidden" name="csrf" value=(visit.csrf);
            button type="submit" class="link" { "Sign out" }
        }
    }
}

/// The list of keyboard shortcuts. They work only with the script, which shows this list.
fn keys() -> Markup {
    html! {
        aside.keys id="keys" hidden aria-labelledby="keys-title" {
            h2 id="keys-title" tabindex="-1" { "Keys" }
            dl {
                dt { kbd { "j" } " " kbd { "k" } } dd { "next and previous item" }
                dt { kbd { "Enter" } } dd { "open it" }
                dt { kbd { "/" } } dd { "find" }
                dt { kbd { "n" } } dd { "new issue" }
                dt { kbd { "?" } } dd { "show or hide this list" }
            }
            p { "No key answers or changes anything." }
            button type="button" class="button" data-keys="toggle" { "Turn keys off" }
            button type="button" class="button quiet" data-keys="close" { "Close" }
        }
    }
}
