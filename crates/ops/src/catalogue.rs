//! The catalogue: every operation, once, in one static list.
//!
//! To add an operation, write one file in `operations`, add one line here and an empty file in
//! `schemas`, and accept the goldens, twice: the first time writes the schemas.
//! The command line, `punch call`, the MCP tools, HTTP and OpenAPI are loops over this list.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::access::Access;
use crate::answer::{Answer, ReadAnswer};
use crate::call::Call;
use crate::request::{self, Parse};
use crate::schema::Texts;
use crate::schema::generate::Types;
use crate::{Envelope, Error, operations, schema};

/// Lists the operations, each with the file that contains its schemas.
macro_rules! catalogue {
    ($($module:ident::$define:ident,)*) => {
        pub static CATALOGUE: &[Operation] = &[$(
            Operation::of::<operations::$module::$define>(),
        )*];

        /// The types of all operations, from which their schemas are written.
        pub(crate) static TYPES: &[Types] = &[$(Types::of::<operations::$module::$define>(),)*];

        $(impl Described for operations::$module::$define {
            const SCHEMAS: Texts =
                Texts(include_str!(concat!("../schemas/", stringify!($module), ".jsonl")));
        })*
    };
}

catalogue! {
    create_todo::CreateTodo,
    list_todo::ListTodo,
    complete_todo::CompleteTodo,
    todo::TodoTool,
    issue::IssueTool,
    checkpoint::Checkpoint,
    ask::Ask,
    form::Form,
    delegate::DelegateOp,
    issue_create::IssueCreate,
    issue_list::IssueList,
    issue_show::IssueShow,
    issue_transition::IssueTransition,
    issue_comment::IssueComment,
    issue_link::IssueLink,
    issue_unlink::IssueUnlink,
    issue_close_as_duplicate::IssueCloseAsDuplicate,
    issue_defer::IssueDefer,
    issue_update::IssueUpdate,
    ready::ReadyOp,
    issue_checklist_edit::IssueChecklistEdit,
    issue_checklist_import::IssueChecklistImport,
    criterion_ratify::CriterionRatify,
    criterion_drop::CriterionDrop,
    session_start::SessionStart,
    session_bind::SessionBind,
    session_unbind::SessionUnbind,
    session_promote::SessionPromote,
    session_send_to_agent::SessionSendToAgent,
    session_end::SessionEnd,
    session_show::SessionShow,
    session_list::SessionList,
    session_context::SessionContext,
    session_hook::SessionHook,
    drive_pause::DrivePause,
    drive_resume::DriveResume,
    run_start::RunStart,
    run_show::RunShow,
    run_list::RunList,
    run_stop::RunStop,
    run_begin::RunBegin,
    run_take::RunTake,
    run_step::RunStep,
    todo_write::TodoWrite,
    todo_read::TodoRead,
    gate_list::GateList,
    gate_answer::GateAnswer,
    permission_ask::PermissionAsk,
    permission_list::PermissionList,
    permission_revoke::PermissionRevoke,
    delegation_list::DelegationList,
    delegation_show::DelegationShow,
    delegation_take::DelegationTake,
    delegation_heartbeat::DelegationHeartbeat,
    delegation_report::DelegationReport,
    delegation_cancel::DelegationCancel,
    proposal_decide::ProposalDecide,
    conversation_show::ConversationShow,
    conversation_list::ConversationList,
    conversation_post::ConversationPost,
    mission_todo_create::MissionTodoCreate,
    mission_todo_update::MissionTodoUpdate,
    mission_todo_complete::MissionTodoComplete,
    mission_todo_list::MissionTodoList,
    mission_status::MissionStatus,
    mission_init::MissionInit,
    mission_import::MissionImport,
    mission_list::MissionList,
    mission_pause::MissionPause,
    mission_resume::MissionResume,
    mission_cycle::MissionCycle,
    project_export::ProjectExport,
    project_list::ProjectList,
    project_merge::ProjectMerge,
    plan::PlanTool,
    plan_import::PlanImport,
    plan_from_todo::PlanFromTodo,
    plan_tick::PlanTick,
    plan_sync::PlanSync,
    plan_list::PlanList,
    plan_tree::PlanTree,
    plan_current::PlanCurrent,
    plan_render::PlanRender,
    plan_archive::PlanArchive,
    plan_finish::PlanFinish,
    plan_purge::PlanPurge,
    task_assign::TaskAssign,
    task_complete::TaskComplete,
    task_add::TaskAdd,
    task_after::TaskAfter,
    task_release::TaskRelease,
    task_cancel::TaskCancel,
    task_reopen::TaskReopen,
    metric_record::MetricRecord,
    metric_collect::MetricCollect,
    metric_failed::MetricFailed,
    metric_history::MetricHistory,
    agent_register::AgentRegister,
    agent_status::AgentStatusOp,
    agent_list::AgentList,
    status::Status,
    overview::Overview,
    event_list::EventList,
    digest::Digest,
    audit_closes::AuditCloses,
    authority_show::AuthorityShow,
    todo_show::TodoShow,
    todo_take::TodoTake,
    todo_next::TodoNext,
    todo_heartbeat::TodoHeartbeat,
    todo_release::TodoRelease,
    todo_hold::TodoHold,
    todo_unhold::TodoUnhold,
    todo_defer::TodoDefer,
    todo_move::TodoMove,
    todo_claim::TodoClaim,
    todo_accept::TodoAccept,
    todo_return::TodoReturn,
    store_identity::StoreIdentity,
    token_new::TokenNew,
    token_list::TokenList,
    token_revoke::TokenRevoke,
    sign_in_link::SignInLink,
}

