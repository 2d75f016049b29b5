//! Icons next to words. They never add information to the word.

use maud::{Markup, PreEscaped, html};

/// An icon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Icon {
    Home,
    Inbox,
    Issues,
    Missions,
    Plans,
    Agents,
    Activity,
    More,
    Down,
    Right,
    Back,
    Find,
    Plus,
    Dots,
    SignOff,
    Pause,
    Play,
    Stop,
    Question,
    Form,
    Permission,
    Escalation,
    Review,
    Proposal,
    Commit,
    Test,
    Pr,
    File,
    Url,
    Note,
    Tick,
    Comment,
    Send,
    Again,
}

impl Icon {
    const fn paths(self) -> &'static str {
        match self {
            Self::Home => {
                concat!(
                    r#"<path d="M2.5 7.2 8 2.5l5.5 4.7v5.3a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1z"/>"#,
                    r#"<path d="M6.5 13.5V10h3v3.5"/>"#,
                )
            }
            Self::Inbox => {
                concat!(
                    r#"<path d="M2 9.5 3.6 3.8a1 1 0 0 1 1-.8h6.8a1 1 0 0 1 1 .8L14 9.5v2.7a.8.8 0 0 1-.8.8H2.8a.8.8 "#,
                    r#"0 0 1-.8-.8z"/><path d="M2 9.5h3.3l1 1.5h3.4l1-1.5H14"/>"#,
                )
            }
            Self::Issues => {
                r#"<rect x="2.5" y="2.5" width="11" height="11" rx="2"/><path d="m5.5 8.2 1.8 1.8 3.3-3.7"/>"#
            }
            Self::Missions => r#"<circle cx="8" cy="8" r="5.75"/><circle cx="8" cy="8" r="2.25"/>"#,
            Self::Plans => r#"<path d="M3 2.5v10.5h10M3 5h7M3 9h10"/>"#,
            Self::Agents => {
                r#"<rect x="2.75" y="5.5" width="10.5" height="8" rx="2"/><path d="M8 2.5v3M6 9v1.2M10 9v1.2"/>"#
            }
            Self::Activity => r#"<path d="M1.5 8.5h2.8l2-5 3.2 9 2-4h3"/>"#,
            Self::More | Self::Dots => {
                concat!(
                    r#"<circle class="dot" cx="3.5" cy="8" r="1.1"/><circle class="dot" cx="8" cy="8" r="1.1"/>"#,
                    r#"<circle class="dot" cx="12.5" cy="8" r="1.1"/>"#,
                )
            }
            Self::Down => r#"<path d="m4 6 4 4 4-4"/>"#,
            Self::Right => r#"<path d="m6 4 4 4-4 4"/>"#,
            Self::Back => r#"<path d="m10 3.5-4.5 4.5 4.5 4.5"/>"#,
            Self::Find => r#"<circle cx="7" cy="7" r="4.25"/><path d="m10.2 10.2 3.3 3.3"/>"#,
            Self::Plus => r#"<path d="M8 3v10M3 8h10"/>"#,
            Self::SignOff => {
                concat!(
                    r#"<path d="M2 13.5h12M2.5 10.5c2.5-.3 4.2-6.8 5.6-7.3 1.5-.5-.8 5.6.1 5.8.8.2 1.3-2.2 2.1-2.2.7 "#,
                    r#"0 0 2.2.8 2.4.6.2 1-.7 2.4-.7"/>"#,
                )
            }
            Self::Pause => r#"<path d="M6 3.5v9M10 3.5v9"/>"#,
            Self::Play => r#"<path d="M5 3.2 12.5 8 5 12.8z"/>"#,
            Self::Stop => r#"<rect x="4" y="4" width="8" height="8" rx="1"/>"#,
            Self::Question => {
                concat!(
                    r#"<circle cx="8" cy="8" r="5.75"/><path d="M6.4 6.5a1.6 1.6 0 1 1 2.3 1.45c-.45.22-.7.5-.7 1"/>"#,
                    r#"<circle class="dot" cx="8" cy="10.9" r=".8"/>"#,
                )
            }
            Self::Form => {
                r#"<rect x="2.75" y="2.5" width="10.5" height="11" rx="1.5"/><path d="M5.5 6h5M5.5 8.5h5M5.5 11h3"/>"#
            }
            Self::Permission => {
                r#"<circle cx="5.25" cy="10.75" r="2.75"/><path d="m7.3 8.7 5.9-5.9M10.8 5.2l1.9 1.9"/>"#
            }
            Self::Escalation => r#"<path d="M3.5 13.5v-11h8l-1.6 3 1.6 3h-8"/>"#,
            Self::Review => {
                concat!(
                    r#"<path d="M1.5 8S4 3.75 8 3.75 14.5 8 14.5 8 12 12.25 8 12.25 1.5 8 1.5 8z"/>"#,
                    r#"<circle cx="8" cy="8" r="1.9"/>"#,
                )
            }
            Self::Proposal => r#"<path d="M2 4h9M2 8h6M2 12h4.5M11.5 8.5v6M8.5 11.5h6"/>"#,
            Self::Commit => r#"<circle cx="8" cy="8" r="2.5"/><path d="M1.5 8h4M10.5 8h4"/>"#,
            Self::Test => {
                r#"<path d="M6 2.5v4.2L3 12a1 1 0 0 0 .9 1.5h8.2A1 1 0 0 0 13 12l-3-5.3V2.5M5 2.5h6"/>"#
            }
            Self::Pr => {
                concat!(
                    r#"<circle cx="4.5" cy="4" r="1.5"/><circle cx="4.5" cy="12" r="1.5"/>"#,
                    r#"<circle cx="11.5" cy="12" r="1.5"/><path d="M4.5 5.5v5M11.5 10.5V6a2 2 0 0 0-2-2H7.5"/>"#,
                )
            }
            Self::File => r#"<path d="M4 2.5h5l3 3v8H4zM9 2.5v3h3"/>"#,
            Self::Url => {
                concat!(
                    r#"<path d="M6.8 9.2 9.2 6.8M7.2 4.9l1.4-1.4a2.7 2.7 0 0 1 3.9 3.9l-1.4 1.4M8.8 11.1l-1.4 "#,
                    r#"1.4a2.7 2.7 0 0 1-3.9-3.9l1.4-1.4"/>"#,
                )
            }
            Self::Note => r#"<path d="M3 3h10v7l-3 3H3zM10 13v-3h3"/>"#,
            Self::Tick => r#"<path d="m3.5 8.5 3 3 6-6.5"/>"#,
            Self::Comment => {
                concat!(
                    r#"<path d="M3 3h10a.8.8 0 0 1 .8.8v6.4a.8.8 0 0 1-.8.8H6.5L4 13.5V11H3a.8.8 0 0 1-.8-.8V3.8A.8 "#,
                    r#".8 0 0 1 3 3z"/>"#,
                )
            }
            Self::Send => r#"<path d="M13.5 2.5 2.5 7l4.5 2 2 4.5zM7 9l6.5-6.5"/>"#,
            Self::Again => r#"<path d="M13 8a5 5 0 1 1-1.5-3.6M13 2.5v3h-3"/>"#,
        }
    }

    pub(crate) fn draw(self) -> Markup {
        html! {
            svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"
                focusable="false" { (PreEscaped(self.paths())) }
        }
    }
}

/// The logo of punchlist: a square with a tick.
pub(crate) fn sign() -> Markup {
    html! {
        svg.sign viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false" {
            (PreEscaped(r#"<rect x="1" y="1" width="18" height="18" rx="5"/><path d="m5.8 10.3 2.9 2.9 5.5-6"/>"#))
        }
    }
}
