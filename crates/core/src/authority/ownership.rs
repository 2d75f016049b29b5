//! Whether an actor owns the thing it acts on: the `own` of the table.

use crate::conversation::Conversation;
use crate::{Actor, AgentPath, Delegation, Reach, Role, Run, Scope, Snapshot, Todo};

/// Does this actor own the list, or the item if one is given?
#[must_use]
pub fn owns(actor: &Actor, snapshot: &Snapshot, todo: Option<&Todo>) -> bool {
    let assigned = |todo: Option<&Todo>| {
        let parent = |todo: &&Todo| todo.parent_id.and_then(|parent| snapshot.todo(parent));
        // Parents form a cycle only if the data was changed from outside. The limit ends the walk
        // up, after it has seen every item.
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

/// Does this actor lead the mission, or own this pillar of it? A lead or owner that is not tied to
/// one leads, or owns, everything that its token reaches.
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

/// Is this the actor's own mission? An actor that is not tied to a mission owns all that its token
/// reaches.
#[must_use]
pub fn owns_mission(actor: &Actor, slug: &str) -> bool {
    actor.mission.as_ref().is_none_or(|own| own == slug)
}

/// Does this actor own the conversation? Root owns those of sessions, the lead those of missions
/// and their pillars, the owner those of its pillar.
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

/// Did this actor delegate it? Compared by principal: another role with the same name does not
/// count. The driver acts for the agent that delegated.
#[must_use]
pub fn owns_delegation(actor: &Actor, delegation: &Delegation) -> bool {
    delegation.delegated_by == actor.principal
        || (actor.role == Role::System && delegation.parent_agent == actor.agent)
}

/// Is this the actor itself or an agent below it? An actor without a token may name any agent as
/// itself.
#[must_use]
pub fn owns_agent(actor: &Actor, agent: &AgentPath) -> bool {
    !actor.fixed || agent.is_within(&actor.agent)
}

/// May the actor's own process continue this run? Not if the run has a higher role, another agent,
/// or a wider reach.
#[must_use]
pub fn owns_run(actor: &Actor, run: &Run) -> bool {
    let below = matches!(run.role, Role::Root | Role::Worker);
    !actor.fixed || (below && run.agent.is_within(&actor.agent) && reaches_run(actor, run))
}

/// Does the actor's reach cover the run's? The run's session may differ: the run's starter gave it
/// that session.
#[must_use]
pub fn reaches_run(actor: &Actor, run: &Run) -> bool {
    let session = actor.reach.session.clone();
    let reach = Reach { session, ..run.reach.clone() };
    actor.reach.contains(&reach) || actor.reach.contains(&run.reach)
}
