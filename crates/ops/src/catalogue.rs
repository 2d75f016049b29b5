//! The catalogue: every operation, once, in one static list.
//!
//! To add an operation, write one file in `operations`, add one line here, and accept the goldens.
//! The command line, `punch call`, the MCP tools, HTTP and OpenAPI are loops over this list.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::access::Access;
use crate::answer::Answer;
use crate::call::Call;
use crate::request::{self, Request};
use crate::{Envelope, Error, operations, schema};

pub static CATALOGUE: &[Operation] = &[
    Operation::of::<operations::create_todo::CreateTodo>(),
    Operation::of::<operations::list_todo::ListTodo>(),
    Operation::of::<operations::complete_todo::CompleteTodo>(),
    Operation::of::<operations::todo::TodoTool>(),
    Operation::of::<operations::issue::IssueTool>(),
    Operation::of::<operations::checkpoint::Checkpoint>(),
    Operation::of::<operations::ask::Ask>(),
    Operation::of::<operations::form::Form>(),
    Operation::of::<operations::delegate::DelegateOp>(),
    Operation::of::<operations::issue_create::IssueCreate>(),
    Operation::of::<operations::issue_list::IssueList>(),
    Operation::of::<operations::issue_show::IssueShow>(),
    Operation::of::<operations::issue_transition::IssueTransition>(),
    Operation::of::<operations::issue_comment::IssueComment>(),
    Operation::of::<operations::issue_link::IssueLink>(),
    Operation::of::<operations::issue_unlink::IssueUnlink>(),
    Operation::of::<operations::issue_close_as_duplicate::IssueCloseAsDuplicate>(),
    Operation::of::<operations::issue_defer::IssueDefer>(),
    Operation::of::<operations::issue_update::IssueUpdate>(),
    Operation::of::<operations::ready::ReadyOp>(),
    Operation::of::<operations::issue_checklist_edit::IssueChecklistEdit>(),
    Operation::of::<operations::issue_checklist_import::IssueChecklistImport>(),
    Operation::of::<operations::criterion_ratify::CriterionRatify>(),
    Operation::of::<operations::criterion_drop::CriterionDrop>(),
    Operation::of::<operations::session_start::SessionStart>(),
    Operation::of::<operations::session_bind::SessionBind>(),
    Operation::of::<operations::session_unbind::SessionUnbind>(),
    Operation::of::<operations::session_promote::SessionPromote>(),
    Operation::of::<operations::session_send_to_agent::SessionSendToAgent>(),
    Operation::of::<operations::session_end::SessionEnd>(),
    Operation::of::<operations::session_show::SessionShow>(),
    Operation::of::<operations::session_list::SessionList>(),
    Operation::of::<operations::session_context::SessionContext>(),
    Operation::of::<operations::session_hook::SessionHook>(),
    Operation::of::<operations::drive_pause::DrivePause>(),
    Operation::of::<operations::drive_resume::DriveResume>(),
    Operation::of::<operations::run_start::RunStart>(),
    Operation::of::<operations::run_show::RunShow>(),
    Operation::of::<operations::run_list::RunList>(),
    Operation::of::<operations::run_stop::RunStop>(),
    Operation::of::<operations::run_begin::RunBegin>(),
    Operation::of::<operations::run_take::RunTake>(),
    Operation::of::<operations::run_step::RunStep>(),
    Operation::of::<operations::todo_write::TodoWrite>(),
    Operation::of::<operations::todo_read::TodoRead>(),
    Operation::of::<operations::gate_list::GateList>(),
    Operation::of::<operations::gate_answer::GateAnswer>(),
    Operation::of::<operations::permission_ask::PermissionAsk>(),
    Operation::of::<operations::permission_list::PermissionList>(),
    Operation::of::<operations::permission_revoke::PermissionRevoke>(),
    Operation::of::<operations::delegation_list::DelegationList>(),
    Operation::of::<operations::delegation_show::DelegationShow>(),
    Operation::of::<operations::delegation_take::DelegationTake>(),
    Operation::of::<operations::delegation_heartbeat::DelegationHeartbeat>(),
    Operation::of::<operations::delegation_report::DelegationReport>(),
    Operation::of::<operations::delegation_cancel::DelegationCancel>(),
    Operation::of::<operations::proposal_decide::ProposalDecide>(),
    Operation::of::<operations::conversation_show::ConversationShow>(),
    Operation::of::<operations::conversation_list::ConversationList>(),
    Operation::of::<operations::conversation_post::ConversationPost>(),
    Operation::of::<operations::mission_todo_create::MissionTodoCreate>(),
    Operation::of::<operations::mission_todo_update::MissionTodoUpdate>(),
    Operation::of::<operations::mission_todo_complete::MissionTodoComplete>(),
    Operation::of::<operations::mission_todo_list::MissionTodoList>(),
    Operation::of::<operations::mission_status::MissionStatus>(),
    Operation::of::<operations::mission_init::MissionInit>(),
    Operation::of::<operations::mission_import::MissionImport>(),
    Operation::of::<operations::mission_list::MissionList>(),
    Operation::of::<operations::mission_pause::MissionPause>(),
    Operation::of::<operations::mission_resume::MissionResume>(),
    Operation::of::<operations::mission_cycle::MissionCycle>(),
    Operation::of::<operations::project_export::ProjectExport>(),
    Operation::of::<operations::project_list::ProjectList>(),
    Operation::of::<operations::project_merge::ProjectMerge>(),
    Operation::of::<operations::plan::PlanTool>(),
    Operation::of::<operations::plan_import::PlanImport>(),
    Operation::of::<operations::plan_from_todo::PlanFromTodo>(),
    Operation::of::<operations::plan_tick::PlanTick>(),
    Operation::of::<operations::plan_sync::PlanSync>(),
    Operation::of::<operations::plan_list::PlanList>(),
    Operation::of::<operations::plan_tree::PlanTree>(),
    Operation::of::<operations::plan_current::PlanCurrent>(),
    Operation::of::<operations::plan_render::PlanRender>(),
    Operation::of::<operations::plan_archive::PlanArchive>(),
    Operation::of::<operations::plan_finish::PlanFinish>(),
    Operation::of::<operations::plan_purge::PlanPurge>(),
    Operation::of::<operations::task_assign::TaskAssign>(),
    Operation::of::<operations::task_complete::TaskComplete>(),
    Operation::of::<operations::task_add::TaskAdd>(),
    Operation::of::<operations::task_after::TaskAfter>(),
    Operation::of::<operations::task_release::TaskRelease>(),
    Operation::of::<operations::task_cancel::TaskCancel>(),
    Operation::of::<operations::task_reopen::TaskReopen>(),
    Operation::of::<operations::metric_record::MetricRecord>(),
    Operation::of::<operations::metric_collect::MetricCollect>(),
    Operation::of::<operations::metric_failed::MetricFailed>(),
    Operation::of::<operations::metric_history::MetricHistory>(),
    Operation::of::<operations::agent_register::AgentRegister>(),
    Operation::of::<operations::agent_status::AgentStatusOp>(),
    Operation::of::<operations::agent_list::AgentList>(),
    Operation::of::<operations::status::Status>(),
    Operation::of::<operations::overview::Overview>(),
    Operation::of::<operations::event_list::EventList>(),
    Operation::of::<operations::digest::Digest>(),
    Operation::of::<operations::audit_closes::AuditCloses>(),
    Operation::of::<operations::authority_show::AuthorityShow>(),
    Operation::of::<operations::todo_show::TodoShow>(),
    Operation::of::<operations::todo_take::TodoTake>(),
    Operation::of::<operations::todo_next::TodoNext>(),
    Operation::of::<operations::todo_heartbeat::TodoHeartbeat>(),
    Operation::of::<operations::todo_release::TodoRelease>(),
    Operation::of::<operations::todo_hold::TodoHold>(),
    Operation::of::<operations::todo_unhold::TodoUnhold>(),
    Operation::of::<operations::todo_defer::TodoDefer>(),
    Operation::of::<operations::todo_move::TodoMove>(),
    Operation::of::<operations::todo_claim::TodoClaim>(),
    Operation::of::<operations::todo_accept::TodoAccept>(),
    Operation::of::<operations::todo_return::TodoReturn>(),
    Operation::of::<operations::store_identity::StoreIdentity>(),
    Operation::of::<operations::token_new::TokenNew>(),
    Operation::of::<operations::token_list::TokenList>(),
    Operation::of::<operations::token_revoke::TokenRevoke>(),
    Operation::of::<operations::sign_in_link::SignInLink>(),
];

/// The definition of an operation. The doc comments of the input are product text: they become the
/// tool's description, the JSON Schema and the help.
pub trait Define: 'static {
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

type Parse = fn(&Operation, &mut Value) -> Result<Box<dyn Request>, Error>;

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
    pub input_schema: fn() -> Value,
    /// Like `input_schema`, with everything that is accepted, such as null, and with formats. It is
    /// for documents from which clients are generated.
    pub request_schema: fn() -> Value,
    pub output_schema: fn() -> Value,
    pub(crate) input_type: schema::Generate,
    pub(crate) output_type: schema::Generate,
    pub(crate) parse: Parse,
    pub(crate) read_answer: fn(&str) -> Result<Answer, Error>,
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
            input_schema: schema::of_input::<D::Input>,
            request_schema: schema::of_request::<D::Input>,
            output_schema: schema::of_output::<D::Output>,
            input_type: <D::Input as JsonSchema>::json_schema,
            output_type: <D::Output as JsonSchema>::json_schema,
            parse: request::parse::<D>,
            read_answer: Answer::kept::<D::Output>,
        }
    }

    /// The description: the doc comment of the input.
    #[must_use]
    pub fn description(&self) -> String {
        schema::description(&(self.input_schema)()).to_owned()
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
