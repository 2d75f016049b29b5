//! What a backup or a restore did, in a line or two.

use std::path::Path;

use punchlist_ops::care::BackedUp;
use punchlist_store::care::Restored;

use crate::output::{DIM, GREEN, line};

pub(crate) fn backed_up(done: &BackedUp) -> String {
    let (file, bytes) = (path(&done.backup.file), done.backup.bytes);
    let events = counted(done.backup.events);
    let mut shown = format!("{GREEN}Backed up{GREEN:#} to {file} ({events}, {bytes} bytes).\n");
    for gone in &done.deleted {
        shown.push_str(&format!("{DIM}deleted {}{DIM:#}\n", path(gone)));
    }
    shown
}

pub(crate) fn restored(done: &Restored) -> String {
    let (store, from, events) = (path(&done.store), path(&done.from), counted(done.events));
    let mut shown = format!("{GREEN}Restored{GREEN:#} {store} from {from} ({events}).\n");
    match done.lost {
        Some(0) => {}
        Some(1) => shown.push_str("1 event went that the backup does not have.\n"),
        Some(n) => shown.push_str(&format!("{n} events went that the backup does not have.\n")),
        None => shown.push_str("It is not known what went: the store could not be read.\n"),
    }
    if let Some(kept) = &done.kept {
        shown.push_str(&format!("{DIM}the store as it was: {}{DIM:#}\n", path(kept)));
    }
    shown
}

fn counted(events: i64) -> String {
    if events == 1 { "1 event".to_owned() } else { format!("{events} events") }
}

fn path(path: &Path) -> String {
    line(&path.display().to_string())
}
