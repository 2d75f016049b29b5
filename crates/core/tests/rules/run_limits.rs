//! A run may do only what its starter and its executor may do.

use punchlist_core::driver::Budget;
use punchlist_core::run::{ConfigureRun, SettingsOf, StartRun};
use punchlist_core::{
    Actor, AgentPath, By, ConversationId, Decide, Event, Ids, ProjectId, Reach, Role, Run, Time,
};

use crate::driver::case::run;

fn actor(role: Role, agent: &str, fixed: bool) -> Actor {
    Actor { fixed, ..Actor::new(role, AgentPath::parse(agent).unwrap()) }
}

fn start(agent: &str, role: Role) -> StartRun {
    StartRun {
        agent: AgentPath::parse(agent).unwrap(),
        role,
        mission: None,
        pillar: None,
        conversation_id: ConversationId::from(Ids::new(Time::from_micros(0), 1).ulid()),
        turn_id: "t1".to_owned(),
        session_id: None,
        plan: None,
        delegation_id: None,
        settings: run(Budget::default()).settings,
        reach: None,
        names_model: false,
        held: false,
    }
}

fn started(command: &StartRun, by: &Actor) -> Result<Run, &'static str> {
    let now = Time::from_micros(5);
    let project = ProjectId::from(Ids::new(now, 2).ulid());
    match command.decide(project, By { actor: by, now, ids: &mut Ids::new(now, 3) }) {
        Ok(decision) => match decision.events.first() {
            Some(Event::RunStarted(started)) => Ok(Run::clone(&started.run)),
            other => panic!("{other:?}"),
        },
        Err(refused) => Err(refused.refusal.code()),
    }
}

/// Who may start a run as which agent: with a token as itself or below, without one as any agent up
/// to root.
#[test]
fn a_run_is_started_as_oneself_or_below() {
    for (role, own, fixed, agent, as_role, allowed) in [
        (Role::Root, "coder", true, "coder", Role::Root, true),
        (Role::Root, "coder", true, "coder.x", Role::Worker, true),
        (Role::Root, "coder", true, "coder2", Role::Root, false),
        (Role::Root, "coder", true, "deployer", Role::Root, false),
        (Role::Root, "primary", false, "deployer", Role::Root, true),
        (Role::Root, "primary", false, "boss", Role::Lead, false),
        (Role::Operator, "ada", true, "deployer", Role::Root, true),
        (Role::Operator, "ada", true, "boss", Role::Lead, true),
        (Role::System, "cron", true, "boss", Role::Owner, true),
        (Role::Lead, "boss", true, "boss", Role::Root, false),
        (Role::Owner, "o", true, "o", Role::Root, false),
        (Role::Worker, "w.x", true, "w.x", Role::Worker, false),
    ] {
        let done = started(&start(agent, as_role), &actor(role, own, fixed));
        assert_eq!(done.is_ok(), allowed, "{role} {own} {fixed} as {agent} {as_role}: {done:?}");
    }
    let mut narrow = actor(Role::System, "cron", true);
    narrow.reach.project = Some("api".to_owned());
    assert_eq!(started(&start("boss", Role::Lead), &narrow).unwrap_err(), "not_permitted");
    let run = started(&start("coder", Role::Root), &narrow).unwrap();
    assert_eq!(run.reach, narrow.reach, "it reaches no further");
    assert_eq!(run.actor().reach, narrow.reach);
}

/// Who chooses the settings of a run, and who may name its model.
#[test]
fn an_agent_chooses_the_model_only_for_its_own_process() {
    for (role, fixed, names_model, held, expected) in [
        (Role::Root, true, false, false, Ok(SettingsOf::Executor)),
        (Role::Root, true, false, true, Ok(SettingsOf::Starter)),
        (Role::Root, true, true, true, Ok(SettingsOf::Starter)),
        (Role::Root, true, true, false, Err("not_permitted")),
        (Role::Root, false, true, false, Ok(SettingsOf::Run)),
        (Role::Root, false, false, false, Ok(SettingsOf::Run)),
        (Role::Operator, true, true, false, Ok(SettingsOf::Run)),
        (Role::System, true, true, false, Err("not_permitted")),
        (Role::System, true, false, false, Ok(SettingsOf::Executor)),
    ] {
        let command = StartRun { names_model, held, ..start("coder", Role::Root) };
        let done = started(&command, &actor(role, "coder", fixed)).map(|run| run.settings_of);
        assert_eq!(done, expected, "{role} {fixed} {names_model} {held}");
    }
}

/// Who may continue a run, and what happens to an abandoned one.
#[test]
fn only_actors_that_may_execute_a_run_continue_it() {
    let base = Run { started_by: "root:coder".to_owned(), ..run(Budget::default()) };
    let coder = AgentPath::parse("coder").unwrap();
    let narrow = Reach { number: Some(1), ..Reach::default() };
    let session = Reach { session: Some("s".to_owned()), ..narrow.clone() };
    let of = |role, reach: &Reach, settings_of| Run {
        role,
        agent: coder.clone(),
        reach: reach.clone(),
        settings_of,
        ..base.clone()
    };
    let root = actor(Role::Root, "coder", true);
    let narrowed = Actor { reach: narrow.clone(), ..root.clone() };
    let everything = Reach::default();
    let settings = Some(base.settings.clone());
    let configured = Ok(Some("run_configured"));
    let stopped = Ok(Some("run_stopped"));
    for (executor, run, settings, expected) in [
        (&root, of(Role::Root, &everything, SettingsOf::Run), &None, Ok(None)),
        (&root, of(Role::Lead, &everything, SettingsOf::Run), &None, Err(())),
        (&narrowed, of(Role::Root, &everything, SettingsOf::Run), &None, Err(())),
        (&narrowed, of(Role::Root, &narrow, SettingsOf::Run), &None, Ok(None)),
        (&narrowed, of(Role::Worker, &session, SettingsOf::Run), &None, Ok(None)),
        (
            &actor(Role::Root, "other", true),
            of(Role::Root, &everything, SettingsOf::Run),
            &None,
            Err(()),
        ),
        (
            &actor(Role::Worker, "coder", true),
            of(Role::Worker, &everything, SettingsOf::Run),
            &None,
            Err(()),
        ),
        (
            &actor(Role::Operator, "ada", true),
            of(Role::Lead, &everything, SettingsOf::Run),
            &None,
            Ok(None),
        ),
        (
            &actor(Role::Root, "x", false),
            of(Role::Lead, &everything, SettingsOf::Run),
            &None,
            Ok(None),
        ),
        (&root, of(Role::Root, &everything, SettingsOf::Starter), &settings, Ok(None)),
        (
            &actor(Role::Operator, "ada", true),
            of(Role::Root, &everything, SettingsOf::Starter),
            &settings,
            stopped,
        ),
        (
            &actor(Role::Operator, "ada", true),
            of(Role::Root, &everything, SettingsOf::Executor),
            &settings,
            configured,
        ),
        (
            &actor(Role::System, "w", true),
            of(Role::Root, &everything, SettingsOf::Executor),
            &None,
            stopped,
        ),
    ] {
        let command = ConfigureRun { settings: settings.clone() };
        let now = Time::from_micros(5);
        let by = By { actor: executor, now, ids: &mut Ids::new(now, 3) };
        let told = command.decide(&run, by).map_err(|_| ());
        let told = told.map(|decision| decision.events.first().map(Event::type_name));
        assert_eq!(told, expected, "{executor:?} on {run:?}");
    }
}
