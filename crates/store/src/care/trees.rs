//! Checks that trees have no cycles.
//!
//! No operation can create a cycle (O-19), but editing the tables by hand can. The items of a cycle
//! are still shown at the top level, but have no position of their own.

use std::collections::BTreeMap;

use punchlist_core::TodoId;

use super::doctor::{Check, named};
use crate::rows::word;
use crate::{Error, Tx, sql};

/// How many items of one cycle are listed.
const NAMED_MAX: usize = 10;

pub(super) fn check(tx: &mut Tx<'_>) -> Result<Check, Error> {
    let statement = sql!("SELECT id, parent_id FROM todos WHERE parent_id IS NOT NULL");
    let hung = tx.query(statement, &[], |row| {
        let id = |column| word("todo id", &row.text(column)?, TodoId::parse);
        Ok((id(0)?, id(1)?))
    })?;
    let parents: BTreeMap<TodoId, TodoId> = hung.into_iter().collect();
    let mut faults: Vec<String> = circles(&parents).iter().map(|circle| told(circle)).collect();
    let apart = sql!(
        "SELECT count(*) FROM todos AS t WHERE t.parent_id IS NOT NULL AND NOT EXISTS \
         (SELECT 1 FROM todos AS p WHERE p.id = t.parent_id AND p.list_id = t.list_id)"
    );
    match tx.first(apart, &[], |row| row.int(0))?.unwrap_or_default() {
        0 => {}
        1 => faults.push("1 todo has a parent that is not in its list".to_owned()),
        count => faults.push(format!("{count} todos have a parent that is not in their list")),
    }
    if faults.is_empty() {
        let detail = format!("each of {} subtasks has a root", parents.len());
        return Ok(Check::good("trees", detail));
    }
    let hint = "the tables were changed by hand: put a backup back with `punch restore FILE`, or \
                import the plan's file again, which hangs each of its tasks where the file says";
    Ok(Check::bad("trees", named(&faults), hint))
}

fn told(circle: &[TodoId]) -> String {
    if let [own] = circle {
        return format!("a todo that is its own parent: {own}");
    }
    let shown: Vec<String> = circle.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    let more = if circle.len() > NAMED_MAX { " under …" } else { "" };
    let (first, count) = (circle[0], circle.len());
    format!("a circle of {count} todos: {}{more} under {first}", shown.join(" under "))
}

/// Every cycle once, starting at its lowest id; each item comes before its parent.
fn circles(parents: &BTreeMap<TodoId, TodoId>) -> Vec<Vec<TodoId>> {
    // Each item is visited once, by the first walk that reaches it.
    let mut seen: BTreeMap<TodoId, usize> = BTreeMap::new();
    let mut circles = Vec::new();
    for (walk, start) in parents.keys().enumerate() {
        let mut at = *start;
        while let (false, Some(next)) = (seen.contains_key(&at), parents.get(&at)) {
            seen.insert(at, walk);
            at = *next;
        }
        // The walk met its own trail, not that of another walk: a cycle.
        if seen.get(&at) != Some(&walk) {
            continue;
        }
        let round = std::iter::successors(parents.get(&at), |id| parents.get(*id));
        let round = round.take_while(|id| **id != at).copied();
        let mut circle: Vec<TodoId> = std::iter::once(at).chain(round).collect();
        let lowest = circle.iter().enumerate().min_by_key(|(_, id)| **id).map_or(0, |(n, _)| n);
        circle.rotate_left(lowest);
        circles.push(circle);
    }
    circles
}

#[cfg(test)]
mod tests {
    use punchlist_core::{Ids, Time};

    use super::*;

    #[test]
    fn each_cycle_is_found_once_without_the_items_below_it() {
        let mut ids = Ids::new(Time::from_micros(0), 1);
        let ids: Vec<TodoId> = (0..9).map(|_| TodoId::from(ids.ulid())).collect();
        // A chain to a root, an item that is its own parent, and a cycle of three with an item
        // below it that comes first.
        let hung = [(0, 1), (1, 2), (3, 3), (4, 5), (5, 6), (6, 7), (7, 5)];
        let parents = hung.iter().map(|(child, parent)| (ids[*child], ids[*parent])).collect();
        let found = circles(&parents);
        assert_eq!(found, [vec![ids[3]], vec![ids[5], ids[6], ids[7]]]);
        assert_eq!(circles(&BTreeMap::new()), Vec::<Vec<TodoId>>::new());
        let (a, b) = (ids[5], ids[6]);
        assert_eq!(told(&found[0]), format!("a todo that is its own parent: {}", ids[3]));
        assert!(told(&found[1]).starts_with(&format!("a circle of 3 todos: {a} under {b} under")));
    }
}
