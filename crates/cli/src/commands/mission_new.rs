//! `punch mission new`: asks a person for a mission, shows the file it makes, and writes it.
//!
//! Nothing is written before the last question, so that a person who stops early leaves nothing
//! behind.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Command;
use punchlist_core::metric::{Figure, MetricKind};
use punchlist_core::mission::{cadence, slug_of};
use punchlist_core::text::{Body, Title, yes_or_no};
use serde_json::{Map, Value, json};

use super::{mission_init, prompt};
use crate::args::Globals;
use crate::failure::Failure;
use crate::output;

/// The default name of the file.
const FILE: &str = "mission.json";

/// An answer; `None` if the person stopped.
type Said<T> = Result<Option<T>, Failure>;

/// Unwraps an answer, or returns `None`.
macro_rules! said {
    ($asked:expr) => {
        match $asked? {
            Some(said) => said,
            None => return Ok(None),
        }
    };
}

/// Cadences as people say them.
const CADENCES: [(&str, &str); 4] = [
    ("every Monday at 9:00", "0 9 * * 1"),
    ("every weekday at 9:00", "0 9 * * 1-5"),
    ("every day at 9:00", "0 9 * * *"),
    ("on the first of every month at 9:00", "0 9 1 * *"),
];

pub(super) fn command() -> Command {
    Command::new("new").about("Create a mission file by answering questions").long_about(
        "Create a mission file by answering questions. Nothing is written before the \
             last question.",
    )
}

pub(super) fn run(globals: &Globals) -> Result<(), Failure> {
    if !output::is_interactive() || globals.json || globals.compact {
        let message = "there is no terminal to ask at".to_owned();
        let hint = "write the file yourself and give it to `punch mission init FILE`; \
                    `punch mission schema` describes it";
        return Err(Failure::Usage { message, hint: Some(hint.to_owned()) });
    }
    output::print("Press Enter to accept the value in [brackets], Ctrl-C to leave.\n\n")?;
    let Some((file, text)) = interview()? else {
        output::print("Nothing was written.\n")?;
        return Err(Failure::Shown(1));
    };
    let name = file.display().to_string();
    output::print(&format!("Wrote {}.\n", output::line(&name)))?;
    if !prompt::yes_unless_no("Make the mission now? [Y/n] ")? {
        let next = format!("`punch mission init {}` makes it.\n", output::line(&name));
        return Ok(output::print(&next)?);
    }
    mission_init::init(globals, &name, text.into_bytes(), &file)
}

/// All questions, the file shown, and then written.
fn interview() -> Said<(PathBuf, String)> {
    let mut mission = Map::new();
    let mut taken = Vec::new();
    mission
        .insert("name".to_owned(), said!(name("What is the mission called? ", &mut taken)).into());
    put(&mut mission, "description", said!(body("What is it after? [nothing] ")));
    let when = said!(when());
    mission.extend(when.map(|when| ("cadence".to_owned(), when)));
    let active = said!(limit("How many todos may be active at once? [10] ", 10));
    let backlog = said!(limit("How many may wait in the backlog? [50] ", 50));
    let todo = json!({ "activeTodoLimit": active, "backlogTodoLimit": backlog });
    mission.insert("todo".to_owned(), todo);
    mission.insert("pillars".to_owned(), said!(pillars()).into());
    let text = format!("{:#}\n", Value::Object(mission));
    output::print(&format!("\n{}\n", output::clean(&text)))?;
    let file = said!(write(&text));
    Ok(Some((file, text)))
}

fn pillars() -> Said<Vec<Value>> {
    let (mut pillars, mut taken, mut metrics) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let question = match pillars.len() {
            0 => "\nIts first pillar? [none] ".to_owned(),
            n => format!("\nPillar {}? [no more] ", n + 1),
        };
        let Some(called) = said!(name_or_none(&question, &mut taken)) else {
            return Ok(Some(pillars));
        };
        let mut pillar = Map::from_iter([("name".to_owned(), Value::from(called))]);
        put(&mut pillar, "description", said!(body("  Its goals? [none] ")));
        let measured = said!(measures(&mut metrics));
        if !measured.is_empty() {
            pillar.insert("metrics".to_owned(), measured.into());
        }
        pillars.push(Value::Object(pillar));
    }
}

