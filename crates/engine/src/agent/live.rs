//! What happens in a run while it happens, for whoever watches.

use std::time::Duration;

use punchlist_core::driver::StopReason;
use punchlist_core::{DelegationId, Run};
use punchlist_ops::Error;
use serde_json::Value;

use super::Outcome;
use crate::model::{Fault, Stop, Usage};

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Live<'a> {
    /// A process goes on with a run.
    Begins {
        run: &'a Run,
    },
    /// The model is asked.
    Asks {
        run: &'a Run,
        /// Who makes it, as `Model::provider` says.
        provider: &'static str,
    },
    /// Words of the model, as they come.
    Text {
        run: &'a Run,
        text: &'a str,
    },
    /// A reply is whole.
    Replied {
        run: &'a Run,
        text: &'a str,
        usage: Usage,
        stop: Stop,
        /// The maker's id of it.
        id: Option<&'a str>,
    },
    /// There is no reply, and the model is not asked again.
    Fails {
        run: &'a Run,
        fault: &'a Fault,
    },
    /// The model did not answer, and is asked again.
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
    /// The tool that is called has handed work on.
    Delegates {
        run: &'a Run,
        delegation: DelegationId,
    },
    /// It has its result.
    Returned {
        run: &'a Run,
        call_id: &'a str,
        tool: &'a str,
        text: &'a str,
        is_error: bool,
    },
    /// The driver asked it to go on.
    Continues {
        run: &'a Run,
        said: &'a str,
    },
    /// What was said before was summed up.
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
    /// The process that went on with it does so no more. It comes last, however it came to this.
    Leaves {
        run: &'a Run,
        outcome: Result<Outcome, &'a Error>,
    },
}

impl<'a> Live<'a> {
    /// The run it is about, as it was read last.
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
