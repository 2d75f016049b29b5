//! The rows of the authority table, one block for each subject.
//!
//! Columns are the roles in the order of [`Role::ALL`](crate::Role::ALL). A row that is missing
//! means that there is no such act on that subject.

use super::{Action as A, Cell, Row, Subject};
use crate::{ListKind, TodoKind};

use Cell::{Any, Claim, Grant, No, Own, Wish};

/// The rows of one subject.
#[must_use]
pub const fn rows_of(subject: Subject) -> &'static [Row] {
    match subject {
        Subject::Todo(ListKind::Turn, _) => TURN,
        Subject::Todo(ListKind::Plan, _) => PLAN,
        Subject::Todo(ListKind::Session, _) => SESSION_LIST,
        Subject::Todo(ListKind::Issue, TodoKind::Step) => ISSUE_STEP,
        Subject::Todo(ListKind::Issue, TodoKind::Criterion) => ISSUE_CRITERION,
        Subject::Todo(ListKind::Pillar, _) => PILLAR,
        Subject::Issue => ISSUE,
        Subject::Session => SESSION,
        Subject::Gate => GATE,
        Subject::Permission => PERMISSION,
        Subject::Delegation => DELEGATION,
        Subject::Conversation => CONVERSATION,
        Subject::Run => RUN,
        Subject::Mission => MISSION,
        Subject::Metric => METRIC,
        Subject::Agent => AGENT,
        Subject::Token => TOKEN,
        Subject::Configuration => CONFIGURATION,
        Subject::Project => PROJECT,
        Subject::Store => STORE,
    }
}

#[rustfmt::skip]
const TURN: &[Row] = &[
    //             operator lead owner root worker system
    (A::View,     [Any,     No,  No,   Any, No,    Any]),
    (A::Create,   [Any,     No,  No,   Any, No,    No]),
    (A::Start,    [Any,     No,  No,   Any, No,    Any]),
    (A::Complete, [Any,     No,  No,   Any, No,    No]),
    (A::Cancel,   [Any,     No,  No,   Any, No,    No]),
    (A::Note,     [Any,     No,  No,   Any, No,    No]),
    (A::Revise,   [Any,     No,  No,   Any, No,    No]),
    (A::Hold,     [Any,     No,  No,   Any, No,    Any]),
    (A::Unhold,   [Any,     No,  No,   Any, No,    Any]),
    (A::Defer,    [Any,     No,  No,   Any, No,    No]),
    (A::Release,  [Any,     No,  No,   Any, No,    Any]),
];

#[rustfmt::skip]
const PLAN: &[Row] = &[
    //             operator lead owner root worker system
    (A::View,     [Any,     No,  No,   Any, Any,   Any]),
    (A::Create,   [Any,     No,  No,   Any, Own,   No]),
    (A::Start,    [Any,     No,  No,   Any, Own,   No]),
    (A::Complete, [Any,     No,  No,   Any, Own,   No]),
    (A::CompleteWithChildren, [Any, No, No, No, No, No]),
    (A::Cancel,   [Any,     No,  No,   Any, No,    No]),
    (A::Note,     [Any,     No,  No,   Any, Own,   No]),
    (A::Revise,   [Any,     No,  No,   Any, No,    No]),
    (A::Assign,   [Any,     No,  No,   Any, No,    No]),
    (A::Take,     [Any,     No,  No,   Any, Any,   No]),
    (A::Release,  [Any,     No,  No,   Any, Own,   Any]),
    (A::Hold,     [Any,     No,  No,   Any, Own,   Any]),
    (A::Unhold,   [Any,     No,  No,   Any, Own,   Any]),
    (A::Defer,    [Any,     No,  No,   Any, No,    No]),
    (A::Claim,    [Any,     No,  No,   Any, Own,   No]),
    (A::Accept,   [Any,     No,  No,   Any, No,    No]),
    (A::Return,   [Any,     No,  No,   Any, No,    No]),
    (A::Reopen,   [Any,     No,  No,   Any, No,    No]),
    (A::Archive,  [Any,     No,  No,   Any, No,    No]),
    (A::Purge,    [Any,     No,  No,   No,  No,    No]),
    (A::Import,   [Any,     No,  No,   Any, No,    No]),
    (A::Tick,     [Any,     No,  No,   Any, No,    No]),
];

