//! Commands are data: each can be serialised and read back unchanged.

use std::any::type_name;
use std::collections::BTreeSet;
use std::fmt::Debug;

use punchlist_core::decide::COMMANDS;
use punchlist_core::delegation::{
    BuryDelegation, CancelDelegation, DecideProposal, Delegate, HeartbeatDelegation, Mode,
    ProposalDecision, Report, ReportDelegation, Review, TakeDelegation,
};
use punchlist_core::driver::{Budget, Spent, Trigger};
use punchlist_core::gate::form::Form;
use punchlist_core::gate::{
    AnswerGate, AskPermission, ClientAnswer, CollectAnswer, Details, GateDecision, OpenGate,
    Purpose, RelayAnswer, RevokePermission,
};
use punchlist_core::issue::{
    AssignIssue, CloseAsDuplicate, CommentIssue, CreateIssue, DeferIssue, LinkIssues, LinkKind,
    TransitionIssue, UnlinkIssues, UpdateIssue,
};
use punchlist_core::metric::{CollectMetrics, FailCollection, RecordReading};
use punchlist_core::mission::{
    Escalate, InitMission, MissionSpec, RunCycle, SetStanding, Standing,
};
use punchlist_core::plan::PurgePlans;
use punchlist_core::project::MergeProjects;
use punchlist_core::run::{
    CancelRun, ConfigureRun, DriveRun, RecordHosted, RecordReply, RecordResult, RecordStart,
    RecordSummary, Settings, StartRun, TakeRun, WakeRun,
};
use punchlist_core::session::{
    AdoptSession, BindSession, EndSession, PauseSession, PromoteSession, ReopenSession,
    ResumeSession, StartSession, TitleSession, UnbindSession,
};
use punchlist_core::text::{Body, Title};
use punchlist_core::todo::Priority;
use punchlist_core::{
    AgentPath, AgentStatus, ConversationId, Decide, Ids, IssueStatus, Reach, Role, Scope, Span,
    Time,
};
use serde_json::json;