/// The metrics of one pillar; their slugs are unique in the mission.
fn measures(taken: &mut Vec<String>) -> Said<Vec<Value>> {
    let mut metrics = Vec::new();
    loop {
        let question = match metrics.len() {
            0 => "  What is it measured by? [nothing] ",
            _ => "  Another metric? [no more] ",
        };
        let Some(called) = said!(name_or_none(question, taken)) else {
            return Ok(Some(metrics));
        };
        let mut metric = Map::from_iter([("name".to_owned(), Value::from(called))]);
        let kinds = MetricKind::ALL.map(MetricKind::name);
        let question = format!("    Of which type? {} [numeric] ", kinds.join(", "));
        let kind = said!(until(&question, |said| match said {
            "" => Ok("numeric"),
            said => {
                let found = kinds.into_iter().find(|kind| *kind == said.to_lowercase());
                found.ok_or_else(|| format!("Give one of {}.", kinds.join(", ")))
            }
        }));
        metric.insert("type".to_owned(), kind.into());
        let unit = if kind == "duration" { Some("s") } else { None };
        let question = format!("    In which unit? [{}] ", unit.unwrap_or("none"));
        let given = said!(until(&question, |said| match said {
            "" => Ok(unit.map(str::to_owned)),
            said => title(said).map(Some),
        }));
        put(&mut metric, "unit", given);
        let target = said!(until("    Its target, e.g. < 60? [none] ", target));
        metric.extend(target.map(|target| ("target".to_owned(), target)));
        metrics.push(Value::Object(metric));
    }
}

/// `< 60`: an operator and a figure.
fn target(said: &str) -> Result<Option<Value>, String> {
    if said.is_empty() {
        return Ok(None);
    }
    let wrong = || "Give <, <=, >, >= or = and a number, e.g. < 60.".to_owned();
    let split = said.find(|c: char| !"<>=".contains(c)).unwrap_or(said.len());
    let (operator, value) = (&said[..split], said[split..].trim());
    let operator = match operator {
        "<" | "<=" | ">" | ">=" | "=" => operator,
        "==" => "=",
        _ => return Err(wrong()),
    };
    let value: Value = serde_json::from_str(value).map_err(|_| wrong())?;
    value.as_f64().and_then(Figure::new).ok_or_else(wrong)?;
    Ok(Some(json!({ "operator": operator, "value": value })))
}

/// The cadence and its time zone; `None` means only on request.
fn when() -> Said<Option<Value>> {
    output::print("When does it plan?\n")?;
    for (n, (words, _)) in CADENCES.iter().enumerate() {
        output::print(&format!("  {}. {words}\n", n + 1))?;
    }
    let (own, never) = (CADENCES.len() + 1, CADENCES.len() + 2);
    output::print(&format!("  {own}. by a cron expression\n  {never}. only when you say so\n"))?;
    let chosen = said!(until(&format!("Which? [1-{never}, 1] "), |said| {
        let number = if said.is_empty() { Some(1) } else { said.parse::<usize>().ok() };
        let number = number.filter(|number| (1..=never).contains(number));
        number.ok_or_else(|| format!("Give a number from 1 to {never}."))
    }));
    if chosen == never {
        return Ok(Some(None));
    }
    let cron = match CADENCES.get(chosen - 1) {
        Some((_, cron)) => (*cron).to_owned(),
        None => said!(until("Minute, hour, day, month, weekday, e.g. 0 9 * * 1? ", |said| {
            cadence::check(said).map(|_| said.to_owned())
        })),
    };
    let zone = said!(until("In which time zone, e.g. Europe/Berlin? [UTC] ", |said| {
        let zone = if said.is_empty() { "UTC" } else { said };
        match cadence::time_zone(zone) {
            Some(_) => Ok(zone.to_owned()),
            None => Err("There is no such time zone; names are like Europe/Berlin.".to_owned()),
        }
    }));
    Ok(Some(Some(json!({ "cron": cron, "timezone": zone }))))
}

