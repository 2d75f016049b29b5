//! The events of a run, for observers.

use std::time::Duration;

use punchlist_core::driver::StopReason;
use punchlist_core::{DelegationId, Run};
use punchlist_ops::Error;
use serde_json::Value;

use super::Outcome;
use crate::model::{Fault, Stop, Usage};

/// An event of a run.
#[derive(Clone, Copy, Debug)]
pub enum Live<'a> {
    /// A process begins or continues a run.
    Begins {
        run: &'a Run,
    },
    /// The model is asked.
    Asks {
        run: &'a Run,
        /// The model's provider, from `Model::provider`.
        provider: &'static str,
    },
    /// A piece of the model's reply.
    Text {
        run: &'a Run,
        text: &'a str,
    },
    /// A reply is complete.
    Replied {
        run: &'a Run,
        text: &'a str,
        usage: Usage,
        stop: Stop,
        /// The provider's id of the reply.
        id: Option<&'a str>,
    },
    /// The model failed, and is not asked again.
    Fails {
        run: &'a Run,
        fault: &'a Fault,
    },
    /// The model failed, and is asked again.
    Retries {
        run: &'a Run,
        attempt: u32,
        pause: Duration,
        error: &'a str,
    },
    /// A tool is called.
    Calls {
        run: &'a Run,
        call_id: &'a str,
        tool: &'a str,
        input: &'a Value,
    },
    /// The tool that is called has delegated work.
    Delegates {
        run: &'a Run,
        delegation: DelegationId,
    },
    /// The tool call has its result.
    Returned {
        run: &'a Run,
        call_id: &'a str,
        tool: &'a str,
        text: &'a str,
        is_error: bool,
    },
    /// The driver asked the model to continue.
    Continues {
        run: &'a Run,
        said: &'a str,
    },
    /// The conversation was summarised.
    Compacted {
        run: &'a Run,
        usage: Usage,
        stop: Stop,
        id: Option<&'a str>,
    },
    Waits {
        run: &'a Run,
        kind: &'a str,
    },
    Ends {
        run: &'a Run,
        reason: StopReason,
        detail: Option<&'a str>,
        /// The project's name.
        project: &'a str,
        /// The issue it worked on.
        issue: Option<i64>,
    },
    /// The process stops executing the run, for any reason. This is always the last one.
    Leaves {
        run: &'a Run,
        outcome: Result<Outcome, &'a Error>,
    },
}

impl<'a> Live<'a> {
    /// The run, as it was last read.
    #[must_use]
    pub const fn run(&self) -> &'a Run {
        match *self {
            Self::Begins { run }
            | Self::Asks { run, .. }
            | Self::Text { run, .. }
            | Self::Replied { run, .. }
            | Self::Fails { run, .. }
            | Self::Retries { run, .. }
            | Self::Calls { run, .. }
            | Self::Delegates { run, .. }
            | Self::Returned { run, .. }
            | Self::Continues { run, .. }
            | Self::Compacted { run, .. }
            | Self::Waits { run, .. }
            | Self::Ends { run, .. }
            | Self::Leaves { run, .. } => run,
        }
    }
}
