//! What a backup or a restore did, in a line or two.

use serde_json::Value;

use super::{number, text};
use crate::output::{DIM, GREEN, line};

pub(crate) fn render(command: &str, answer: &Value) -> String {
    let events = match number(answer, "events") {
        1 => "1 event".to_owned(),
        n => format!("{n} events"),
    };
    if command == "backup" {
        let (file, bytes) = (text(answer, "file"), number(answer, "bytes"));
        let mut shown = format!("{GREEN}Backed up{GREEN:#} to {file} ({events}, {bytes} bytes).\n");
        for gone in answer["deleted"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let gone = line(gone.as_str().unwrap_or_default());
            shown.push_str(&format!("{DIM}deleted {gone}{DIM:#}\n"));
        }
        return shown;
    }
    let (store, from) = (text(answer, "store"), text(answer, "from"));
    let mut shown = format!("{GREEN}Restored{GREEN:#} {store} from {from} ({events}).\n");
    match answer["lost"].as_i64() {
        Some(0) => {}
        Some(1) => shown.push_str("1 event went that the backup does not have.\n"),
        Some(n) => shown.push_str(&format!("{n} events went that the backup does not have.\n")),
        None => shown.push_str("What went cannot be told: the store could not be read.\n"),
    }
    if let Some(kept) = answer["kept"].as_str() {
        shown.push_str(&format!("{DIM}the store as it was: {}{DIM:#}\n", line(kept)));
    }
    shown
}
