//! The checklist of an issue as markdown, and how its items read.
//!
//! `# Criteria` is reserved and comes first, then the steps without a phase, then one heading
//! for each phase. One item is one line, whatever its text holds.

use crate::select::ordered;
use crate::text::normalised;
use crate::{Snapshot, Status, Todo, TodoKind};

/// How an item reads: a claimed criterion as completed, though it stays open until sign-off.
#[must_use]
pub const fn shown_status(todo: &Todo) -> Status {
    match (todo.kind, todo.status) {
        (TodoKind::Criterion, Status::Pending | Status::InProgress) if todo.claim.is_some() => {
            Status::Completed
        }
        (_, status) => status,
    }
}

/// The whole checklist; nothing for an issue without items.
#[must_use]
pub fn markdown(snapshot: &Snapshot) -> String {
    let todos = ordered(snapshot);
    let (criteria, steps): (Vec<&Todo>, Vec<&Todo>) =
        todos.into_iter().partition(|todo| todo.kind == TodoKind::Criterion);
    let mut blocks = Vec::new();
    if !criteria.is_empty() {
        blocks.push(block(Some("Criteria"), &criteria));
    }
    for phase in steps.chunk_by(|a, b| a.phase == b.phase) {
        let heading = phase.first().and_then(|todo| todo.phase.as_deref());
        blocks.push(block(heading, phase));
    }
    blocks.join("\n")
}

fn block(heading: Option<&str>, todos: &[&Todo]) -> String {
    let heading = heading.map(|name| format!("# {}\n", normalised(name))).unwrap_or_default();
    todos.iter().fold(heading, |text, todo| {
        let mark = match shown_status(todo) {
            Status::Backlog | Status::Pending => ' ',
            Status::InProgress => '/',
            Status::Completed => 'x',
            Status::Cancelled => '-',
        };
        format!("{text}- [{mark}] {}\n", normalised(&todo.title))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{CancelTodo, CompleteTodo, CreateTodos, NewTodo, StartTodo};
    use crate::text::Title;
    use crate::{
        Actor, AgentPath, Command, Ids, List, ListId, ProjectId, Role, Scope, Time, TodoId, apply,
        decide,
    };

    fn run(state: &mut Snapshot, ids: &mut Ids, role: Role, command: impl Into<Command>) {
        let (actor, now) = (Actor::new(role, AgentPath::primary()), Time::from_micros(1));
        let decision = decide(state, &command.into(), &actor, now, ids).unwrap();
        for event in &decision.events {
            apply(state, event, now);
        }
    }

    #[test]
    fn criteria_come_first_then_steps_then_phases() {
        let mut ids = Ids::new(Time::from_micros(0), 7);
        let list = List {
            id: ListId::from(ids.ulid()),
            project_id: ProjectId::from(ids.ulid()),
            scope: Scope::Issue { issue_id: "i".into() },
            created_at: Time::from_micros(0),
        };
        let mut state = Snapshot::empty(list);
        assert_eq!(markdown(&state), "");
        let item = |text: &str, kind: TodoKind, phase: Option<&str>| NewTodo {
            kind,
            phase: phase.map(|phase| Title::new(phase).unwrap()),
            ..NewTodo::titled(Title::new(text).unwrap())
        };
        let (step, criterion) = (TodoKind::Step, TodoKind::Criterion);
        let items = vec![
            item("build", step, Some("Second")),
            item("it works\n# Forged", criterion, None),
            item("read", step, None),
            item("skip", step, None),
            item("it is fast", criterion, None),
            item("test", step, Some("Second")),
        ];
        run(&mut state, &mut ids, Role::Root, CreateTodos { items });
        let find = |state: &Snapshot, text: &str| -> TodoId {
            state.todos.values().find(|todo| todo.title == text).unwrap().id
        };
        let outcome = || Some("so".to_owned());
        let claimed = CompleteTodo {
            todo_id: find(&state, "it is fast"),
            outcome: outcome(),
            evidence: vec![],
            metrics_impacted: vec![],
        };
        run(&mut state, &mut ids, Role::Root, claimed);
        let todo_id = find(&state, "skip");
        run(&mut state, &mut ids, Role::Root, CancelTodo { todo_id, outcome: outcome() });
        let todo_id = find(&state, "build");
        run(&mut state, &mut ids, Role::Root, StartTodo { todo_id });
        let expected = "# Criteria\n- [ ] it works # Forged\n- [x] it is fast\n\n\
                        - [ ] read\n- [-] skip\n\n# Second\n- [/] build\n- [ ] test\n";
        assert_eq!(markdown(&state), expected);
    }
}
