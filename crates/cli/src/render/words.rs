//! The table from operation to renderer.

use punchlist_core::Time;
use punchlist_ops::Answer;
use punchlist_ops::catalogue::Define;
use punchlist_ops::operations as ops;

use super::{
    authority, checklist, conversations, delegations, events, gates, home, imported, issues,
    metrics, mission_status, missions, permissions, plans, reports, runs, session_list, sessions,
    todos, tokens, turn,
};

/// The text for an answer, if it is an answer of the renderer's operation.
type Words = fn(&Answer, Time) -> Option<String>;

pub(super) fn find(operation: &str) -> Option<Words> {
    WORDS.iter().find(|(name, _)| *name == operation).map(|(_, words)| *words)
}

/// One row for each operation: its definition, and the renderer of its output.
macro_rules! words {
    ($($module:ident :: $operation:ident => $render:expr,)*) => {
        static WORDS: &[(&str, Words)] = &[$((
            <ops::$module::$operation as Define>::NAME,
            |answer, now| {
                type Output = <ops::$module::$operation as Define>::Output;
                let render: fn(&Output, Time) -> String = $render;
                answer.output::<Output>().map(|output| render(output, now))
            },
        ),)*];
    };
}

words! {
    create_todo::CreateTodo => |output, _| turn::created(output),
    list_todo::ListTodo => |output, _| turn::listed(output),
    complete_todo::CompleteTodo => |output, _| turn::completed(output),
    todo::TodoTool => |output, _| checklist::kept(output),
    issue::IssueTool => issues::tool,
    checkpoint::Checkpoint => |output, _| gates::asked(output),
    ask::Ask => |output, _| gates::asked(output),
    form::Form => |output, _| gates::asked(output),
    delegate::DelegateOp => |output, _| delegations::handed(output),
    issue_create::IssueCreate => |output, _| issues::done("Created", &output.issue),
    issue_list::IssueList => issues::listed,
    issue_show::IssueShow => issues::shown,
    issue_transition::IssueTransition => {
        |output, _| issues::moved(&output.issue, output.warning.as_deref())
    },
    issue_comment::IssueComment => |output, _| issues::done("Commented on", &output.issue),
    issue_link::IssueLink => |output, _| issues::linked("Linked", output),
    issue_unlink::IssueUnlink => |output, _| issues::linked("Unlinked", output),
    issue_close_as_duplicate::IssueCloseAsDuplicate => {
        |output, _| issues::linked("Closed", output)
    },
    issue_update::IssueUpdate => |output, _| issues::done("Changed", &output.issue),
    ready::ReadyOp => issues::ready,
    issue_defer::IssueDefer => |output, now| issues::deferred(&output.issue, now),
    issue_checklist_edit::IssueChecklistEdit => |output, _| issues::changed("Saved", output),
    issue_checklist_import::IssueChecklistImport => |output, _| imported::checklist(output),
    criterion_ratify::CriterionRatify => |output, _| issues::changed("Ratified", output),
    criterion_drop::CriterionDrop => |output, _| issues::changed("Dropped", output),
    session_start::SessionStart => |output, _| sessions::bound("Started", &output.session),
    session_bind::SessionBind => |output, _| sessions::bound("Bound", &output.session),
    session_unbind::SessionUnbind => |output, _| sessions::bound("Unbound", &output.session),
    session_promote::SessionPromote => |output, _| sessions::promoted(output),
    session_send_to_agent::SessionSendToAgent => |output, _| sessions::sent(&output.session),
    session_end::SessionEnd => |output, _| sessions::bound("Ended", &output.session),
    session_show::SessionShow => |output, now| sessions::shown(&output.session, now),
    session_list::SessionList => sessions::listed,
    session_context::SessionContext => |output, _| sessions::context(output),
    session_hook::SessionHook => |output, _| sessions::hook(output),
    drive_pause::DrivePause => |output, _| sessions::bound("Paused", &output.session),
    drive_resume::DriveResume => |output, _| sessions::bound("Resumed", &output.session),
    run_start::RunStart => |output, _| runs::started(Some(&output.run)),
    run_show::RunShow => runs::shown,
    run_list::RunList => runs::listed,
    run_stop::RunStop => |output, _| runs::stopped(&output.run),
    run_begin::RunBegin => |output, _| runs::started(output.run.as_ref()),
    run_take::RunTake => |output, _| runs::stepped(output.state),
    run_step::RunStep => |output, _| runs::stepped(output.state),
    todo_write::TodoWrite => |output, _| session_list::kept(output),
    todo_read::TodoRead => |output, _| session_list::kept(output),
    gate_list::GateList => gates::listed,
    gate_answer::GateAnswer => |output, _| gates::answered(&output.gate),
    permission_ask::PermissionAsk => |output, _| permissions::asked(output),
    permission_list::PermissionList => permissions::listed,
    permission_revoke::PermissionRevoke => |output, _| permissions::revoked(&output.permission),
    delegation_list::DelegationList => delegations::listed,
    delegation_show::DelegationShow => |output, now| delegations::shown(&output.delegation, now),
    delegation_take::DelegationTake => delegations::taken,
    delegation_heartbeat::DelegationHeartbeat => {
        |output, now| delegations::renewed(output.lease_until, now)
    },
    delegation_report::DelegationReport => |output, _| delegations::changed(&output.delegation),
    delegation_cancel::DelegationCancel => |output, _| delegations::changed(&output.delegation),
    proposal_decide::ProposalDecide => |output, _| delegations::decided(output),
    conversation_show::ConversationShow => conversations::shown,
    conversation_list::ConversationList => |output, _| conversations::listed(output),
    conversation_post::ConversationPost => |output, _| conversations::posted(output),
    mission_todo_create::MissionTodoCreate => |output, _| missions::created(output),
    mission_todo_update::MissionTodoUpdate => |output, _| missions::updated(output),
    mission_todo_complete::MissionTodoComplete => |output, _| missions::completed(output),
    mission_todo_list::MissionTodoList => |output, _| missions::todos(output),
    mission_status::MissionStatus => mission_status::status,
    mission_init::MissionInit => |output, _| missions::initialised(output),
    mission_import::MissionImport => |output, _| imported::missions(output),
    mission_list::MissionList => missions::listed,
    mission_pause::MissionPause => |output, _| missions::standing(&output.mission),
    mission_resume::MissionResume => |output, _| missions::standing(&output.mission),
    mission_cycle::MissionCycle => missions::cycled,
    project_export::ProjectExport => |output, _| imported::portable(output),
    project_list::ProjectList => |output, _| imported::projects(output),
    project_merge::ProjectMerge => |output, _| imported::merged(output),
    overview::Overview => |output, _| imported::waiting(output),
    sign_in_link::SignInLink => tokens::link,
    plan::PlanTool => |output, _| plans::tool(output),
    plan_import::PlanImport => |output, _| plans::imported(output),
    plan_from_todo::PlanFromTodo => |output, _| plans::opened(output),
    plan_tick::PlanTick => |output, _| plans::ticked(output),
    plan_sync::PlanSync => |output, _| plans::to_tick(output),
    plan_list::PlanList => plans::listed,
    plan_tree::PlanTree => |output, _| plans::tree(output),
    plan_current::PlanCurrent => |output, _| plans::current(output),
    plan_render::PlanRender => |output, _| plans::rendered(&output.text),
    plan_archive::PlanArchive => |output, _| plans::archived("Archived", output),
    plan_finish::PlanFinish => |output, _| plans::archived("Finished", output),
    plan_purge::PlanPurge => |output, _| plans::purged(output),
    task_assign::TaskAssign => |output, _| plans::changed("Assigned", output),
    task_complete::TaskComplete => |output, _| plans::changed("Completed", output),
    task_add::TaskAdd => |output, _| plans::changed("Added", output),
    task_after::TaskAfter => |output, _| plans::changed("Changed", output),
    task_release::TaskRelease => |output, _| plans::changed("Released", output),
    task_cancel::TaskCancel => |output, _| plans::changed("Cancelled", output),
    task_reopen::TaskReopen => |output, _| plans::changed("Reopened", output),
    metric_record::MetricRecord => |output, now| metrics::recorded(output, now),
    metric_collect::MetricCollect => |output, _| metrics::queued(&output.queued),
    metric_failed::MetricFailed => |output, now| metrics::collection(output.collection.as_ref(), now),
    metric_history::MetricHistory => metrics::history,
    agent_register::AgentRegister => |output, now| plans::agent(&output.agent, now),
    agent_status::AgentStatusOp => |output, now| plans::agent(&output.agent, now),
    agent_list::AgentList => plans::agents,
    status::Status => home::render,
    event_list::EventList => events::render,
    digest::Digest => reports::digest,
    audit_closes::AuditCloses => reports::audit,
    authority_show::AuthorityShow => |output, _| authority::render(output),
    todo_show::TodoShow => todos::shown,
    todo_take::TodoTake => todos::taken,
    todo_next::TodoNext => todos::taken,
    todo_heartbeat::TodoHeartbeat => todos::taken,
    todo_release::TodoRelease => |output, now| todos::changed("Released", &output.todo, now),
    todo_hold::TodoHold => |output, now| todos::changed("Held", &output.todo, now),
    todo_unhold::TodoUnhold => |output, now| todos::changed("Not on hold:", &output.todo, now),
    todo_defer::TodoDefer => |output, now| todos::deferred(&output.todo, now),
    todo_move::TodoMove => |output, now| todos::changed("Moved", &output.todo, now),
    todo_claim::TodoClaim => |output, now| todos::changed("Claimed", &output.todo, now),
    todo_accept::TodoAccept => |output, now| todos::changed("Accepted", &output.todo, now),
    todo_return::TodoReturn => |output, now| todos::changed("Returned", &output.todo, now),
    store_identity::StoreIdentity => |output, _| tokens::identity(output),
    token_new::TokenNew => tokens::made,
    token_list::TokenList => tokens::listed,
    token_revoke::TokenRevoke => |output, _| tokens::revoked(&output.token),
}

#[cfg(test)]
mod tests {
    use punchlist_ops::CATALOGUE;

    use super::*;

    #[test]
    fn every_operation_of_the_catalogue_has_a_renderer() {
        let names: Vec<&str> = CATALOGUE.iter().map(|operation| operation.name).collect();
        for name in &names {
            assert!(find(name).is_some(), "{name} has no words for people");
        }
        for (name, _) in WORDS {
            assert!(names.contains(name), "{name} has words and is not in the catalogue");
        }
        assert_eq!(WORDS.len(), names.len(), "an operation has words twice");
    }
}
