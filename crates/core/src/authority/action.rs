//! The acts that the authority table has rows for, each with the word it is printed under.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::named::named;

named! {
    /// What someone wants to do.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
    )]
    pub enum Action {
        View = "view",
        Create = "create",
        Promote = "promote",
        Demote = "demote",
        Start = "start",
        Complete = "complete",
        /// Complete a task and all open tasks below it.
        CompleteWithChildren = "complete_with_children",
        Cancel = "cancel",
        Note = "note",
        Replace = "replace",
        Revise = "revise",
        /// Give an item another place among its neighbours.
        Reorder = "reorder",
        Assign = "assign",
        Take = "take",
        Release = "release",
        Hold = "hold",
        Unhold = "unhold",
        Defer = "defer",
        Claim = "claim",
        Accept = "accept",
        Return = "return",
        Reopen = "reopen",
        /// Confirm a criterion.
        Ratify = "ratify",
        /// Rewrite the list by hand, as markdown.
        Edit = "edit",
        /// Add a worker's proposal to the list.
        Adopt = "adopt",
        /// Handle late, stale and long settled items, in a cycle.
        Sweep = "sweep",
        /// Archive the whole list.
        Archive = "archive",
        /// Delete archived lists.
        Purge = "purge",
        /// Bring in items that another tool or a file describes.
        Import = "import",
        /// Tick the line of a backlog file that a plan came from.
        Tick = "tick",
        /// Name an item by a part of its text.
        Abbreviate = "abbreviate",
        Comment = "comment",
        Link = "link",
        /// Change the status of an issue between two open ones.
        Move = "move",
        /// Resolve or reject an issue.
        Close = "close",
        /// Reject an issue because it duplicates another one.
        Duplicate = "close_as_duplicate",
        /// Change an issue's title, body, labels, priority or assignee.
        Update = "update",
        Bind = "bind",
        Unbind = "unbind",
        /// Unbind another session to get its issue.
        TakeOver = "take_over",
        Send = "send",
        End = "end",
        Pause = "pause",
        Resume = "resume",
        /// Ask a person.
        Ask = "ask",
        /// Answer for the person who was asked.
        Answer = "answer",
        Revoke = "revoke",
        /// Decide on what a worker proposed.
        Decide = "decide",
        /// Report the result of delegated work.
        Report = "report",
        Post = "post",
        /// Write into a conversation as the user, not as an agent.
        Instruct = "instruct",
        Stop = "stop",
        /// Begin a run as `lead` or `owner`.
        Play = "play",
        /// Execute a run.
        Execute = "execute",
        /// Name the model of a run that another process executes.
        ChooseModel = "choose_model",
        /// Create a mission, or change it in place.
        Init = "init",
        Cycle = "cycle",
        Record = "record",
        Collect = "collect",
        /// Say that a collector failed.
        Fail = "fail",
        Register = "register",
        /// Read the event log.
        ReadLog = "read_log",
        /// Read who did what, over everybody's work.
        Audit = "audit",
        Export = "export",
        /// Join two projects.
        Merge = "merge",
        Backup = "backup",
        Restore = "restore",
        /// Start a process that executes everybody's work: a worker or a server.
        Serve = "serve",
        /// Set the rules of the store.
        Govern = "govern",
        /// Get the role from the user's own configuration file.
        FromUserFile = "from_user_file",
        /// Get the role from a project's configuration file, which an agent can edit.
        FromProjectFile = "from_project_file",
    }
}

impl Action {
    /// Does the action judge somebody's work? A denied attempt at such an action is logged.
    #[must_use]
    pub const fn is_judgement(self) -> bool {
        matches!(self, Self::Complete | Self::Accept | Self::Return | Self::Reopen | Self::Ratify)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
