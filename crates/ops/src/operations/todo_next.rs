//! `todo_next`: take the next item of a list.

use punchlist_core::authority::Action;
use punchlist_core::command::TakeTodo;
use punchlist_core::lease::{LEASE_S, LEASE_S_MAX};
use punchlist_core::policy::{Wip, policy};
use punchlist_core::text::Title;
use punchlist_core::{ListKind, Refusal, Scope, Session, select};
use punchlist_store::Load;
use punchlist_store::rows::lists::Lock;
use punchlist_store::rows::take::Look;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::call::{Call, scope_of_session};
use crate::catalogue::{Define, Effect, Surfaces};
use crate::explain::Fault;
use crate::input::{Maybe, range};
use crate::views::{TakenTodo, WhyNothing};
use crate::{Envelope, Error};

/// How often to retry when other callers take the item first; after that, nothing is taken.
const LOOKS_MAX: u32 = 8;

/// Take the next todo of an issue, a plan or a session: the one you hold, otherwise the first free
/// one.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The issue.
    #[serde(default, deserialize_with = "range::<1, 1_000_000_000, _>")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub number: Option<i64>,
    /// The plan's file.
    #[serde(default)]
    #[schemars(with = "Maybe<crate::input::PlanFile>")]
    pub plan_file: Maybe<Title>,
    /// The plan's branch; absent: the caller's, else main.
    #[serde(default)]
    pub branch: Maybe<Title>,
    /// The session: its own list while something is open there, else that of its issue. If nothing
    /// is named: the caller's session.
    #[serde(default)]
    pub session: Maybe<Title>,
    #[serde(default, deserialize_with = "range::<1, LEASE_S_MAX, _>")]
    #[schemars(
        description = format!("How long you hold it, in seconds; absent: {LEASE_S}, at most a day."),
        range(min = 1, max = LEASE_S_MAX)
    )]
    pub lease_s: Option<i64>,
}

#[derive(Debug)]
pub struct TodoNext;

impl Define for TodoNext {
    const NAME: &'static str = "todo_next";
    const ACCESS: Access = Access::Todo(Action::Take);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces { command: &["todo", "next"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"planFile":"docs/plans/auth.md","leaseS":600}"#;

    type Input = Input;
    type Output = TakenTodo;

    /// Exactly one of three fields names the list.
    fn check(envelope: &Envelope, input: &Input) -> Result<(), Error> {
        which(input, envelope).map(|_| ())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<TakenTodo, Error> {
        // The search names the project, so it must be the caller's own.
        if call.envelope().context.place.is_some() {
            call.project()?;
        }
        let scope = match which(input, call.envelope())? {
            Which::Session(named) => {
                let session = call.session_named(&named, Lock::No)?;
                list_of(call, &session)?
            }
            Which::Own => {
                let session = call.session(Lock::No)?.ok_or_else(missing)?;
                list_of(call, &session)?
            }
            Which::Plan(plan_file, branch) => call.plan_on_branch(&plan_file, branch.as_ref())?,
            Which::Issue(number) => {
                let issue_id = call.issue(number, Lock::No)?.id.to_string();
                Scope::Issue { issue_id }
            }
        };
        call.reach_scope(&scope)?;
        let lease_s = input.lease_s.unwrap_or(LEASE_S);
        for _ in 0..LOOKS_MAX {
            let (mut snapshot, todo_id) = match look(call, &scope)? {
                Look::Nothing => {
                    // A missing plan is an error; a plan without open tasks is not.
                    if scope.kind() == ListKind::Plan {
                        call.known_plan(&scope)?;
                    }
                    return Ok(TakenTodo { why: why(call, &scope)?, ..TakenTodo::NOTHING });
                }
                Look::Again => continue,
                Look::Found(list, id) => (call.with_locked_todo(list, id)?, id),
                Look::Whole(list, todo, lease) => {
                    let id = todo.id;
                    let mut snapshot = call.tx().snapshot_around(list, *todo, lease)?;
                    snapshot.lift_holds(call.envelope().now);
                    (snapshot, id)
                }
            };
            let clock = call.tx().clock()?;
            match call.decide(&mut snapshot, TakeTodo { todo_id, lease_s, clock }) {
                Ok(_) => return TakenTodo::of(&snapshot, todo_id),
                // Another caller took it between our read and our lock; there may be another item.
                Err(Error::Refused(refusal))
                    if matches!(*refusal, Refusal::AlreadyTaken { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(TakenTodo::NOTHING)
    }
}

/// The list of a session: its own while something is open in it, else that of its issue.
fn list_of(call: &mut Call<'_, '_>, session: &Session) -> Result<Scope, Error> {
    let own = scope_of_session(session);
    let Some(issue_id) = session.bound_issue else { return Ok(own) };
    let has_open = call.look(&own, Load::Open)?.is_some_and(|list| !list.todos.is_empty());
    let issue_id = issue_id.to_string();
    Ok(if has_open { own } else { Scope::Issue { issue_id } })
}

/// The next item, locked; or the whole list, if only one of its items may be in progress.
fn look(call: &mut Call<'_, '_>, scope: &Scope) -> Result<Look, Error> {
    let envelope = call.envelope();
    if policy(scope.kind()).wip == Wip::Many {
        let (project, actor) = (&envelope.project, &envelope.actor);
        return Ok(call.tx().look_for_next(project, scope, actor, envelope.now)?);
    }
    let Some(list) = call.tx().list_in(&envelope.project, scope)? else {
        return Ok(Look::Nothing);
    };
    call.lock_owner(scope)?;
    call.tx().lock_list(list.id)?;
    let clock = call.tx().clock()?;
    let snapshot = call.snapshot(list.clone(), Load::All)?;
    let (actor, now) = (&call.envelope().actor, call.envelope().now);
    let next = select::next_for(&snapshot, actor, now, clock).map(|todo| todo.id);
    Ok(next.map_or(Look::Nothing, |id| Look::Found(list, id)))
}

/// Why there is nothing to take. A plan may be long, so it is not read for that.
fn why(call: &mut Call<'_, '_>, scope: &Scope) -> Result<Option<WhyNothing>, Error> {
    if policy(scope.kind()).wip == Wip::Many {
        return Ok(None);
    }
    let clock = call.tx().clock()?;
    let list = call.look(scope, Load::All)?;
    let none_open = || WhyNothing::from(select::Idle::NoneOpen);
    Ok(Some(list.map_or_else(none_open, |list| select::idle(&list, clock).into())))
}

/// The list that the caller named.
enum Which {
    Session(String),
    /// That of the caller's session.
    Own,
    /// Its file and, if given, its branch.
    Plan(Title, Option<Title>),
    /// Its number.
    Issue(i64),
}

fn missing() -> Error {
    Fault::MissingField { path: "number, planFile or session".to_owned() }.into()
}

/// The list that the caller named; at most one may be given, and none only in a session.
fn which(input: &Input, envelope: &Envelope) -> Result<Which, Error> {
    match (input.number, input.plan_file.0.clone(), input.session.0.clone()) {
        (Some(number), None, None) => Ok(Which::Issue(number)),
        (None, Some(plan_file), None) => Ok(Which::Plan(plan_file, input.branch.0.clone())),
        (None, None, Some(session)) => Ok(Which::Session(session.into_string())),
        (None, None, None) if envelope.context.leads_to_session() => Ok(Which::Own),
        (None, None, None) => Err(missing()),
        _ => {
            let (path, found) =
                ("number".to_owned(), "given together with another list".to_owned());
            let expected = "one of number, planFile and session".to_owned();
            Err(Fault::BadValue { path, found, expected }.into())
        }
    }
}
