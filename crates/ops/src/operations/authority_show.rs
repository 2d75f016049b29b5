//! `authority_show`: the authority table, as the rules read it.

use punchlist_core::authority::{Action, rows};
use punchlist_core::{ListKind, Role, TodoKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};

/// Show who may do what: role, kind of list, action.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Only this kind of list; absent: all.
    #[serde(default)]
    pub list: Option<ListKind>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    pub roles: Vec<Role>,
    pub tables: Vec<Table>,
    /// What the cells mean.
    pub legend: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Table {
    pub list: ListKind,
    pub todo_kind: TodoKind,
    pub rows: Vec<Row>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Row {
    pub action: String,
    /// One cell for each role, in the order of `roles`.
    pub cells: Vec<String>,
}

#[derive(Debug)]
pub struct AuthorityShow;

impl Define for AuthorityShow {
    const NAME: &'static str = "authority_show";
    const ACCESS: Access = Access::Everybody;
    const EFFECT: Effect = Effect::Pure;
    const SURFACES: Surfaces = Surfaces { command: &["authority"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"list":"turn"}"#;

    type Input = Input;
    type Output = Output;

    fn run(_: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let tables = ListKind::ALL
            .into_iter()
            .filter(|kind| input.list.is_none_or(|wanted| wanted == *kind))
            .flat_map(|kind| TodoKind::ALL.map(|todo_kind| (kind, todo_kind)))
            .filter(|(kind, todo)| *kind == ListKind::Issue || *todo == TodoKind::Step)
            .map(|(list, todo_kind)| Table { list, todo_kind, rows: table(list, todo_kind) })
            .collect();
        let legend = [
            "yes: allowed",
            "own: allowed on what one owns (its task, pillar or mission)",
            "claim: becomes a claim that somebody with authority accepts or returns",
            "wish: becomes a recommendation; nothing else changes",
            "-: refused",
        ];
        let legend = legend.map(str::to_owned).to_vec();
        Ok(Output { roles: Role::ALL.to_vec(), tables, legend })
    }
}

fn table(list: ListKind, todo: TodoKind) -> Vec<Row> {
    let row = |(action, cells): &(Action, [_; 6])| Row {
        action: action.name().to_owned(),
        cells: cells
            .iter()
            .map(|cell: &punchlist_core::authority::Cell| cell.label().to_owned())
            .collect(),
    };
    rows(list, todo).iter().map(row).collect()
}
