//! The title of a host's session: the beginning of its first prompt, so that a person recognises it.
//! Until then, and if no prompt is known, it is named after its host and folder.

use serde::{Deserialize, Serialize};

use super::{Session, keeper};
use crate::authority::Action;
use crate::event::SessionTitled;
use crate::host::Host;
use crate::{By, Decide, Decision, Refused};

/// The most characters of a prompt in a title, which is a line of a list.
const TITLE_MAX: usize = 72;

/// Name a host's session after what a person wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TitleSession {
    /// The beginning of the prompt, in one line.
    pub prompt: String,
}

/// The title of a host's session without a prompt: its host, and the last part of its folder's path.
#[must_use]
pub fn untitled(host: Host, directory: Option<&str>) -> String {
    let folder = directory.and_then(|path| path.rsplit(['/', '\\']).find(|part| !part.is_empty()));
    match folder {
        Some(folder) => format!("{} in {}", host.label(), beginning(folder)),
        None => unplaced(host),
    }
}

/// The title if the folder is unknown. Every session of a host had this one before it was named
/// after its prompt.
fn unplaced(host: Host) -> String {
    format!("{} session", host.label())
}

impl Decide for TitleSession {
    type On<'a> = &'a Session;
    type Out = Decision;

    /// A title that a person, an issue or an earlier prompt has given stays.
    fn decide(
        &self,
        session: Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        keeper(actor, Action::Start)?;
        let Some(host) = session.host.as_deref().and_then(Host::parse) else {
            return Ok(Decision::default());
        };
        let is_own = [untitled(host, session.directory.as_deref()), unplaced(host)];
        let title = beginning(&self.prompt);
        if !is_own.contains(&session.title) || title.is_empty() || is_command(&title) {
            return Ok(Decision::default());
        }
        let titled = SessionTitled { session_id: session.id, title };
        Ok(Decision { events: vec![titled.into()], ..Decision::default() })
    }
}

/// Is it a command of the host, like `/clear`, and not a description of work? A path has a further
/// slash in its first word.
fn is_command(prompt: &str) -> bool {
    let first = prompt.split(' ').next().unwrap_or_default();
    first.strip_prefix('/').is_some_and(|name| !name.contains('/'))
}

/// The beginning of a text, in one line.
fn beginning(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(TITLE_MAX) {
        Some((at, _)) => format!("{}…", line[..at].trim_end_matches(['…', ' '])),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::tests::decided;
    use crate::session::apply_session;
    use crate::session::tests::session;
    use crate::{Actor, AgentPath, Role, Time};

    fn of_host(title: &str) -> Session {
        let (host, directory) = (Some("claude".to_owned()), Some("/home/ada/shop/".to_owned()));
        Session { title: title.to_owned(), host, directory, ..session(5) }
    }

    /// The title after this prompt.
    fn after(session: Session, prompt: &str) -> String {
        let title = TitleSession { prompt: prompt.to_owned() };
        let root = Actor::new(Role::Root, AgentPath::primary());
        let decision = decided(&title, &session, &root).unwrap();
        let mut state = Some(session);
        for event in &decision.events {
            assert!(apply_session(&mut state, event, Time::from_micros(1)));
        }
        state.unwrap().title
    }

    #[test]
    fn a_session_is_named_after_its_host_and_folder_at_first() {
        assert_eq!(untitled(Host::Claude, Some("/home/ada/shop/")), "Claude Code in shop");
        assert_eq!(untitled(Host::Codex, Some("C:\\work\\shop")), "Codex in shop");
        for none in [None, Some(""), Some("/")] {
            assert_eq!(untitled(Host::Codex, none), "Codex session");
        }
    }

    #[test]
    fn the_first_prompt_gives_the_title_and_a_given_title_stays() {
        for own in ["Claude Code in shop", "Claude Code session"] {
            assert_eq!(after(of_host(own), " Fix the\n refunds "), "Fix the refunds");
        }
        assert_eq!(after(of_host("Fix the refunds"), "Go on"), "Fix the refunds");
        let of_no_host = Session { host: None, ..of_host("Claude Code in shop") };
        assert_eq!(after(of_no_host, "Fix"), "Claude Code in shop");
    }

    #[test]
    fn a_long_prompt_is_cut_between_characters() {
        let title = after(of_host("Claude Code in shop"), &"ü🙂".repeat(200));
        assert_eq!(title.chars().count(), TITLE_MAX + 1);
        assert!(title.starts_with("ü🙂ü") && title.ends_with('…'), "{title}");
        let just = "x".repeat(TITLE_MAX);
        assert_eq!(after(of_host("Claude Code in shop"), &just), just);
    }

    #[test]
    fn a_command_of_the_host_is_no_title() {
        for command in ["/punch-bind 3", "/clear", " ", ""] {
            assert_eq!(after(of_host("Claude Code in shop"), command), "Claude Code in shop");
        }
        let path = "/etc/hosts is wrong";
        assert_eq!(after(of_host("Claude Code in shop"), path), path);
    }
}
