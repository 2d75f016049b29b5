//! Whether an actor owns what it acts on: the `own` of the table.

use crate::conversation::Conversation;
use crate::{Actor, AgentPath, Delegation, Reach, Role, Run, Scope, Snapshot, Todo};

/// Does this actor own the list, or the item where one is named?
#[must_use]
pub fn owns(actor: &Actor, snapshot: &Snapshot, todo: Option<&Todo>) -> bool {
    let assigned = |todo: Option<&Todo>| {
        let parent = |todo: &&Todo| todo.parent_id.and_then(|parent| snapshot.todo(parent));
        // A circle can only come from outside; whoever goes up in one has seen all of it by then.
        let mut above = std::iter::successors(todo, parent).take(snapshot.todos.len() + 1);
        above.any(|todo| todo.assignee.as_ref() == Some(&actor.agent))
    };
    match (&snapshot.list.scope, actor.role) {
        (_, Role::Operator | Role::System) => true,
        (Scope::Turn { .. } | Scope::Session { .. } | Scope::Issue { .. }, role) => {
            role == Role::Root
        }
        (Scope::Plan { .. }, role) => role == Role::Root || assigned(todo),
        (Scope::Pillar { mission, pillar }, Role::Lead | Role::Owner) => {
            owns_pillar(actor, mission, pillar)
        }
        (Scope::Pillar { .. }, _) => assigned(todo),
    }
}

/// Does this actor lead the mission, or own the pillar of it? Whoever was tied to nothing leads,
/// or owns, all that its token reaches.
#[must_use]
pub fn owns_pillar(actor: &Actor, mission: &str, pillar: &str) -> bool {
    let tied = |own: &Option<String>, to: &str| own.as_deref().is_none_or(|own| own == to);
    match actor.role {
        Role::Operator | Role::System => true,
        Role::Lead => tied(&actor.mission, mission),
        Role::Owner => tied(&actor.mission, mission) && tied(&actor.pillar, pillar),
        Role::Root | Role::Worker => false,
    }
}

/// Is this a mission of the actor's own? One that was tied to no mission has all that its token
/// reaches.
#[must_use]
pub fn owns_mission(actor: &Actor, slug: &str) -> bool {
    actor.mission.as_ref().is_none_or(|own| own == slug)
}

/// Is this a conversation of the actor's own? Those of sessions are root's, those of missions the
/// lead's, those of pillars also the owner's.
#[must_use]
pub fn owns_conversation(actor: &Actor, conversation: &Conversation) -> bool {
    match (&conversation.about, actor.role) {
        (_, Role::Operator | Role::System) => true,
        (None, role) => role == Role::Root,
        (Some(about), Role::Lead) => owns_mission(actor, &about.mission_slug),
        (Some(about), Role::Owner) => about
            .pillar
            .as_ref()
            .is_some_and(|(_, pillar)| owns_pillar(actor, &about.mission_slug, pillar)),
        (Some(_), Role::Root | Role::Worker) => false,
    }
}

/// Did this actor delegate it? By its principal: another role of the same name has no say. The
/// driver acts for the agent that delegated.
#[must_use]
pub fn owns_delegation(actor: &Actor, delegation: &Delegation) -> bool {
    delegation.delegated_by == actor.principal
        || (actor.role == Role::System && delegation.parent_agent == actor.agent)
}

/// Is this the actor itself or an agent below it? Somebody whose agent no token fixed is whichever
/// agent it says.
#[must_use]
pub fn owns_agent(actor: &Actor, agent: &AgentPath) -> bool {
    !actor.fixed || agent.is_within(&actor.agent)
}

/// Is this a run that the actor's own process may go on with? Not one of a role above its own, of
/// another agent, or that reaches further.
#[must_use]
pub fn owns_run(actor: &Actor, run: &Run) -> bool {
    let below = matches!(run.role, Role::Root | Role::Worker);
    !actor.fixed || (below && run.agent.is_within(&actor.agent) && reaches_run(actor, run))
}

/// Does the actor reach as far as this run? That a run also reaches the session it happens in is
/// its starter's doing.
#[must_use]
pub fn reaches_run(actor: &Actor, run: &Run) -> bool {
    let session = actor.reach.session.clone();
    let reach = Reach { session, ..run.reach.clone() };
    actor.reach.contains(&reach) || actor.reach.contains(&run.reach)
}