#[rustfmt::skip]
const SESSION_LIST: &[Row] = &[
    //             operator lead owner root worker system
    (A::View,     [Any,     No,  No,   Any, No,    Any]),
    (A::Create,   [Any,     No,  No,   Any, No,    No]),
    (A::Start,    [Any,     No,  No,   Any, No,    Any]),
    (A::Complete, [Any,     No,  No,   Any, No,    No]),
    (A::Cancel,   [Any,     No,  No,   Any, No,    No]),
    (A::Note,     [Any,     No,  No,   Any, No,    No]),
    (A::Replace,  [Any,     No,  No,   Any, No,    No]),
    (A::Revise,   [Any,     No,  No,   Any, No,    No]),
    (A::Reorder,  [Any,     No,  No,   Any, No,    No]),
    (A::Take,     [Any,     No,  No,   Any, No,    No]),
    (A::Release,  [Any,     No,  No,   Any, No,    Any]),
    (A::Hold,     [Any,     No,  No,   Any, No,    Any]),
    (A::Unhold,   [Any,     No,  No,   Any, No,    Any]),
    (A::Defer,    [Any,     No,  No,   Any, No,    No]),
    (A::Claim,    [Any,     No,  No,   Any, No,    No]),
    (A::Accept,   [Any,     No,  No,   No,  No,    No]),
    (A::Return,   [Any,     No,  No,   No,  No,    No]),
];

#[rustfmt::skip]
const ISSUE_STEP: &[Row] = &[
    //             operator lead owner root worker system
    (A::View,     [Any,     No,  No,   Any, No,    Any]),
    (A::Create,   [Any,     No,  No,   Any, No,    No]),
    (A::Start,    [Any,     No,  No,   Any, No,    Any]),
    (A::Complete, [Any,     No,  No,   Any, No,    No]),
    (A::Cancel,   [Any,     No,  No,   Any, No,    No]),
    (A::Note,     [Any,     No,  No,   Any, No,    No]),
    (A::Replace,  [Any,     No,  No,   Any, No,    No]),
    (A::Revise,   [Any,     No,  No,   Any, No,    No]),
    (A::Reorder,  [Any,     No,  No,   Any, No,    No]),
    (A::Take,     [Any,     No,  No,   Any, No,    No]),
    (A::Release,  [Any,     No,  No,   Any, No,    Any]),
    (A::Hold,     [Any,     No,  No,   Any, No,    Any]),
    (A::Unhold,   [Any,     No,  No,   Any, No,    Any]),
    (A::Defer,    [Any,     No,  No,   Any, No,    No]),
    (A::Claim,    [Any,     No,  No,   Any, No,    No]),
    (A::Accept,   [Any,     No,  No,   No,  No,    No]),
    (A::Return,   [Any,     No,  No,   No,  No,    No]),
    (A::Reopen,   [Any,     No,  No,   No,  No,    No]),
    (A::Edit,     [Any,     No,  No,   No,  No,    No]),
    (A::Adopt,    [Any,     No,  No,   Any, No,    Any]),
];

#[rustfmt::skip]
const ISSUE_CRITERION: &[Row] = &[
    //             operator lead owner root   worker system
    (A::View,     [Any,     No,  No,   Any,   No,    Any]),
    (A::Create,   [Any,     No,  No,   Any,   No,    No]),
    (A::Complete, [Any,     No,  No,   Claim, No,    No]),
    (A::Cancel,   [Any,     No,  No,   No,    No,    No]),
    (A::Note,     [Any,     No,  No,   Any,   No,    No]),
    (A::Revise,   [Any,     No,  No,   No,    No,    No]),
    (A::Reorder,  [Any,     No,  No,   No,    No,    No]),
    (A::Hold,     [Any,     No,  No,   Any,   No,    Any]),
    (A::Unhold,   [Any,     No,  No,   Any,   No,    Any]),
    (A::Defer,    [Any,     No,  No,   No,    No,    No]),
    (A::Claim,    [Any,     No,  No,   Any,   No,    No]),
    (A::Accept,   [Any,     No,  No,   No,    No,    No]),
    (A::Return,   [Any,     No,  No,   No,    No,    No]),
    (A::Reopen,   [Any,     No,  No,   No,    No,    No]),
    (A::Ratify,   [Any,     No,  No,   No,    No,    No]),
    (A::Edit,     [Any,     No,  No,   No,    No,    No]),
    (A::Adopt,    [Any,     No,  No,   Any,   No,    Any]),
];

