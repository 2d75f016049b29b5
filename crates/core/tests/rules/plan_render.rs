//! A plan as text for an agent that resumes.

use proptest::prelude::*;
use punchlist_core::plan::{Form, Rendered, render};
use punchlist_core::{AgentStatus, Agents};

use crate::plan_world::{
    PLAN_FILE, agent, assign, cancel, complete, grown, nobody_known, plan_world, worked_example,
};
use crate::world::World;

fn told(world: &World, agents: &Agents, form: Form) -> String {
    let Rendered { text, left_out } = render(&world.state, agents, form, None, world.now);
    assert_eq!(left_out, 0);
    text
}

fn within(world: &World, form: Form, budget: usize) -> Rendered {
    let rendered = render(&world.state, &nobody_known(), form, Some(budget), world.now);
    assert!(rendered.text.chars().count() <= budget, "{budget}: {}", rendered.text);
    rendered
}

fn backend(status: AgentStatus) -> Agents {
    Agents { status: [(agent("backend"), status)].into(), ..Agents::default() }
}

/// O-24, O-28: the design's expected output, character for character.
#[test]
fn the_worked_example_is_rendered_as_in_the_design() {
    let expected = "\
## Current Tasks
- [x] Task 1: Add user model (@backend, completed)
- [ ] Task 2: Add login endpoint (@backend, in spec review)  <-- current
- [ ] Task 3: Add JWT middleware (pending)";
    let world = worked_example();
    for agents in [nobody_known(), backend(AgentStatus::Busy)] {
        assert_eq!(told(&world, &agents, Form::Tasks), expected);
    }
}

/// O-26, O-27: the design's tree, with the one mark that both forms have.
#[test]
fn the_worked_example_as_a_tree_is_the_designs_tree() {
    let design = "\
[ ] Implement authentication (plan: docs/plans/2025-12-24-auth.md)
    [ ] Brainstorm design
    [ ] Set up worktree
    [ ] Write implementation plan
    [ ] Execute plan
        [x] Task 1: Add user model (@backend, completed)
        [ ] Task 2: Add login endpoint (@backend, active)
            [x] Implementation
            [ ] Spec review          <-- current position
            [ ] Code quality review
        [ ] Task 3: Add JWT middleware (pending)
    [ ] Finish branch";
    let expected = design.replace("          <-- current position", "  <-- current");
    assert_eq!(told(&worked_example(), &nobody_known(), Form::Tree), expected);
}

/// F-11: a normal wake needs one line.
#[test]
fn the_line_names_the_current_task() {
    let mut world = worked_example();
    assert_eq!(
        told(&world, &nobody_known(), Form::Line),
        "Plan docs/plans/2025-12-24-auth.md: 2 of 9 tasks settled; current: Spec review, in \
         Task 2: Add login endpoint (@backend, active)"
    );
    for title in ["Spec review", "Code quality review"] {
        complete(&mut world, title);
    }
    assert_eq!(
        told(&world, &nobody_known(), Form::Line),
        "Plan docs/plans/2025-12-24-auth.md: 4 of 9 tasks settled; ready to close: \
         Task 2: Add login endpoint (@backend, active)"
    );
    let world = grown("# T\n1. a\n");
    let line = format!("Plan {PLAN_FILE}: 0 of 1 task settled; current: a (pending)");
    assert_eq!(told(&world, &nobody_known(), Form::Line), line);
}

/// O-13: a plan without a current task says so.
#[test]
fn a_settled_plan_and_an_empty_one_have_nothing_current() {
    let mut world = grown("# T\n1. a\n");
    complete(&mut world, "a");
    cancel(&mut world, "T");
    let nothing = "nothing is current, the task is settled";
    assert_eq!(told(&world, &nobody_known(), Form::Tasks), format!("## Current Tasks\n{nothing}"));
    assert_eq!(told(&world, &nobody_known(), Form::Line), format!("Plan {PLAN_FILE}: {nothing}"));
    let tree = format!("[-] T (plan: {PLAN_FILE})\n    [x] a");
    assert_eq!(told(&world, &nobody_known(), Form::Tree), tree);
    let empty = told(&plan_world(), &nobody_known(), Form::Tree);
    assert_eq!(empty, "nothing is current, there are no tasks");
}

