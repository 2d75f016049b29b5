//! Matches the nodes of a plan file with tasks, and finds the tasks that the file no longer has.
//!
//! A node matches the child of its parent's task with the same text in the file. If there is none,
//! it matches a task with that text anywhere in the tree, if the text is unique in the file and in
//! the tree: the task was moved. The root always matches the root.
//!
//! A task stores its text in the file (`external_id`). So a task with a changed title is still
//! found, and a task added by hand is not mistaken for one that the file has lost.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use super::Node;
use super::tree::Tree;
use crate::text::normalised;
use crate::{Time, Todo, TodoId};

/// A node in pre-order.
pub(crate) struct Flat<'a> {
    pub(crate) node: &'a Node,
    /// Its parent's index.
    pub(crate) parent: Option<usize>,
    /// Its text in the file.
    pub(crate) key: Cow<'a, str>,
}

/// All nodes, parents before children.
pub(crate) fn flat(root: &Node) -> Vec<Flat<'_>> {
    let (mut nodes, mut open) = (Vec::new(), vec![(None, root)]);
    while let Some((parent, node)) = open.pop() {
        let index = nodes.len();
        nodes.push(Flat { node, parent, key: as_one_line(node.content.as_str()) });
        open.extend(node.children.iter().rev().map(|child| (Some(index), child)));
    }
    nodes
}

/// The task that a node matches, with its current place.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) id: TodoId,
    pub(crate) parent_id: Option<TodoId>,
    pub(crate) position: i64,
    pub(crate) created_at: Time,
}

pub(crate) struct Pairing {
    /// For each node its task, `None` for a new one.
    pub(crate) found: Vec<Option<Found>>,
    /// The tasks that the file has lost and all tasks below them, in pre-order.
    pub(crate) gone: Vec<TodoId>,
    /// The last position in use under each parent.
    pub(crate) last: BTreeMap<Option<TodoId>, i64>,
}

pub(crate) fn pair(nodes: &[Flat<'_>], tree: &Tree<'_>) -> Pairing {
    let mut pairs = Pairs::new(nodes, tree);
    let mut rows: Vec<Option<usize>> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let row = pairs.find(node, node.parent.and_then(|parent| rows[parent]));
        if let Some(row) = row {
            pairs.taken[row] = true;
        }
        rows.push(row);
    }
    let branches = tree.branches();
    let mut gone = vec![false; branches.len()];
    let mut last = BTreeMap::new();
    for (index, branch) in branches.iter().enumerate() {
        let orphan = branch.parent.is_some_and(|parent| gone[parent]);
        gone[index] = !pairs.taken[index] && (orphan || branch.todo.external_id.is_some());
        let position = last.entry(branch.todo.parent_id).or_insert(branch.todo.position);
        *position = branch.todo.position.max(*position);
    }
    let found = |row: usize| {
        let todo = branches[row].todo;
        let (position, created_at) = (todo.position, todo.created_at);
        Found { id: todo.id, parent_id: todo.parent_id, position, created_at }
    };
    let gone = branches.iter().zip(gone).filter(|(_, gone)| *gone);
    Pairing {
        found: rows.into_iter().map(|row| row.map(found)).collect(),
        gone: gone.map(|(branch, _)| branch.todo.id).collect(),
        last,
    }
}

/// The text of a task in the file, or the text it would have there.
fn key(todo: &Todo) -> Cow<'_, str> {
    let title = || as_one_line(&todo.title);
    todo.external_id.as_deref().map_or_else(title, Cow::Borrowed)
}

/// The text normalised for comparison; most texts are in that form already.
fn as_one_line(text: &str) -> Cow<'_, str> {
    let mut last = ' ';
    let is_plain = text.chars().all(|c| {
        let fits = !c.is_whitespace() || (c == ' ' && last != ' ');
        last = c;
        fits
    });
    if is_plain && last != ' ' { Cow::Borrowed(text) } else { Cow::Owned(normalised(text)) }
}

struct Pairs<'a> {
    tree: &'a Tree<'a>,
    taken: Vec<bool>,
    /// A number for each text in the tree.
    texts: BTreeMap<Cow<'a, str>, usize>,
    /// The tasks by parent and text, in order.
    children: BTreeMap<(Option<usize>, usize), VecDeque<usize>>,
    /// How often a text is in the file, how often in the tree, and where it was last.
    uses: Vec<(usize, usize, usize)>,
}

impl<'a> Pairs<'a> {
    fn new(nodes: &[Flat<'_>], tree: &'a Tree<'a>) -> Self {
        let (mut texts, mut children) = (BTreeMap::new(), BTreeMap::new());
        let mut uses: Vec<(usize, usize, usize)> = Vec::new();
        for (index, branch) in tree.branches().iter().enumerate() {
            let text = *texts.entry(key(branch.todo)).or_insert(uses.len());
            match uses.get_mut(text) {
                Some((_, in_tree, at)) => (*in_tree, *at) = (*in_tree + 1, index),
                None => uses.push((0, 1, index)),
            }
            let siblings: &mut VecDeque<usize> = children.entry((branch.parent, text)).or_default();
            siblings.push_back(index);
        }
        for node in nodes {
            if let Some(text) = texts.get(&node.key) {
                uses[*text].0 += 1;
            }
        }
        Self { tree, taken: vec![false; tree.len()], texts, children, uses }
    }

    /// The task that a node matches; `parent` is its parent's task.
    fn find(&mut self, node: &Flat<'_>, parent: Option<usize>) -> Option<usize> {
        let text = self.texts.get(&node.key).copied();
        let mut child = |parent| {
            let siblings = text.and_then(|text| self.children.get_mut(&(parent, text)));
            siblings.and_then(VecDeque::pop_front)
        };
        if node.parent.is_none() {
            let imported = |at: &usize| self.tree.branches()[*at].todo.external_id.is_some();
            return child(None).or_else(|| self.tree.children(None).find(imported));
        }
        let beside = parent.and_then(|parent| child(Some(parent)));
        beside.or_else(|| text.and_then(|text| self.moved(text)))
    }

    /// The only task with a text that is only once in the file. The root is never moved.
    fn moved(&self, text: usize) -> Option<usize> {
        let (in_file, in_tree, at) = self.uses[text];
        (in_file == 1 && in_tree == 1 && !self.taken[at]).then_some(at)
    }
}