#[rustfmt::skip]
const PILLAR: &[Row] = &[
    //             operator lead owner root worker system
    (A::View,     [Any,     Own, Own,  No,  No,    Any]),
    (A::Create,   [Any,     Own, Own,  No,  No,    No]),
    (A::Promote,  [Any,     Own, Wish, No,  No,    No]),
    (A::Demote,   [Any,     Own, Wish, No,  No,    Any]),
    (A::Start,    [Any,     Own, Wish, No,  No,    No]),
    (A::Complete, [Any,     Own, No,   No,  No,    No]),
    (A::Cancel,   [Any,     Own, Own,  No,  No,    Any]),
    (A::Note,     [Any,     Own, Own,  No,  No,    No]),
    (A::Revise,   [Any,     Own, Wish, No,  No,    No]),
    (A::Assign,   [Any,     Own, No,   No,  No,    No]),
    (A::Release,  [Any,     Own, No,   No,  No,    Any]),
    (A::Hold,     [Any,     Own, Own,  No,  No,    Any]),
    (A::Unhold,   [Any,     Own, Own,  No,  No,    Any]),
    (A::Defer,    [Any,     Own, Wish, No,  No,    No]),
    (A::Claim,    [Any,     Own, Own,  No,  Own,   Any]),
    (A::Accept,   [Any,     Own, No,   No,  No,    No]),
    (A::Return,   [Any,     Own, No,   No,  No,    No]),
    (A::Sweep,    [Any,     Own, No,   No,  No,    Any]),
    (A::Import,   [Any,     No,  No,   No,  No,    No]),
];

#[rustfmt::skip]
const ISSUE: &[Row] = &[
    //               operator lead owner root   worker system
    (A::View,       [Any,     No,  No,   Any,   No,    No]),
    (A::Create,     [Any,     No,  No,   Any,   No,    No]),
    (A::Comment,    [Any,     No,  No,   Any,   No,    No]),
    (A::Link,       [Any,     No,  No,   Any,   No,    No]),
    (A::Defer,      [Any,     No,  No,   Any,   No,    No]),
    (A::Move,       [Any,     No,  No,   Any,   No,    No]),
    (A::Close,      [Any,     No,  No,   Grant, No,    No]),
    (A::Reopen,     [Any,     No,  No,   No,    No,    No]),
    (A::Duplicate,  [Any,     No,  No,   No,    No,    No]),
    (A::Update,     [Any,     No,  No,   No,    No,    No]),
    (A::Abbreviate, [Any,     No,  No,   No,    No,    No]),
];

#[rustfmt::skip]
const SESSION: &[Row] = &[
    //             operator lead owner root worker system
    (A::View,     [Any,     No,  No,   Any, No,    No]),
    (A::Start,    [Any,     No,  No,   Any, No,    No]),
    (A::Bind,     [Any,     No,  No,   Any, No,    No]),
    (A::Unbind,   [Any,     No,  No,   Any, No,    No]),
    (A::TakeOver, [Any,     No,  No,   No,  No,    No]),
    (A::Promote,  [Any,     No,  No,   Any, No,    No]),
    (A::Send,     [Any,     No,  No,   Any, No,    No]),
    (A::End,      [Any,     No,  No,   Any, No,    No]),
    (A::Pause,    [Any,     No,  No,   Any, No,    No]),
    (A::Resume,   [Any,     No,  No,   Own, No,    No]),
];

#[rustfmt::skip]
const GATE: &[Row] = &[
    //           operator lead owner root worker system
    (A::View,   [Any,     No,  No,   No,  No,    No]),
    (A::Ask,    [Any,     Any, No,   Any, No,    No]),
    (A::Answer, [Any,     No,  No,   No,  No,    No]),
];

#[rustfmt::skip]
const PERMISSION: &[Row] = &[
    //           operator lead owner root worker system
    (A::View,   [Any,     No,  No,   No,  No,    No]),
    (A::Ask,    [No,      No,  No,   Own, No,    Any]),
    (A::Revoke, [Any,     No,  No,   No,  No,    No]),
];

