//! Agents of other vendors: the known hosts, what their hooks report, and when a stop is allowed
//! without asking the driver.
//!
//! The input formats of all hosts are decoded into these types before they get here. The session of
//! a host is an ordinary session, and what it does between a prompt and a stop is an ordinary run
//! whose model is `host:NAME`: the host executes it, and nothing here starts it (ADR 0026).

pub mod brief;
mod choice;
mod delivery;
pub mod mirror;

pub use choice::{Course, Last, Stopped, binds_again, retry_after_s};
pub use delivery::{DUPLICATE_MAX_US, Delivery};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::named;

/// The prefix of the model of a run that a host executes.
const MODEL: &str = "host:";

named! {
    /// A program that runs agents and fires hooks.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Host {
        Claude = "claude",
        Codex = "codex",
        Opencode = "opencode",
        Gemini = "gemini",
        Cursor = "cursor",
        Copilot = "copilot",
        Goose = "goose",
    }
}

named! {
    /// What a hook reports.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Happened {
        /// A session begins, continues after a break, or was compacted.
        Start = "start",
        /// A person wrote a prompt.
        Prompt = "prompt",
        /// The model ended its turn.
        Stop = "stop",
        SubagentStart = "subagent_start",
        SubagentStop = "subagent_stop",
        /// The model's service failed, so the turn is over.
        StopFailure = "stop_failure",
        /// The host's own list changed.
        Todos = "todos",
        End = "end",
    }
}

named! {
    /// Why a session begins.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Source {
        Startup = "startup",
        Resume = "resume",
        Clear = "clear",
        Compact = "compact",
        Fork = "fork",
    }
}

named! {
    /// Why a hook was answered as it was, if the driver did not decide.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Why {
        /// The session was told about its work.
        Injected = "injected",
        /// There is nothing to tell.
        NothingToSay = "nothing_to_say",
        /// A person wrote a prompt, so a new turn began.
        TurnOpened = "turn_opened",
        /// No such session is known.
        UnknownSession = "unknown_session",
        /// Background work or a schedule will wake the session.
        Parked = "parked",
        PlanMode = "plan_mode",
        Interrupted = "interrupted",
        /// The same stop was delivered before.
        Duplicate = "duplicate",
        /// A subagent reports to its parent and has no list.
        Subagent = "subagent",
        /// The driver asked the session to go on.
        Continued = "continued",
        /// The list of the host was copied.
        Mirrored = "mirrored",
        Ended = "ended",
    }
}

impl Host {
    /// The name people know.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Opencode => "opencode",
            Self::Gemini => "Gemini CLI",
            Self::Cursor => "Cursor",
            Self::Copilot => "Copilot CLI",
            Self::Goose => "Goose",
        }
    }

    /// The most continuations of one turn. Hosts that count for themselves end the turn without
    /// our reason, so ours is lower; the others get the driver's default.
    #[must_use]
    pub const fn continuations_max(self) -> u32 {
        match self {
            Self::Claude | Self::Copilot => 7,
            Self::Cursor => 4,
            Self::Codex | Self::Opencode | Self::Gemini => crate::driver::CONTINUATIONS,
            // Its stop hook cannot prevent a stop.
            Self::Goose => 0,
        }
    }

    /// The most characters of a text that the host shows to its model unchanged.
    #[must_use]
    pub const fn text_max(self) -> usize {
        match self {
            // Longer texts are moved to a file: 10,000 characters, and 2,500 tokens.
            Self::Claude => 9_500,
            Self::Codex => 7_500,
            _ => 6_000,
        }
    }

    /// Does each process of this host have one session at a time? Then a new session replaces the
    /// old one.
    #[must_use]
    pub const fn has_one_session(self) -> bool {
        matches!(self, Self::Claude | Self::Gemini | Self::Copilot | Self::Goose)
    }

    /// The model of a run that this host executes.
    #[must_use]
    pub fn model(self) -> String {
        format!("{MODEL}{}", self.name())
    }
}

/// The host that executes runs with this model.
#[must_use]
pub fn of_model(model: &str) -> Option<Host> {
    model.strip_prefix(MODEL).and_then(Host::parse)
}

/// Is this the model of a run that a host executes?
#[must_use]
pub fn is_hosted(model: &str) -> bool {
    model.starts_with(MODEL)
}

/// What a host says about a stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stop {
    pub parked: bool,
    pub plan_mode: bool,
    pub interrupted: bool,
    /// A subagent stops, not the session.
    pub subagent: bool,
}

impl Stop {
    /// Why this stop is allowed even if work is left.
    #[must_use]
    pub const fn excuse(self) -> Option<Why> {
        if self.subagent {
            Some(Why::Subagent)
        } else if self.interrupted {
            Some(Why::Interrupted)
        } else if self.plan_mode {
            Some(Why::PlanMode)
        } else if self.parked {
            Some(Why::Parked)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_parsing_agree() {
        for host in Host::ALL {
            assert_eq!(Host::parse(host.name()), Some(host));
            assert!(is_hosted(&host.model()));
            assert_eq!(of_model(&host.model()), Some(host));
        }
        for happened in Happened::ALL {
            assert_eq!(Happened::parse(happened.name()), Some(happened));
        }
        assert!(!is_hosted("anthropic:claude"));
    }

    /// The hosts' own caps: Claude Code and Copilot 8, Cursor 5.
    #[test]
    fn our_cap_is_below_the_hosts() {
        for (host, cap) in [(Host::Claude, 8), (Host::Copilot, 8), (Host::Cursor, 5)] {
            assert!(host.continuations_max() < cap, "{}", host.name());
        }
        for host in Host::ALL {
            assert!(host.continuations_max() <= crate::driver::CONTINUATIONS);
        }
    }

    #[test]
    fn parked_work_plan_mode_and_interrupts_are_never_held() {
        let none = Stop::default();
        assert_eq!(none.excuse(), None);
        assert_eq!(Stop { parked: true, ..none }.excuse(), Some(Why::Parked));
        assert_eq!(Stop { plan_mode: true, ..none }.excuse(), Some(Why::PlanMode));
        assert_eq!(Stop { interrupted: true, ..none }.excuse(), Some(Why::Interrupted));
        assert_eq!(Stop { subagent: true, parked: true, ..none }.excuse(), Some(Why::Subagent));
    }
}