/// An operation whose schemas are in the program; the catalogue implements it.
pub trait Described {
    const SCHEMAS: Texts;
}

/// The definition of an operation. The doc comments of the input are product text: they become the
/// tool's description, the JSON Schema and the help.
pub trait Define: Described + 'static {
    const NAME: &'static str;
    const ACCESS: Access;
    const EFFECT: Effect;
    /// The surfaces that offer it, besides `punch call`.
    const SURFACES: Surfaces;
    /// A valid input, as JSON.
    const EXAMPLE: &'static str;
    /// May the answer be stored for its idempotency key? False if the answer contains a secret.
    const KEEPS_ANSWERS: bool = true;
    /// Is it a tool only for agents whose file lists its full name? Wildcards do not match it.
    const PRIVATE: bool = false;
    /// Does its handler itself decide who may call it while the store has no operator?
    const BOOTSTRAPS: bool = false;

    type Input: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;
    type Output: Serialize + DeserializeOwned + JsonSchema + Debug + Send + 'static;

    /// Checks that need no store. They run before it is opened, so a malformed request does not
    /// create a file.
    fn check(_: &Envelope, _: &Self::Input) -> Result<(), Error> {
        Ok(())
    }

    fn run(call: &mut Call<'_, '_>, input: &Self::Input) -> Result<Self::Output, Error>;
}

/// The effect of an operation on the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Does not use the store.
    Pure,
    /// Reads the store and appends no event.
    Read,
    /// Changes the store in one transaction.
    Write,
}

/// The surfaces that offer an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surfaces {
    /// The MCP profiles that list it as a tool; empty: it is not a tool.
    pub profiles: &'static [Profile],
    /// The words of its own command, e.g. `["issue", "new"]`; empty: `punch call` only.
    pub command: &'static [&'static str],
    /// The fields that its command takes as positional arguments; all others are flags.
    pub positional: &'static [&'static str],
}

impl Surfaces {
    /// `punch call` only.
    pub const CALL: Self = Self { profiles: &[], command: &[], positional: &[] };
}

/// A selection of tools for one kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    Turn,
    Issue,
    Plan,
    Session,
    Mission,
    Inbox,
}

impl Profile {
    pub const ALL: [Self; 6] =
        [Self::Turn, Self::Issue, Self::Plan, Self::Session, Self::Mission, Self::Inbox];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Issue => "issue",
            Self::Plan => "plan",
            Self::Session => "session",
            Self::Mission => "mission",
            Self::Inbox => "inbox",
        }
    }
}

/// An operation as the surfaces see it.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    pub name: &'static str,
    pub access: Access,
    pub effect: Effect,
    pub surfaces: Surfaces,
    pub example: &'static str,
    /// Does it accept an idempotency key?
    pub keeps_answers: bool,
    /// Is it a tool only for agents whose file lists its full name?
    pub private: bool,
    pub(crate) bootstraps: bool,
    schemas: Texts,
    pub(crate) parse: Parse,
    pub(crate) read_answer: ReadAnswer,
}

impl Operation {
    pub(crate) const fn of<D: Define>() -> Self {
        Self {
            name: D::NAME,
            access: D::ACCESS,
            effect: D::EFFECT,
            surfaces: D::SURFACES,
            example: D::EXAMPLE,
            keeps_answers: D::KEEPS_ANSWERS,
            private: D::PRIVATE,
            bootstraps: D::BOOTSTRAPS,
            schemas: D::SCHEMAS,
            parse: request::typed::<D>,
            read_answer: Answer::read::<D::Output>,
        }
    }

    #[must_use]
    pub fn input_schema(&self) -> Value {
        self.schemas.input()
    }

    /// Like `input_schema`, with everything that is accepted, such as null, and with formats. It is
    /// for documents from which clients are generated.
    #[must_use]
    pub fn request_schema(&self) -> Value {
        self.schemas.request()
    }

    #[must_use]
    pub fn output_schema(&self) -> Value {
        self.schemas.output()
    }

    /// The description: the doc comment of the input.
    #[must_use]
    pub fn description(&self) -> String {
        schema::description(&self.input_schema()).to_owned()
    }
}

/// The operation with this name, or an error that names the closest one.
pub fn find(name: &str) -> Result<&'static Operation, Error> {
    CATALOGUE.iter().find(|operation| operation.name == name).ok_or_else(|| {
        let names = CATALOGUE.iter().map(|operation| operation.name);
        let nearest = crate::explain::nearest(name, names);
        Error::UnknownOperation { name: name.to_owned(), nearest }
    })
}
