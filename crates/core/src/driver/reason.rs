//! Why a run ended: stable codes, which the contract names.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Finish;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $words:literal;)*) => {
        /// Why a run ended.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum StopReason { $($(#[$doc])* $name),* }

        impl StopReason {
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The stable code.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code),* }
            }

            /// The reason in words, for people.
            #[must_use]
            pub const fn words(self) -> &'static str {
                match self { $(Self::$name => $words),* }
            }
        }
    };
}

reasons! {
    /// Everything on its lists is settled.
    Drained = "drained", "everything on the list is done";
    /// There was no list.
    NoPlan = "no_plan", "it answered without a list";
    /// What is left is held.
    Blocked = "blocked", "what is left is held";
    /// What is left is claimed.
    AwaitingReview = "awaiting_review", "what is left waits for its reviewer";
    /// What is left is deferred.
    Deferred = "deferred", "what is left is deferred to a later date";
    SwitchedOff = "switched_off", "it is not set to continue by itself";
    NoTodoTool = "no_todo_tool", "the agent has no tool to change its list";
    ContinuationCap = "continuation_cap", "it reached the limit of continuations";
    IterationCap = "iteration_cap", "it reached the limit of model calls";
    TokenGuard = "token_guard", "the model's window is nearly full, or the tokens are used up";
    NoProgress = "no_progress", "it made no progress";
    GateOpen = "gate_open", "it waits for an answer";
    Waiting = "waiting", "it waits for delegated work";
    Paused = "paused", "it was paused";
    Refusal = "refusal", "the model refused";
    MaxTokens = "max_tokens", "a reply was longer than allowed";
    Context = "context", "the model's window is full";
    PermissionDenied = "permission_denied", "it was not permitted to continue";
    Error = "error", "the model or the store failed";
    Cancelled = "cancelled", "somebody stopped it";
}

impl StopReason {
    /// The reason given by how a reply ended; a normal end gives none (S-14).
    #[must_use]
    pub const fn of(finish: Finish) -> Option<Self> {
        match finish {
            Finish::EndTurn => None,
            // Calls without results: the run was interrupted between calls and results.
            Finish::ToolUse | Finish::Error => Some(Self::Error),
            Finish::MaxTokens => Some(Self::MaxTokens),
            Finish::Context => Some(Self::Context),
            Finish::Refusal => Some(Self::Refusal),
            Finish::PermissionDenied => Some(Self::PermissionDenied),
            Finish::Cancelled => Some(Self::Cancelled),
        }
    }

    /// Is nothing left that the agent could do?
    #[must_use]
    pub const fn is_drained(self) -> bool {
        matches!(self, Self::Drained | Self::NoPlan | Self::AwaitingReview)
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_what_is_stored() {
        for reason in StopReason::ALL {
            let stored = serde_json::to_string(reason).unwrap();
            assert_eq!(stored, format!("\"{}\"", reason.code()));
        }
    }
}
