//! Commands are data: each can be serialised and read back unchanged.

use std::fmt::Debug;

use punchlist_core::delegation::{
    BuryDelegation, CancelDelegation, DecideProposal, Delegate, HeartbeatDelegation, Mode,
    ProposalDecision, Report, ReportDelegation, Review, TakeDelegation,
};
use punchlist_core::driver::{Spent, Trigger};
use punchlist_core::gate::{
    AnswerGate, AskPermission, GateDecision, GateKind, OpenGate, Purpose, RevokePermission,
};
use punchlist_core::issue::{
    AssignIssue, CloseAsDuplicate, CommentIssue, CreateIssue, DeferIssue, LinkIssues, LinkKind,
    TransitionIssue, UnlinkIssues,
};
use punchlist_core::metric::{CollectMetrics, FailCollection, RecordReading};
use punchlist_core::mission::{Escalate, RunCycle, SetStanding, Standing};
use punchlist_core::plan::PurgePlans;
use punchlist_core::run::{
    CancelRun, ConfigureRun, DriveRun, RecordReply, RecordResult, RecordStart, RecordSummary,
    TakeRun, WakeRun,
};
use punchlist_core::session::{
    BindSession, EndSession, PauseSession, PromoteSession, ResumeSession, StartSession,
    UnbindSession,
};
use punchlist_core::text::{Body, Title};
use punchlist_core::{
    AgentPath, AgentStatus, ConversationId, Decide, Ids, IssueStatus, Span, Time,
};
use serde_json::json;

fn same<C: Decide + Debug + PartialEq>(command: &C) {
    let text = serde_json::to_string(command).unwrap();
    let read: C = serde_json::from_str(&text).unwrap();
    assert_eq!(read, *command, "{text}");
}

#[test]
fn a_serialised_command_is_read_back_unchanged() {
    let (title, body) = (Title::new("a").unwrap(), Body::new("b").unwrap());
    let (at, agent) = (Time::from_micros(7), AgentPath::primary());
    let (some, spent) = (|| Some("x".to_owned()), Spent { input: 1, cached: 2, output: 3 });
    let conversation_id = ConversationId::from(Ids::new(at, 1).ulid());

    same(&CreateIssue { title: title.clone(), body: Some(body.clone()), force_new: true });
    let (status, reason) = (IssueStatus::Resolved, Some(body.clone()));
    same(&TransitionIssue { status, reason, confirm: true });
    same(&CommentIssue { text: body.clone() });
    same(&LinkIssues { kind: LinkKind::ChildOf });
    same(&UnlinkIssues { kind: LinkKind::RelatesTo });
    same(&CloseAsDuplicate { note: None });
    same(&DeferIssue { until: Some(at) });
    same(&AssignIssue { assignment: some() });

    let (host, external_id, directory) = (Some(title.clone()), None, some());
    same(&StartSession { title: title.clone(), conversation_id, host, external_id, directory });
    same(&BindSession { take_over: true });
    same(&UnbindSession);
    same(&PromoteSession);
    same(&PauseSession { reason: some() });
    same(&ResumeSession);
    same(&EndSession);

    same(&OpenGate {
        kind: GateKind::Form,
        purpose: Some(Purpose::SignOff),
        text: body.clone(),
        details: json!({ "a": [1, null] }),
        end: IssueStatus::Rejected,
    });
    same(&AnswerGate::plain(GateDecision::Refuse, Some(json!("no"))));
    same(&AskPermission {
        tool: title.clone(),
        agent: agent.clone(),
        run: title.clone(),
        call: title.clone(),
        input: json!({}),
        digest: "d".to_owned(),
        definition: json!({ "command": "ls" }),
    });
    same(&RevokePermission {});

    same(&Delegate {
        kind: title,
        mission: body.clone(),
        rationale: None,
        mode: Mode::Sync,
        review: Review::Auto,
        todo_id: None,
        conversation_id: Some(conversation_id),
        run_id: None,
    });
    same(&TakeDelegation { lease_s: 30, clock: at });
    same(&HeartbeatDelegation { epoch: 2, lease_s: 0, clock: at });
    let done = Report::Done { result: body.clone(), proposal: None };
    for report in [done, Report::Failed { error: body.clone() }] {
        same(&ReportDelegation { report, epoch: 1, clock: at });
    }
    same(&BuryDelegation);
    same(&CancelDelegation { reason: Some(body) });
    same(&DecideProposal {
        decision: ProposalDecision::Modify,
        items: Some(Vec::new()),
        reason: None,
    });

    same(&TakeRun { after_death: true });
    same(&ConfigureRun { settings: None });
    same(&RecordReply { spent, calls: Some(u64::MAX), window: Some(5), heard: None });
    same(&RecordResult { changed: true, touched_list: false, failed_on: None });
    same(&RecordStart { call_id: "c".to_owned() });
    same(&RecordSummary { spent });
    same(&DriveRun { detail: some(), code: None });
    same(&WakeRun { by: Trigger::GateAnswered, said: true });
    same(&CancelRun { reason: "r".to_owned(), executed: false });

    same(&SetStanding { pillar: some(), status: Standing::Paused });
    same(&RunCycle { if_due: true });
    same(&Escalate { mission: "m".to_owned(), pillar: "p".to_owned() });
    same(&RecordReading { metric: "m".to_owned(), value: json!(1.5), at: Some(at) });
    same(&CollectMetrics { metric: None });
    let (metric, error) = ("m".to_owned(), "e".to_owned());
    same(&FailCollection { metric, error, attempt: 2, gives_up: true });
    same(&PurgePlans { older_than: Span::seconds(3), confirm: true });
    let (status, note) = (AgentStatus::Busy, some());
    same(&punchlist_core::agent::RegisterAgent { agent: agent.clone(), kind: None });
    same(&punchlist_core::agent::SetAgentStatus { agent, status, note });
}
