//! The building blocks of pages: progress, evidence, checklist rows, empty states.

use maud::{Markup, html};
use punchlist_core::evidence::{Evidence, EvidenceKind};
use punchlist_core::todo::HoldKind;
use punchlist_ops::views::ItemView;
use punchlist_ops::views::issue::{ItemStatus, ProgressView};

use super::icons::Icon;
use super::words;

/// With more items than this, the progress is one bar.
const SEGMENTS_MAX: usize = 10;

/// One item of a progress display, by its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Done,
    Claimed,
    Half,
    Held,
    Failed,
    Gone,
    Open,
}

impl Segment {
    const fn class(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Claimed => "claimed",
            Self::Half => "half",
            Self::Held => "held",
            Self::Failed => "failed",
            Self::Gone => "gone",
            Self::Open => "open",
        }
    }

    /// The segment of a checklist item.
    pub(crate) fn of(item: &ItemView, is_criterion: bool) -> Self {
        match (&item.hold, item.status) {
            (_, ItemStatus::Abandoned) => Self::Gone,
            (_, ItemStatus::Completed) if is_criterion && item.accepted_at.is_none() => {
                Self::Claimed
            }
            (_, ItemStatus::Completed) => Self::Done,
            (Some(hold), _) if hold.kind == HoldKind::Failed => Self::Failed,
            (Some(_), _) => Self::Held,
            _ if item.claim.is_some() => Self::Claimed,
            (None, ItemStatus::InProgress) => Self::Half,
            (None, ItemStatus::Pending) => Self::Open,
        }
    }
}

/// Draws a progress as segments. The text next to it says the same.
pub(crate) fn segments(items: &[Segment]) -> Markup {
    if items.len() > SEGMENTS_MAX {
        let count = |wanted: Segment| items.iter().filter(|item| **item == wanted).count();
        let closed = count(Segment::Done) + count(Segment::Gone);
        return bar(closed, count(Segment::Claimed), items.len(), "green");
    }
    let width = items.len() * 13;
    html! {
        svg.progress viewBox=(format!("0 0 {width} 8")) width=(width) height="8" aria-hidden="true" {
            @for (n, item) in items.iter().enumerate() {
                @let x = n * 13;
                rect class=(item.class()) x={(x) ".5"} y=".5" width="10" height="7" rx="2" {}
                @if *item == Segment::Half {
                    rect.part x={(x) ".5"} y=".5" width="5.5" height="7" rx="2" {}
                }
                @if *item == Segment::Claimed {
                    path.hatch d=(format!("M{} 6.5l3.5-5M{} 6.5l3.5-5", x + 2, x + 6)) {}
                }
            }
        }
    }
}

/// A bar that shows the done part and the claimed part of a whole.
pub(crate) fn bar(done: usize, claimed: usize, of: usize, colour: &str) -> Markup {
    let part = |n: usize| (n * 1_000).checked_div(of).unwrap_or_default().min(1_000);
    html! {
        svg class={"bar-of " (colour)} viewBox="0 0 1000 8" preserveAspectRatio="none"
            aria-hidden="true" {
            rect.track x="0" y="0" width="1000" height="8" {}
            rect.claimed x=(part(done)) y="0" width=(part(claimed)) height="8" {}
            rect.fill x="0" y="0" width=(part(done)) height="8" {}
        }
    }
}

/// The progress of an issue's criteria: "2 of 5 met, 1 claimed".
pub(crate) fn met(progress: Option<&ProgressView>) -> Markup {
    let Some(progress) = progress.filter(|progress| progress.criteria > 0) else {
        return html! {};
    };
    let ProgressView { criteria, met, claimed, .. } = *progress;
    let kinds = [(met, Segment::Done), (claimed, Segment::Claimed)];
    let mut items = Vec::new();
    for (count, kind) in kinds {
        items.extend(std::iter::repeat_n(kind, usize::try_from(count).unwrap_or(0)));
    }
    items.resize(usize::try_from(criteria).unwrap_or(0).max(items.len()), Segment::Open);
    html! {
        span.progress-of {
            (segments(&items))
            span.words { (met_words(met, criteria, claimed)) }
        }
    }
}

/// "2 of 5 met, 1 claimed".
pub(crate) fn met_words(met: i64, of: i64, claimed: i64) -> String {
    match claimed {
        0 => format!("{met} of {of} met"),
        claimed => format!("{met} of {of} met, {claimed} claimed"),
    }
}

/// The evidence of a claim, piece by piece.
pub(crate) fn evidence(all: &[Evidence]) -> Markup {
    html! {
        @for one in all {
            @let written = one.to_string();
            @let value = written.split_once(':').map_or("", |(_, value)| value);
            span.evidence title=(one.kind().name()) {
                (icon(one.kind()).draw())
                span.hidden { (one.kind().name()) " " }
                @match one.kind() {
                    EvidenceKind::Url => a.mono href=(value) rel="noopener nofollow" { (value) },
                    EvidenceKind::Commit => span.mono title=(value) { (value.get(..7).unwrap_or(value)) },
                    EvidenceKind::Note => span { (value) },
                    _ => span.mono { (value) },
                }
            }
        }
    }
}

const fn icon(kind: EvidenceKind) -> Icon {
    match kind {
        EvidenceKind::Commit => Icon::Commit,
        EvidenceKind::Test => Icon::Test,
        EvidenceKind::Pr => Icon::Pr,
        EvidenceKind::File => Icon::File,
        EvidenceKind::Url => Icon::Url,
        EvidenceKind::Note => Icon::Note,
    }
}

/// An empty page or section: what belongs here, and the command that creates it.
pub(crate) fn empty(title: &str, words: &str, command: &str) -> Markup {
    html! {
        section.empty {
            h2 id="nothing" tabindex="-1" { (title) }
            p { (words) }
            @if !command.is_empty() { p.command { code { (command) } } }
        }
    }
}

/// The heading of a section: its name, and the text next to it.
pub(crate) fn section_head(id: &str, name: &str, beside: &Markup, actions: &Markup) -> Markup {
    html! {
        header.section-head { h2 id=(id) tabindex="-1" { (name) } (beside) div.actions { (actions) } }
    }
}

/// The heading of a section in a sidebar. On a phone it unfolds the section; from the middle width
/// on, the section is always open (the stylesheet sees to that).
pub(crate) fn rail_head(id: &str, name: &str, beside: &Markup) -> Markup {
    html! {
        summary.section-head { h2 id=(id) tabindex="-1" { (name) } (beside) (chevron()) }
    }
}

/// Capacity: "9 of 10", a bar, "1 place left".
pub(crate) fn gauge(name: &str, used: i64, limit: i64) -> Markup {
    let (left, of) = ((limit - used).max(0), limit.max(1));
    let colour = match (left, used * 10 >= of * 9) {
        (0, _) => "red",
        (_, true) => "amber",
        _ => "accent",
    };
    let size = |n: i64| usize::try_from(n.max(0)).unwrap_or(usize::MAX);
    html! {
        div.gauge {
            p.gauge-name { (name) }
            p.figure { (words::grouped(used)) span.of { " of " (words::grouped(limit)) } }
            (bar(size(used), 0, size(of), colour))
            p.hint { @if left == 0 { "Full" } @else { (words::count(left, "place left", "places left")) } }
        }
    }
}

/// The arrow of something that unfolds.
pub(crate) fn chevron() -> Markup {
    Icon::Right.draw()
}
