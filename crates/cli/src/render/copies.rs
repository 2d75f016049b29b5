//! What a backup or a restore did, in a line or two.

use std::path::Path;

use punchlist_core::text::counted;
use punchlist_ops::care::BackedUp;
use punchlist_store::care::Restored;

use crate::output::{DIM, GREEN, line};

pub(crate) fn backed_up(done: &BackedUp) -> String {
    let (file, bytes) = (path(&done.backup.file), done.backup.bytes);
    let events = counted(done.backup.events, "event", "events");
    let mut shown = format!("{GREEN}Backed up{GREEN:#} to {file} ({events}, {bytes} bytes).\n");
    for gone in &done.deleted {
        shown.push_str(&format!("{DIM}deleted {}{DIM:#}\n", path(gone)));
    }
    shown
}

pub(crate) fn restored(done: &Restored) -> String {
    let (store, from) = (path(&done.store), path(&done.from));
    let events = counted(done.events, "event", "events");
    let mut shown = format!("{GREEN}Restored{GREEN:#} {store} from {from} ({events}).\n");
    match done.lost {
        Some(0) => {}
        Some(n) => {
            let lost = counted(n, "event was", "events were");
            shown.push_str(&format!("{lost} written after the backup and lost.\n"));
        }
        None => {
            shown.push_str("The number of lost events is unknown: the store could not be read.\n");
        }
    }
    if let Some(kept) = &done.kept {
        shown.push_str(&format!("{DIM}the store as it was: {}{DIM:#}\n", path(kept)));
    }
    shown
}

fn path(path: &Path) -> String {
    line(&path.display().to_string())
}