/// O-21, O-24, O-28: the note after an active task, by its agent's status.
#[test]
fn the_agents_status_is_shown_for_a_task_without_steps() {
    let mut world = grown("# T\n1. a\n2. b\n");
    assign(&mut world, "a", "backend");
    let word = |world: &World, agents: &Agents| {
        let text = told(world, agents, Form::Tasks);
        let line = text.lines().nth(1).unwrap();
        line.strip_prefix("- [ ] a (@backend, ").unwrap().replace(")  <-- current", "")
    };
    assert_eq!(word(&world, &nobody_known()), "active");
    let silent = Agents { silent: [agent("backend")].into(), ..backend(AgentStatus::Busy) };
    assert_eq!(word(&world, &silent), "needs reassignment");
    for (status, expected) in [
        (AgentStatus::Idle, "idle"),
        (AgentStatus::Busy, "busy"),
        (AgentStatus::Complete, "complete"),
        (AgentStatus::Blocked, "blocked"),
        (AgentStatus::Failed, "failed, needs reassignment"),
        (AgentStatus::Archived, "needs reassignment"),
    ] {
        assert_eq!(word(&world, &backend(status)), expected);
    }
    // No task above the leaf is assigned: the leaf's own level is shown.
    let text = told(&world, &backend(AgentStatus::Busy), Form::Tasks);
    assert_eq!(text.lines().last(), Some("- [ ] b (pending)"));
}

#[test]
fn a_budget_drops_settled_tasks_first_then_the_farthest_and_counts_them() {
    let world = worked_example();
    let whole = told(&world, &nobody_known(), Form::Tree);
    let all = within(&world, Form::Tree, whole.chars().count());
    assert_eq!(all, Rendered { text: whole.clone(), left_out: 0 });
    // Settled ones are left out first, and no more than needed.
    let text = whole.replace("        [x] Task 1: Add user model (@backend, completed)\n", "")
        + "\n(1 task left out, 1 of them settled)";
    let budget = whole.chars().count() - 1;
    assert_eq!(within(&world, Form::Tree, budget), Rendered { text, left_out: 1 });
    let expected = "\
[ ] Implement authentication (plan: docs/plans/2025-12-24-auth.md)
    [ ] Execute plan
        [ ] Task 2: Add login endpoint (@backend, active)
            [ ] Spec review  <-- current
            [ ] Code quality review
        [ ] Task 3: Add JWT middleware (pending)
(6 tasks left out, 2 of them settled)";
    let rendered = within(&world, Form::Tree, 330);
    assert_eq!(rendered, Rendered { text: expected.to_owned(), left_out: 6 });
    let expected =
        "            [ ] Spec review  <-- current\n(11 tasks left out, 2 of them settled)";
    assert_eq!(
        within(&world, Form::Tree, 80),
        Rendered { text: expected.to_owned(), left_out: 11 }
    );
    let expected = "\
## Current Tasks
- [ ] Task 2: Add login endpoint (@backend, in spec review)  <-- current
(2 tasks left out, 1 of them settled)";
    assert_eq!(
        within(&world, Form::Tasks, 130),
        Rendered { text: expected.to_owned(), left_out: 2 }
    );
    assert_eq!(within(&world, Form::Line, 12).text, "Plan docs/p…");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// O-24: no budget is exceeded, omitted tasks are counted, and the current line stays.
    #[test]
    fn any_budget_is_kept(budget in 0usize..700, active in 0usize..12, parts in 1usize..40) {
        let steps: String = (0..parts)
            .map(|n| format!("{}{}. [{}] step {n}\n", "   ".repeat(n % 4), n + 1, [" ", "x", "-"][n % 3]))
            .collect();
        let mut world = grown(&format!("# T\n{steps}"));
        let (title, left_out) = (format!("step {active}"), punchlist_core::plan::dropped(&world.state));
        let mut todos = world.state.todos.values();
        let is_free = todos.any(|todo| todo.title == title && !left_out.contains(&todo.id));
        if active % 3 == 0 && is_free {
            assign(&mut world, &title, "backend");
        }
        for form in [Form::Tree, Form::Tasks, Form::Line] {
            let whole = told(&world, &nobody_known(), form);
            let Rendered { text, left_out } = within(&world, form, budget);
            if whole.chars().count() <= budget {
                prop_assert_eq!((text, left_out), (whole, 0));
            } else if budget > 160 && form == Form::Tree {
                prop_assert_eq!(text.lines().count() - 1 + left_out, whole.lines().count());
                let current = whole.lines().find(|line| line.ends_with("<-- current"));
                let has_current = current.is_none_or(|line| text.lines().any(|kept| kept == line));
                prop_assert!(has_current, "{}", text);
            }
        }
    }
}
