//! `issue`: the issue tracker for agents, one tool with an action (K-59).
//!
//! It only adds and never rewrites (K-55): each action calls the operation with that name.

use punchlist_core::IssueStatus;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::issue::LinkKind;
use punchlist_core::text::{Body, Content, Title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{issue_comment, issue_create, issue_link, issue_list, issue_show, issue_transition};
use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::explain::Fault;
use crate::input::{Cursor, Limit, Maybe, up_to};
use crate::views::IssueView;

/// Use the issue tracker: file what you find, read, comment, move, link. Closing needs a sign-off (checkpoint).
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    pub action: IssueAction,
    /// The issue; all but create and list.
    #[serde(default)]
    pub number: Option<i64>,
    /// create
    #[serde(default)]
    pub title: Maybe<Title>,
    /// create
    #[serde(default)]
    pub body: Maybe<Body>,
    /// create: what must hold when it is done.
    #[serde(default, deserialize_with = "up_to::<100, _, _>")]
    #[schemars(length(max = 100))]
    pub criteria: Option<Vec<Content>>,
    /// create: even if an open one is alike.
    #[serde(default)]
    pub force_new: Option<bool>,
    /// transition; list: only this one.
    #[serde(default)]
    pub status: Option<IssueStatus>,
    /// transition: why.
    #[serde(default)]
    pub reason: Maybe<Body>,
    /// transition: even with open children.
    #[serde(default)]
    pub confirm: Option<bool>,
    /// comment; list: words to look for.
    #[serde(default)]
    pub text: Maybe<Body>,
    /// link
    #[serde(default)]
    pub kind: Option<LinkKind>,
    /// link: the other issue.
    #[serde(default)]
    pub to: Option<i64>,
    /// list
    #[serde(default)]
    pub limit: Limit,
    /// list
    #[serde(default)]
    pub cursor: Cursor<i64>,
}

/// What to do in the tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IssueAction {
    Create,
    View,
    List,
    Comment,
    Transition,
    Link,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueView>,
    /// view: criteria and steps as markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checklist: Option<String>,
    /// view: linked issues, seen from this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<issue_show::LinkView>,
    /// view: comments and decisions, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub updates: Vec<issue_show::UpdateView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issues: Option<Vec<IssueView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

#[derive(Debug)]
pub struct IssueTool;

impl Define for IssueTool {
    const NAME: &'static str = "issue";
    const ACCESS: Access = Access::On(Subject::Issue, Action::View);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces { profiles: &[Profile::Issue], ..Surfaces::CALL };
    const EXAMPLE: &'static str =
        r#"{"action":"create","title":"The cart is empty after a reload"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let missing = |path: &str| Error::from(Fault::MissingField { path: path.to_owned() });
        let number = || input.number.ok_or_else(|| missing("number"));
        let one = |issue: IssueView| Output { issue: Some(issue), ..Output::default() };
        match input.action {
            IssueAction::Create => {
                let new = issue_create::Input {
                    title: input.title.0.clone().ok_or_else(|| missing("title"))?,
                    body: input.body.clone(),
                    criteria: input.criteria.clone(),
                    force_new: input.force_new,
                };
                issue_create::IssueCreate::run(call, &new).map(|made| one(made.issue))
            }
            IssueAction::View => {
                let shown = issue_show::show(call, number()?)?;
                let checklist = Some(shown.checklist);
                let (links, updates) = (shown.links, shown.updates);
                Ok(Output { checklist, links, updates, ..one(shown.issue) })
            }
            IssueAction::List => {
                let text = input.text.0.as_ref().map(|text| Title::new(text.as_str()));
                let text = text.transpose().map_err(|fault| {
                    let (path, found) = ("text".to_owned(), format!("a text that {fault}"));
                    let expected = "at most 500 characters".to_owned();
                    Error::from(Fault::BadValue { path, found, expected })
                })?;
                let text = text.map(|text| crate::input::text("text", text.as_str()));
                let wanted = issue_list::Input {
                    status: input.status,
                    text: Maybe(text.transpose()?),
                    open: None,
                    label: Maybe::default(),
                    assignee: Maybe::default(),
                    waiting: None,
                    limit: input.limit,
                    cursor: input.cursor,
                };
                let issue_list::Output { issues, next_cursor } =
                    issue_list::IssueList::run(call, &wanted)?;
                Ok(Output { issues: Some(issues), next_cursor, ..Output::default() })
            }
            IssueAction::Comment => {
                let text = input.text.0.clone().ok_or_else(|| missing("text"))?;
                let comment = issue_comment::Input { number: number()?, text };
                issue_comment::IssueComment::run(call, &comment).map(|said| one(said.issue))
            }
            IssueAction::Transition => {
                let moving = issue_transition::Input {
                    number: number()?,
                    status: input.status.ok_or_else(|| missing("status"))?,
                    reason: input.reason.clone(),
                    confirm: input.confirm,
                };
                let moved = issue_transition::IssueTransition::run(call, &moving)?;
                Ok(Output { warning: moved.warning, ..one(moved.issue) })
            }
            IssueAction::Link => {
                let link = issue_link::Input {
                    number: number()?,
                    kind: input.kind.ok_or_else(|| missing("kind"))?,
                    to: input.to.ok_or_else(|| missing("to"))?,
                };
                issue_link::IssueLink::run(call, &link).map(|linked| one(linked.issue))
            }
        }
    }
}