/// Asks until the answer is valid, and shows what is wrong with it.
fn until<T>(question: &str, read: impl Fn(&str) -> Result<T, String>) -> Said<T> {
    loop {
        let Some(said) = prompt::ask(question)? else { return Ok(None) };
        match read(&said) {
            Ok(read) => return Ok(Some(read)),
            Err(wrong) => output::print(&format!("{}\n", output::line(&wrong)))?,
        }
    }
}

/// A name with a slug that is not taken.
fn name(question: &str, taken: &mut Vec<String>) -> Said<String> {
    loop {
        match said!(name_or_none(question, taken)) {
            Some(name) => return Ok(Some(name)),
            None => output::print("It needs a name.\n")?,
        }
    }
}

fn name_or_none(question: &str, taken: &mut Vec<String>) -> Said<Option<String>> {
    let read = until(question, |said| {
        if said.is_empty() {
            return Ok(None);
        }
        let name = title(said)?;
        match slug_of(&name) {
            None => Err("A name needs a letter or a digit.".to_owned()),
            Some(slug) if taken.contains(&slug) => Err(format!("There is a `{slug}` already.")),
            Some(slug) => Ok(Some((name, slug))),
        }
    });
    let named = said!(read).map(|(name, slug)| {
        taken.push(slug);
        name
    });
    Ok(Some(named))
}

fn title(said: &str) -> Result<String, String> {
    Title::new(said).map(Title::into_string).map_err(|fault| fault.to_string())
}

fn body(question: &str) -> Said<Option<String>> {
    until(question, |said| match said {
        "" => Ok(None),
        said => {
            let read = Body::new(said).map(|body| Some(body.as_str().to_owned()));
            read.map_err(|fault| fault.to_string())
        }
    })
}

fn limit(question: &str, default: u32) -> Said<u32> {
    until(question, |said| match said {
        "" => Ok(default),
        said => said.parse().map_err(|_| "Give a whole number.".to_owned()),
    })
}

fn put(fields: &mut Map<String, Value>, name: &str, said: Option<String>) {
    fields.extend(said.map(|said| (name.to_owned(), said.into())));
}

/// Writes the file where the person wants it, completely or not at all. It asks before it
/// overwrites a file.
fn write(text: &str) -> Said<PathBuf> {
    loop {
        let said = said!(prompt::ask(&format!("Write it to which file? [{FILE}] ")));
        let file = PathBuf::from(if said.is_empty() { FILE } else { &said });
        let shown = output::line(&file.display().to_string());
        let there = file.symlink_metadata().is_ok();
        if there {
            let replace = said!(prompt::ask(&format!("{shown} exists. Replace it? [y/N] ")));
            if yes_or_no(&replace) != Some(true) {
                continue;
            }
        }
        match put_down(&file, text, there) {
            Ok(()) => return Ok(Some(file)),
            Err(error) => output::print(&format!("{shown}: {error}\n"))?,
        }
    }
}

fn put_down(file: &Path, text: &str, replace: bool) -> std::io::Result<()> {
    if !replace {
        let mut made = File::options().write(true).create_new(true).open(file)?;
        let written = made.write_all(text.as_bytes()).and_then(|()| made.sync_all());
        if written.is_err() {
            drop(std::fs::remove_file(file));
        }
        return written;
    }
    // Writes the target of a link, so that the link stays.
    let file = std::fs::canonicalize(file)?;
    let mut beside = tempfile::NamedTempFile::new_in(file.parent().unwrap_or(Path::new(".")))?;
    beside.write_all(text.as_bytes())?;
    beside.as_file().set_permissions(file.metadata()?.permissions())?;
    beside.as_file().sync_all()?;
    beside.persist(&file).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_an_operator_and_a_number() {
        assert_eq!(target(""), Ok(None));
        assert_eq!(target("< 60"), Ok(Some(json!({ "operator": "<", "value": 60 }))));
        assert_eq!(target(">=99.5"), Ok(Some(json!({ "operator": ">=", "value": 99.5 }))));
        assert_eq!(target("== 1"), Ok(Some(json!({ "operator": "=", "value": 1 }))));
        for wrong in ["60", "<", "<> 1", "< x", "< \"1\"", "under 60", "< 1e999", "< []"] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_cadence_on_offer_reads() {
        for (words, cron) in CADENCES {
            assert!(cadence::check(cron).is_ok(), "{words}");
        }
    }
}
