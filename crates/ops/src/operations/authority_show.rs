//! `authority_show`: the authority table that the rules use.

use std::borrow::Cow;

use punchlist_core::authority::{Action, Cell, Subject, rows_of};
use punchlist_core::{ListKind, Role, TodoKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};

/// Show who may do what: role, subject, action.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Only this kind of list; absent: everything.
    #[serde(default)]
    pub list: Option<ListKind>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub roles: Vec<Role>,
    pub tables: Vec<Table>,
    /// What the cells mean.
    pub legend: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Table {
    /// The subject of the actions.
    pub subject: String,
    /// For items: the kind of their list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<ListKind>,
    /// For items: their kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo_kind: Option<TodoKind>,
    /// What `own` or `granted` means here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own: Option<Cow<'static, str>>,
    pub rows: Vec<Row>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    pub action: String,
    /// One cell for each role, in the order of `roles`.
    pub cells: Vec<String>,
}

#[derive(Debug)]
pub struct AuthorityShow;

impl Define for AuthorityShow {
    const NAME: &'static str = "authority_show";
    const ACCESS: Access = Access::On(Subject::Project, Action::View);
    const EFFECT: Effect = Effect::Pure;
    const SURFACES: Surfaces = Surfaces { command: &["authority"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"list":"turn"}"#;

    type Input = Input;
    type Output = Output;

    fn run(_: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let shown = |table: &Table| input.list.is_none() || input.list == table.list;
        let tables = Subject::ALL.into_iter().map(table).filter(shown).collect();
        let legend = [
            "yes: allowed",
            "own: allowed on what one owns, as each table says",
            "granted: allowed where the operator granted it",
            "claim: becomes a claim that somebody with authority accepts or returns",
            "wish: becomes a recommendation; nothing else changes",
            "-: refused",
        ];
        let legend = legend.map(str::to_owned).to_vec();
        Ok(Output { roles: Role::ALL.to_vec(), tables, legend })
    }
}

fn table(subject: Subject) -> Table {
    let (list, todo_kind) = match subject {
        Subject::Todo(list, kind) => (Some(list), Some(kind)),
        _ => (None, None),
    };
    let row = |(action, cells): &(Action, [Cell; 6])| Row {
        action: action.name().to_owned(),
        cells: cells.iter().map(|cell| cell.label().to_owned()).collect(),
    };
    Table {
        subject: subject.name().to_owned(),
        list,
        todo_kind,
        own: subject.own_means().map(Cow::Borrowed),
        rows: rows_of(subject).iter().map(row).collect(),
    }
}