#[rustfmt::skip]
const DELEGATION: &[Row] = &[
    //           operator lead owner root worker system
    (A::View,   [Any,     Any, Any,  Any, No,    No]),
    (A::Create, [Any,     Any, Any,  Any, No,    No]),
    (A::Cancel, [Any,     Own, Own,  Own, No,    Own]),
    (A::Decide, [Any,     Own, Own,  Own, No,    Any]),
    (A::Take,   [Any,     No,  Any,  Any, Any,   No]),
    (A::Report, [Any,     No,  Any,  Any, Any,   No]),
];

#[rustfmt::skip]
const CONVERSATION: &[Row] = &[
    //             operator lead owner root worker system
    (A::View,     [Any,     Own, Own,  Own, No,    Any]),
    (A::Post,     [Any,     Own, Own,  Own, No,    Any]),
    (A::Instruct, [Any,     No,  No,   No,  No,    No]),
];

#[rustfmt::skip]
const RUN: &[Row] = &[
    //                operator lead owner root worker system
    (A::View,        [Any,     No,  No,   Any, No,    Any]),
    (A::Start,       [Any,     No,  No,   Own, No,    Any]),
    (A::Play,        [Any,     No,  No,   No,  No,    Any]),
    (A::ChooseModel, [Any,     No,  No,   Own, No,    Own]),
    (A::Stop,        [Any,     No,  No,   Own, No,    Any]),
    (A::Resume,      [Any,     No,  No,   Own, No,    Any]),
    (A::Execute,     [No,      No,  No,   No,  No,    Any]),
];

#[rustfmt::skip]
const MISSION: &[Row] = &[
    //           operator lead owner root worker system
    (A::View,   [Any,     Own, Own,  No,  No,    Any]),
    (A::Init,   [Any,     No,  No,   No,  No,    No]),
    (A::Import, [Any,     No,  No,   No,  No,    No]),
    (A::Pause,  [Any,     Own, No,   No,  No,    No]),
    (A::Resume, [Any,     Own, No,   No,  No,    No]),
    (A::Cycle,  [Any,     Own, No,   No,  No,    Any]),
];

#[rustfmt::skip]
const METRIC: &[Row] = &[
    //            operator lead owner root worker system
    (A::View,    [Any,     Own, Own,  No,  No,    Any]),
    (A::Record,  [Any,     Own, No,   No,  No,    Any]),
    (A::Collect, [Any,     Own, No,   No,  No,    Any]),
    (A::Fail,    [No,      No,  No,   No,  No,    Any]),
];

#[rustfmt::skip]
const AGENT: &[Row] = &[
    //             operator lead owner root worker system
    (A::View,     [Any,     Any, No,   Any, No,    Any]),
    (A::Register, [Any,     No,  No,   Any, Own,   Any]),
];

#[rustfmt::skip]
const TOKEN: &[Row] = &[
    //           operator lead owner root worker system
    (A::View,   [Any,     No,  No,   No,  No,    No]),
    (A::Create, [Any,     No,  No,   No,  No,    No]),
    (A::Revoke, [Any,     No,  No,   No,  No,    No]),
];

// Here a column is the role that a file gives to an agent it names.
#[rustfmt::skip]
const CONFIGURATION: &[Row] = &[
    //                    operator lead owner root worker system
    (A::FromUserFile,    [No,      Any, Any,  Any, Any,   No]),
    (A::FromProjectFile, [No,      No,  No,   Any, Any,   No]),
];

#[rustfmt::skip]
const PROJECT: &[Row] = &[
    //            operator lead owner root worker system
    (A::View,    [Any,     Any, Any,  Any, Any,   Any]),
    (A::ReadLog, [Any,     Any, Any,  Any, Own,   Any]),
    (A::Audit,   [Any,     Any, No,   Any, No,    No]),
    (A::Export,  [Any,     Any, Any,  Any, Any,   Any]),
    (A::Merge,   [Any,     No,  No,   No,  No,    No]),
];

#[rustfmt::skip]
const STORE: &[Row] = &[
    //            operator lead owner root worker system
    (A::Serve,   [Any,     No,  No,   No,  No,    Any]),
    (A::Backup,  [Any,     No,  No,   No,  No,    Any]),
    (A::Restore, [Any,     No,  No,   No,  No,    No]),
    (A::Export,  [Any,     No,  No,   No,  No,    No]),
    (A::Import,  [Any,     No,  No,   No,  No,    No]),
    (A::Govern,  [Any,     No,  No,   No,  No,    No]),
];
