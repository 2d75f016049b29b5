//! What is decided about hooks before and besides the driver: which stops reach it, which hooks open
//! a turn, and how a host's runs are set up.

use super::{Happened, Host, Stop, Why};
use crate::Run;
use crate::driver::StopReason;

/// What is known when a session of a host stops.
#[derive(Clone, Copy, Debug)]
pub struct Stopped {
    pub stop: Stop,
    /// The last stop that was answered looks the same.
    pub repeats: bool,
    /// The lists have changed since, so it is another stop.
    pub moved: bool,
    pub last: Last,
}

/// The open run of a session, otherwise its newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    None,
    Open,
    Over,
    /// It ended for a reason that only a person's message lifts.
    Spent(StopReason),
}

impl Last {
    #[must_use]
    pub fn of(run: Option<&Run>) -> Self {
        match run {
            None => Self::None,
            Some(run) if !run.is_over() => Self::Open,
            Some(run) if run.is_spent() => {
                Self::Spent(run.stop_reason.unwrap_or(StopReason::Error))
            }
            Some(_) => Self::Over,
        }
    }
}

/// What happens with a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// It is allowed although work may be left.
    Excused(Why),
    /// It was delivered before: it is allowed and counts once.
    Duplicate,
    /// The last run ended for a reason that only a person's message lifts.
    Spent(StopReason),
    /// The driver decides about the open run.
    Drive,
    /// A run begins, and the driver decides about it.
    Begin,
}

impl Stopped {
    #[must_use]
    pub const fn course(self) -> Course {
        if let Some(why) = self.stop.excuse() {
            return Course::Excused(why);
        }
        if self.repeats && !self.moved {
            return Course::Duplicate;
        }
        match self.last {
            Last::Open => Course::Drive,
            Last::Spent(reason) => Course::Spent(reason),
            Last::None | Last::Over => Course::Begin,
        }
    }
}

impl Happened {
    /// Does this hook begin a session that is not known yet, or reopen one that has ended? Some
    /// hosts report the prompt that an agent gives to its subagent, too.
    #[must_use]
    pub const fn begins(self, is_subagent: bool) -> bool {
        matches!(self, Self::Start) || self.opens_turn(is_subagent)
    }

    /// Did a person write? Only then are the counters of a turn reset.
    #[must_use]
    pub const fn opens_turn(self, is_subagent: bool) -> bool {
        matches!(self, Self::Prompt) && !is_subagent
    }
}

/// Does a resumed session get its last issue back? Not if it is closed, or another session has it.
#[must_use]
pub const fn binds_again(is_closed: bool, is_taken: bool) -> bool {
    !is_closed && !is_taken
}

impl Host {
    /// Does the driver continue sessions of this host? Yes unless somebody has switched it off: that
    /// is why a host is set up.
    #[must_use]
    pub fn drives(self, asked: Option<bool>, configured: Option<bool>) -> bool {
        asked.or(configured).unwrap_or(true)
    }

    /// The most continuations of a turn: what is configured, but below the host's own limit.
    #[must_use]
    pub fn capped(self, configured: u32) -> u32 {
        configured.min(self.continuations_max())
    }
}

/// After how many seconds an item is tried again when the model's service failed: soon after an
/// overload, later if a person has to fix something.
#[must_use]
pub fn retry_after_s(error: &str) -> i64 {
    let is_passing = matches!(
        error,
        "rate_limit" | "overloaded" | "server_error" | "max_output_tokens" | "unknown"
    );
    if is_passing { 300 } else { 3600 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_reaches_the_driver_only_if_nothing_else_decides() {
        let spent = Last::Spent(StopReason::NoProgress);
        let new = Stopped { stop: Stop::default(), repeats: false, moved: false, last: Last::None };
        let parked = Stop { parked: true, ..Stop::default() };
        let again = Stopped { repeats: true, last: Last::Open, ..new };
        let cases = [
            (new, Course::Begin),
            (Stopped { last: Last::Open, ..new }, Course::Drive),
            (Stopped { last: Last::Over, ..new }, Course::Begin),
            (Stopped { last: spent, ..new }, Course::Spent(StopReason::NoProgress)),
            (again, Course::Duplicate),
            (Stopped { last: spent, ..again }, Course::Duplicate),
            (Stopped { moved: true, ..again }, Course::Drive),
            (Stopped { moved: true, last: Last::Open, ..new }, Course::Drive),
            (Stopped { stop: parked, ..again }, Course::Excused(Why::Parked)),
            (Stopped { stop: parked, last: spent, ..new }, Course::Excused(Why::Parked)),
        ];
        for (stopped, expected) in cases {
            assert_eq!(stopped.course(), expected, "{stopped:?}");
        }
    }

    #[test]
    fn only_a_person_opens_a_turn() {
        for happened in Happened::ALL {
            let is_prompt = happened == Happened::Prompt;
            assert_eq!(happened.opens_turn(false), is_prompt);
            assert!(!happened.opens_turn(true));
            assert_eq!(happened.begins(false), is_prompt || happened == Happened::Start);
            assert_eq!(happened.begins(true), happened == Happened::Start);
        }
    }

    #[test]
    fn a_resumed_session_gets_an_open_issue_back_that_nobody_has() {
        let cases = [(false, false, true), (true, false, false), (false, true, false)];
        for (is_closed, is_taken, expected) in cases {
            assert_eq!(binds_again(is_closed, is_taken), expected);
        }
        assert!(!binds_again(true, true));
    }

    #[test]
    fn driving_is_on_unless_it_is_switched_off() {
        let cases = [
            (None, None, true),
            (None, Some(false), false),
            (Some(true), Some(false), true),
            (Some(false), Some(true), false),
        ];
        for (asked, configured, expected) in cases {
            assert_eq!(Host::Claude.drives(asked, configured), expected);
        }
        for host in Host::ALL {
            let max = host.continuations_max();
            assert_eq!((host.capped(0), host.capped(u32::MAX)), (0, max));
        }
    }

    #[test]
    fn an_overload_is_retried_sooner_than_a_bill() {
        assert_eq!(retry_after_s("overloaded"), 300);
        assert_eq!(retry_after_s("billing_error"), 3600);
    }
}
