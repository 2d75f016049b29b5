//! Computes positions that put items into a wanted order, with few changes.
//!
//! Items that are in order already keep their positions (the longest rising subsequence does); the
//! others move in between. Items at equal positions are ordered by age, so that a new item needs no
//! gap. Phases are in the order of their first items, see `select`.

use std::collections::BTreeMap;

use crate::select::Place;
use crate::{Time, TodoId, TodoKind};

/// An item that needs a position: its current position (`None` for a new one) and its age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) position: Option<i64>,
    pub(crate) created_at: Time,
    pub(crate) id: TodoId,
}

impl Seat {
    const fn at(self, position: i64) -> Place {
        Place { position, created_at: self.created_at, id: self.id }
    }
}

/// Positions for items of one phase in this order. The last items are put at `end` or after.
pub(crate) fn in_order(seats: &[Seat], end: i64) -> Vec<i64> {
    let places: Vec<Option<Place>> =
        seats.iter().map(|seat| seat.position.map(|position| seat.at(position))).collect();
    let keeps = longest_rising(&places);
    // For each seat, the next kept place after it.
    let mut after = vec![None; seats.len()];
    let mut next = None;
    for index in (0..seats.len()).rev() {
        after[index] = next;
        next = places[index].filter(|_| keeps[index]).or(next);
    }
    let mut last: Option<Place> = None;
    let mut positions = Vec::with_capacity(seats.len());
    for (index, seat) in seats.iter().enumerate() {
        // An item that should keep its place moves on if there was no room before it.
        let kept = places[index].filter(|place| keeps[index] && last < Some(*place));
        let place = kept.unwrap_or_else(|| seat.at(between(*seat, last, after[index], end)));
        positions.push(place.position);
        last = Some(place);
    }
    positions
}

fn between(seat: Seat, last: Option<Place>, next: Option<Place>, end: i64) -> i64 {
    match (last, next) {
        (None, None) => end,
        (Some(last), None) => end.max(last.position.saturating_add(1)),
        (None, Some(next)) => next.position.saturating_sub(1),
        (Some(last), Some(next)) => {
            let behind = last.position.saturating_add(1);
            let beside = seat.at(last.position);
            if seat.at(behind) >= next && beside > last { last.position } else { behind }
        }
    }
}

/// The items that are ordered together: the criteria, the steps without a phase, or one phase.
pub(crate) type Group = (TodoKind, Option<String>);

/// A position for each item of a checklist, so that its groups and phases have this order.
pub(crate) fn in_groups(items: &[(Group, Seat)], end: i64) -> Vec<i64> {
    let (mut criteria, mut bare, mut phased) = (Vec::new(), Vec::new(), Vec::new());
    let mut phases = BTreeMap::new();
    for (index, ((kind, phase), _)) in items.iter().enumerate() {
        match (kind, phase) {
            (TodoKind::Criterion, _) => criteria.push(index),
            (TodoKind::Step, None) => bare.push(index),
            (TodoKind::Step, Some(phase)) => {
                let phase = *phases.entry(phase).or_insert_with(|| {
                    phased.push(Vec::new());
                    phased.len() - 1
                });
                phased[phase].push(index);
            }
        }
    }
    let seats = |group: &Vec<usize>| group.iter().map(|at| items[*at].1).collect::<Vec<Seat>>();
    let mut placed = vec![in_order(&seats(&criteria), end), in_order(&seats(&bare), end)];
    placed.extend(in_phases(&phased.iter().map(seats).collect::<Vec<_>>(), end));
    let mut positions = vec![0; items.len()];
    let groups = [criteria, bare].into_iter().chain(phased);
    for (index, position) in groups.flatten().zip(placed.into_iter().flatten()) {
        positions[index] = position;
    }
    positions
}

/// Positions for items of several phases, so that the phases are in this order.
fn in_phases(phases: &[Vec<Seat>], end: i64) -> Vec<Vec<i64>> {
    let mut placed: Vec<Vec<i64>> = phases.iter().map(|seats| in_order(seats, end)).collect();
    let firsts: Vec<Seat> = phases
        .iter()
        .zip(&placed)
        .filter_map(|(seats, positions)| {
            seats.first().map(|seat| Seat { position: positions.first().copied(), ..*seat })
        })
        .collect();
    let heads = in_order(&firsts, end);
    for ((seats, positions), head) in phases.iter().zip(&mut placed).zip(heads) {
        let mut last: Option<Place> = None;
        for (seat, position) in seats.iter().zip(positions) {
            *position = match last {
                None => head,
                Some(last) if seat.at(*position) > last => *position,
                Some(last) => last.position.saturating_add(1),
            };
            last = Some(seat.at(*position));
        }
    }
    placed
}

/// Which places belong to a longest rising subsequence.
fn longest_rising(places: &[Option<Place>]) -> Vec<bool> {
    // The end of the best subsequence of each length so far, and the predecessor of each place.
    let mut ends: Vec<(Place, usize)> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; places.len()];
    for (index, place) in places.iter().enumerate() {
        let Some(place) = *place else {
            continue;
        };
        let length = ends.partition_point(|(end, _)| *end < place);
        before[index] = length.checked_sub(1).map(|shorter| ends[shorter].1);
        match ends.get_mut(length) {
            Some(end) => *end = (place, index),
            None => ends.push((place, index)),
        }
    }
    let mut rising = vec![false; places.len()];
    let mut at = ends.last().map(|(_, index)| *index);
    while let Some(index) = at {
        rising[index] = true;
        at = before[index];
    }
    rising
}
