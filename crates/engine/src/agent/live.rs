//! What happens in a run while it happens, for whoever watches.

use std::time::Duration;

use punchlist_core::Run;
use punchlist_core::driver::StopReason;
use serde_json::Value;

use crate::model::Usage;

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
        tool: &'a str,
        input: &'a Value,
    },
    /// It has its result.
    Returned {
        run: &'a Run,
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
    },
    Waits {
        run: &'a Run,
        kind: &'a str,
    },
    Ends {
        run: &'a Run,
        reason: StopReason,
        detail: Option<&'a str>,
    },
}
