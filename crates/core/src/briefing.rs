//! The texts of prompts that a person starts an agent with: go on, review, hand over, plan.
//!
//! They are short and factual. The caller reads what a prompt is filled with (the state of an
//! issue, a goal).

/// A prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Briefing {
    pub name: &'static str,
    pub about: &'static str,
    pub arguments: &'static [Argument],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    pub name: &'static str,
    pub about: &'static str,
    pub is_required: bool,
}

const ISSUE: Argument = Argument {
    name: "issue",
    about: "The number of an issue; absent: the issue of this session",
    is_required: false,
};

pub const NEXT: Briefing =
    Briefing { name: "next", about: "Continue with the next open item", arguments: &[ISSUE] };
pub const REVIEW: Briefing = Briefing {
    name: "review",
    about: "Check an issue against its criteria",
    arguments: &[Argument { name: "issue", about: "The number of the issue", is_required: true }],
};
pub const HANDOFF: Briefing = Briefing {
    name: "handoff",
    about: "Summarise the work for the next agent",
    arguments: &[ISSUE],
};
pub const PLAN: Briefing = Briefing {
    name: "plan",
    about: "Break a goal into steps before work begins",
    arguments: &[
        Argument { name: "goal", about: "What is to be reached", is_required: true },
        ISSUE,
    ],
};

pub const ALL: [Briefing; 4] = [NEXT, REVIEW, HANDOFF, PLAN];

impl Briefing {
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        ALL.into_iter().find(|briefing| briefing.name == name)
    }

    /// The whole text. `goal`: of a plan. `state`: what is known about the work; it may be empty.
    #[must_use]
    pub fn text(self, goal: &str, state: &str) -> String {
        let asked = match self.name {
            "next" => {
                "Continue with the next open item.\n\nSettle each item when it is done, with \
                 evidence. Where you cannot go on, hold the item with a reason, or ask. Claim a \
                 criterion when it is met; the operator accepts it."
                    .to_owned()
            }
            "review" => "Check the issue against its criteria.\n\nFor each criterion say whether it \
                 is met, and what you looked at: the command and its output, the file and the line. \
                 Change nothing: what is claimed is judged by the operator."
                .to_owned(),
            "handoff" => {
                "Summarise the work for an agent that knows nothing of this session.\n\n\
                 Say what is done and must not be done again, what is open, what is held and why, \
                 which commands and files matter, and the next step. Keep it as a comment on the \
                 issue."
                    .to_owned()
            }
            _ => format!(
                "Plan this before you begin: {goal}\n\nWrite criteria that somebody else can check, \
                 then steps in the order of work, each small enough to finish in one go. Work that \
                 takes one or two steps needs no plan. Ask where the goal leaves a choice open."
            ),
        };
        match state.trim() {
            "" => asked,
            state => format!("{asked}\n\n{state}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prompt_says_what_is_asked_and_what_is_known() {
        for briefing in ALL {
            assert_eq!(Briefing::parse(briefing.name), Some(briefing));
            let text = briefing.text("A faster build", "Issue #3: 1 of 4 closed.");
            assert!(text.ends_with("\n\nIssue #3: 1 of 4 closed."), "{text}");
            assert_eq!(text.contains("A faster build"), briefing == PLAN, "{text}");
            let alone = briefing.text("A faster build", "  ");
            assert!(text.starts_with(&alone) && alone.len() < 480, "{alone}");
        }
        assert_eq!(Briefing::parse("Next"), None);
    }
}
