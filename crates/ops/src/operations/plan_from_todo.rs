//! `plan_from_todo`: create a plan from one line of a backlog file.

use punchlist_core::ListKind;
use punchlist_core::Refusal;
use punchlist_core::authority::Action;
use punchlist_core::command::ImportPlan;
use punchlist_core::plan::{
    Origin, PlanFault, TODO_FILE, TodoLine, opening, parse, pick, plan_file_for,
};
use punchlist_core::text::{Content, TextFault, Title};
use punchlist_store::Load;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::explain::Fault;
use crate::input::Maybe;
use crate::views::{PlanView, TaskView};
use crate::{Envelope, Error};

/// Create a plan from a line of TODO.md: the line becomes the root task, and the plan remembers it.
/// The file is not changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The line: its number, its text, or a part of it.
    pub item: Title,
    /// The file's current text.
    pub markdown: String,
    /// The file's name; absent: TODO.md.
    #[serde(default)]
    pub file: Maybe<Title>,
    /// The plan's file; absent: docs/plans/ and a name derived from the line.
    #[serde(default)]
    #[schemars(with = "Maybe<crate::input::PlanFile>")]
    pub plan_file: Maybe<Title>,
    /// Its branch; absent: the caller's, else main.
    #[serde(default)]
    pub branch: Maybe<Title>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Where the plan's file goes.
    pub plan_file: String,
    pub file: String,
    /// The number of the line.
    pub line_number: usize,
    pub line: String,
    pub tasks: Vec<TaskView>,
    pub current: Option<TaskView>,
}

#[derive(Debug)]
pub struct PlanFromTodo;

impl Define for PlanFromTodo {
    const NAME: &'static str = "plan_from_todo";
    const ACCESS: Access = Access::List(ListKind::Plan, &[Action::Import]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str =
        r##"{"item":"Add authentication","markdown":"# Next\n- [ ] Add authentication\n"}"##;

    type Input = Input;
    type Output = Output;

    /// The item is looked up in the markdown, which is another field.
    fn check(_: &Envelope, input: &Input) -> Result<(), Error> {
        content(&meant(input)?).map(|_| ())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let line = meant(input)?;
        let file = name(input).to_owned();
        let origin = Origin { file: file.clone(), line: line.line.to_owned() };
        let plan_file = match &input.plan_file.0 {
            Some(named) => named.as_str().to_owned(),
            None => plan_file_for(line.content),
        };
        let named = Title::new(&plan_file).map_err(|fault| bad("planFile", fault))?;
        let scope = call.plan(&named, input.branch.0.as_ref());
        let mut snapshot = call.open(scope, Load::All)?;
        let seq = call.tx().last_seq()? + 1;
        let command = opening(&snapshot, &plan_file, content(&line)?, &origin, seq)?;
        call.decide(&mut snapshot, command)?;
        // The checkboxes below the line become its tasks.
        if let Some(below) = boxes_below(&input.markdown, line.number) {
            let bad = |fault: PlanFault| Error::from(Refusal::BadPlan { fault: fault.to_string() });
            let root = parse(&format!("# {}\n\n{below}", line.content), "plan").map_err(bad)?.root;
            let next_seq = call.tx().last_seq()? + 1;
            call.decide(&mut snapshot, ImportPlan { root, next_seq })?;
        }
        let PlanView { tasks, current, .. } = PlanView::of(call, &snapshot)?;
        let (line_number, line) = (line.number, origin.line);
        Ok(Output { plan_file, file, line_number, line, tasks, current })
    }
}

/// The lines indented below a line, without that indentation; `None` if there are none.
fn boxes_below(markdown: &str, number: usize) -> Option<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = markdown.lines().skip(number.checked_sub(1)?);
    let own = indent(lines.next()?);
    let block: Vec<&str> =
        lines.take_while(|line| line.trim().is_empty() || indent(line) > own).collect();
    let deepest = block.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line));
    let cut = deepest.min()?;
    let lines = block.iter().map(|line| format!("{}\n", line.get(cut..).unwrap_or_default()));
    Some(lines.collect())
}

fn name(input: &Input) -> &str {
    input.file.0.as_ref().map_or(TODO_FILE, Title::as_str)
}

fn meant(input: &Input) -> Result<TodoLine<'_>, Error> {
    Ok(pick(&input.markdown, name(input), input.item.as_str())?)
}

fn content(line: &TodoLine<'_>) -> Result<Content, Error> {
    Content::new(line.content).map_err(|fault| bad("markdown", fault))
}

fn bad(path: &str, fault: TextFault) -> Error {
    let (found, expected) = (format!("a line that {fault}"), "the text of a task".to_owned());
    Fault::BadValue { path: path.to_owned(), found, expected }.into()
}