/// The names of the commands that were read back unchanged.
#[derive(Default)]
struct Seen(BTreeSet<&'static str>);

impl Seen {
    #[track_caller]
    fn same<C: Decide + Debug + PartialEq>(&mut self, command: &C) {
        let text = serde_json::to_string(command).unwrap();
        let read: C = serde_json::from_str(&text).unwrap();
        assert_eq!(read, *command, "{text}");
        self.0.extend(type_name::<C>().rsplit("::").next());
    }
}

/// Covers the whole list of commands: a new one without a line here fails the test.
#[test]
fn every_serialised_command_is_read_back_unchanged() {
    let mut seen = Seen::default();
    let (title, body) = (Title::new("a").unwrap(), Body::new("b").unwrap());
    let (at, agent) = (Time::from_micros(7), AgentPath::primary());
    let (some, spent) = (|| Some("x".to_owned()), Spent { input: 1, cached: 2, output: 3 });
    let conversation_id = ConversationId::from(Ids::new(at, 1).ulid());

    seen.same(&CreateIssue { title: title.clone(), body: Some(body.clone()), force_new: true });
    let (status, reason) = (IssueStatus::Resolved, Some(body.clone()));
    seen.same(&TransitionIssue { status, reason, confirm: true });
    seen.same(&CommentIssue { text: body.clone() });
    seen.same(&LinkIssues { kind: LinkKind::ChildOf });
    seen.same(&UnlinkIssues { kind: LinkKind::RelatesTo });
    seen.same(&CloseAsDuplicate { note: None });
    seen.same(&DeferIssue { until: Some(at) });
    seen.same(&AssignIssue { assignment: some() });
    for (body, priority, assignee) in [
        (None, None, None),
        (Some(None), Some(None), Some(None)),
        (Some(Some(body.clone())), Some(Some(Priority::High)), Some(Some(title.clone()))),
    ] {
        let (title, labels) = (Some(title.clone()), Some(vec![title.clone()]));
        let expected_revision = Some(2);
        seen.same(&UpdateIssue { title, body, labels, priority, assignee, expected_revision });
    }

    let (host, external_id, directory) = (Some(title.clone()), None, some());
    seen.same(&StartSession {
        title: title.clone(),
        conversation_id,
        host,
        external_id,
        directory,
    });
    seen.same(&BindSession { take_over: true });
    seen.same(&UnbindSession);
    seen.same(&PromoteSession);
    seen.same(&PauseSession { reason: some() });
    seen.same(&ResumeSession);
    seen.same(&EndSession);
    seen.same(&AdoptSession { external_id: "x".to_owned(), directory: some() });
    seen.same(&ReopenSession);
    seen.same(&TitleSession { prompt: "x".to_owned() });

    let question = OpenGate {
        details: Details::Form(Form(json!({ "a": [1, null] }))),
        purpose: Some(Purpose::SignOff),
        text: body.clone(),
        end: IssueStatus::Rejected,
    };
    seen.same(&question);
    let answer = ClientAnswer {
        gate: "g".to_owned(),
        decision: GateDecision::Resume,
        response: Some(json!({ "a": 1 })),
        is_apart: true,
    };
    seen.same(&CollectAnswer { question: question.clone(), gate: "g".to_owned() });
    seen.same(&RelayAnswer { question, answer });
    seen.same(&AnswerGate::plain(GateDecision::Refuse, Some(json!("no"))));
    seen.same(&AskPermission {
        tool: title.clone(),
        agent: agent.clone(),
        run: title.clone(),
        call: title.clone(),
        input: json!({}),
        digest: "d".to_owned(),
        definition: json!({ "command": "ls" }),
    });
    seen.same(&RevokePermission {});

    seen.same(&Delegate {
        kind: title,
        mission: body.clone(),
        rationale: None,
        mode: Mode::Sync,
        review: Review::Auto,
        todo_id: None,
        conversation_id: Some(conversation_id),
        run_id: None,
    });
    seen.same(&TakeDelegation { lease_s: 30, clock: at });
    seen.same(&HeartbeatDelegation { epoch: 2, lease_s: 0, clock: at });
    let done = Report::Done { result: body.clone(), proposal: None };
    for report in [done, Report::Failed { error: body.clone() }] {
        seen.same(&ReportDelegation { report, epoch: 1, clock: at });
    }
    seen.same(&BuryDelegation);
    seen.same(&CancelDelegation { reason: Some(body) });
    seen.same(&DecideProposal {
        decision: ProposalDecision::Modify,
        items: Some(Vec::new()),
        reason: None,
    });

    let settings: Settings = serde_json::from_value(json!({
        "model": "scripted:x", "drives": true, "budget": Budget::default(), "maxTokens": 1,
        "history": 2,
    }))
    .unwrap();
    seen.same(&StartRun {
        agent: agent.clone(),
        role: Role::Worker,
        mission: some(),
        pillar: None,
        conversation_id,
        turn_id: "t".to_owned(),
        session_id: None,
        plan: Some(Scope::Issue { issue_id: "i".to_owned() }),
        delegation_id: None,
        settings,
        reach: Some(Reach::default()),
        names_model: true,
        held: true,
    });
    seen.same(&RecordHosted { changed: true, caught_up: false });
    seen.same(&TakeRun { after_death: true });
    seen.same(&ConfigureRun { settings: None });
    seen.same(&RecordReply { spent, calls: Some(u64::MAX), window: Some(5), heard: None });
    seen.same(&RecordResult { changed: true, touched_list: false, failed_on: None });
    seen.same(&RecordStart { call_id: "c".to_owned() });
    seen.same(&RecordSummary { spent });
    seen.same(&DriveRun { detail: some(), code: None });
    seen.same(&WakeRun { by: Trigger::GateAnswered, said: true });
    seen.same(&CancelRun { reason: "r".to_owned(), executed: false });

    let spec = json!({ "name": "M", "slug": "m", "pillars": [{ "name": "P" }] });
    let spec: MissionSpec = serde_json::from_value(spec).unwrap();
    seen.same(&InitMission { spec, directory: some(), only_missing: true });
    seen.same(&SetStanding { pillar: some(), status: Standing::Paused });
    seen.same(&RunCycle { if_due: true });
    seen.same(&Escalate { mission: "m".to_owned(), pillar: "p".to_owned() });
    seen.same(&RecordReading { metric: "m".to_owned(), value: json!(1.5), at: Some(at) });
    seen.same(&CollectMetrics { metric: None });
    let (metric, error) = ("m".to_owned(), "e".to_owned());
    seen.same(&FailCollection { metric, error, attempt: 2, gives_up: true });
    seen.same(&PurgePlans { older_than: Span::seconds(3), confirm: true });
    seen.same(&MergeProjects { confirm: true });
    let (status, note) = (AgentStatus::Busy, some());
    seen.same(&punchlist_core::agent::RegisterAgent { agent: agent.clone(), kind: None });
    seen.same(&punchlist_core::agent::SetAgentStatus { agent, status, note });
    assert_eq!(seen.0, COMMANDS.iter().copied().collect());
}
