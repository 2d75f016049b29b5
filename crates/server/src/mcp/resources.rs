//! Resources: reads of the catalogue, under the caller's own envelope.
//!
//! If an operation refuses something as unknown, out of reach or not permitted, that resource does
//! not exist for the caller. There is no second rule about who may see what.

use std::fmt::Write as _;

use punchlist_core::Role;
use punchlist_core::gate::GateState;
use punchlist_core::plan::Form;
use punchlist_ops::catalogue::Define;
use punchlist_ops::input::{self, Cursor, Key, Limit, Maybe};
use punchlist_ops::operations::gate_list::{self, GateList};
use punchlist_ops::operations::issue_list::{self, IssueList};
use punchlist_ops::operations::issue_show::{self, IssueShow, LinkView, UpdateView};
use punchlist_ops::operations::mission_list::{self, MissionList};
use punchlist_ops::operations::mission_status::{self, MissionStatus};
use punchlist_ops::operations::plan_list::{self, PlanList};
use punchlist_ops::operations::plan_render::{self, PlanRender};
use punchlist_ops::operations::session_show::{self, SessionShow};
use punchlist_ops::views::{IssueView, OneSession, SessionView};
use punchlist_ops::{DEFAULT_BRANCH, Envelope, Error, Ops};
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde::Serialize;
use serde_json::json;

use super::asker::Asker;
use super::uri::{Address, Thing};

/// How long a client may cache content that does not change while a server runs.
const FIXED_MS: u64 = 3_600_000;
/// The longest address that an error repeats, in characters.
pub(crate) const URI_MAX: usize = 500;
const MARKDOWN: &str = "text/markdown";
const JSON: &str = "application/json";

/// What the operation that reads a thing answers.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Content {
    Issue(Box<issue_show::Output>),
    Plan(plan_render::Output),
    Mission(Box<mission_status::Output>),
    Inbox(gate_list::Output),
    Session(OneSession),
}

/// Reads a thing.
pub(crate) fn read(ops: &Ops, envelope: &Envelope, thing: &Thing) -> Result<Content, Error> {
    Ok(match thing {
        Thing::Issue(number) => {
            let input = issue_show::Input { number: *number };
            Content::Issue(Box::new(ops.run::<IssueShow>(envelope, input)?))
        }
        Thing::Plan { file, branch } => {
            let branch = branch.as_deref().map(|branch| input::text("branch", branch));
            let input = plan_render::Input {
                plan_file: input::text("planFile", file)?,
                branch: Maybe(branch.transpose()?),
                include_archived: None,
                form: Some(Form::Tree),
                budget: None,
            };
            Content::Plan(ops.run::<PlanRender>(envelope, input)?)
        }
        Thing::Mission(slug) => {
            let input = mission_status::Input { mission: slug.as_str().into(), open: None };
            Content::Mission(Box::new(ops.run::<MissionStatus>(envelope, input)?))
        }
        Thing::Inbox => Content::Inbox(ops.run::<GateList>(envelope, open_gates(Limit::MAX))?),
        Thing::Session(id) => {
            let session = Maybe(Some(input::text("session", id)?));
            let input = session_show::Input { session };
            Content::Session(ops.run::<SessionShow>(envelope, input)?)
        }
    })
}

const fn open_gates(limit: Limit) -> gate_list::Input {
    gate_list::Input {
        state: Some(GateState::Open),
        kind: None,
        session: Maybe(None),
        number: None,
        limit,
        cursor: Cursor::FIRST,
    }
}

/// Does this error mean that the thing does not exist for the caller?
pub(crate) fn is_absent(error: &Error) -> bool {
    matches!(error.meaning().http, 400 | 403 | 404)
}

/// What was read, or `None` if the caller does not reach it. Then a list is without it.
fn reached<T>(read: Result<T, Error>) -> Result<Option<T>, Error> {
    match read {
        Err(error) if matches!(error.meaning().http, 403 | 404) => Ok(None),
        read => read.map(Some),
    }
}

/// The answer to `resources/read`. A reader of the ledger must see the latest writes (P-15), so
/// nothing is cached.
pub(crate) async fn resource(asker: &Asker, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let Some(address) = Address::parse(uri) else { return Err(not_found(uri, None)) };
    let (thing, envelope) = (address.thing.clone(), asker.reading(&address.project));
    let read = asker.run(envelope, move |ops, envelope| read(ops, envelope, &thing)).await;
    let content = read.map_err(|error| match error.meaning().http {
        400 | 403 | 404 => not_found(uri, Some(&error)),
        _ => refused_or_failed(&error),
    })?;
    let (kind, text) = shown(&content);
    let contents = ResourceContents::text(text, uri).with_mime_type(kind);
    Ok(ReadResourceResult::new(vec![contents]).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
}

pub(crate) fn not_found(uri: &str, why: Option<&Error>) -> ErrorData {
    // The address in the request may have any length.
    let uri: String = uri.chars().take(URI_MAX).collect();
    let data = match why {
        None => json!({ "uri": uri, "expected": templates().map(|(uri, ..)| uri) }),
        Some(error) => {
            let mut data = error.to_json();
            data["uri"] = json!(uri);
            data
        }
    };
    let message = match why {
        None => format!("there is no resource `{uri}`"),
        Some(error) => format!("there is no resource `{uri}`: {error}"),
    };
    ErrorData::resource_not_found(message, Some(data))
}

/// An error of the caller, such as a revoked token.
pub(crate) fn refused(error: &Error) -> ErrorData {
    ErrorData::invalid_request(error.to_string(), Some(error.to_json()))
}

/// The error of a caller without a valid token, or one that the request did not cause.
pub(crate) fn refused_or_failed(error: &Error) -> ErrorData {
    if error.meaning().http == 401 { refused(error) } else { failed(error) }
}

/// An error that the request did not cause, such as an unreachable store.
pub(crate) fn failed(error: &Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), Some(error.to_json()))
}

/// The text of a resource, and its type.
fn shown(content: &Content) -> (&'static str, String) {
    match content {
        Content::Issue(shown) => (MARKDOWN, issue(shown)),
        Content::Plan(plan) => (MARKDOWN, plan.markdown.clone()),
        Content::Mission(_) | Content::Inbox(_) | Content::Session(_) => {
            (JSON, format!("{:#}", json!(content)))
        }
    }
}

/// An issue as a page of text: its description, its checklist and its comments.
fn issue(shown: &issue_show::Output) -> String {
    let issue = &shown.issue;
    let mut text = format!("# #{} {}\n\n", issue.number, issue.title);
    let _ = write!(text, "{} · revision {}", issue.status.name(), issue.revision);
    match shown.progress.as_str() {
        "" => text.push('\n'),
        progress => drop(writeln!(text, " · {progress}")),
    }
    for part in [&issue.body, &shown.checklist] {
        if !part.trim().is_empty() {
            let _ = write!(text, "\n{}\n", part.trim_end());
        }
    }
    let link = |link: &LinkView| format!("- {} #{} {}", link.kind, link.number, link.title);
    let update = |update: &UpdateView| format!("- {}: {}", update.kind.name(), update.text);
    let links: Vec<String> = shown.links.iter().map(link).collect();
    let updates: Vec<String> = shown.updates.iter().map(update).collect();
    for (title, lines) in [("Links", links), ("Updates", updates)] {
        if !lines.is_empty() {
            let _ = write!(text, "\n## {title}\n\n{}\n", lines.join("\n"));
        }
    }
    text
}

/// Address, name, description and type.
type Template = (&'static str, &'static str, &'static str, &'static str);

/// The kinds of resources.
const fn templates() -> [Template; 5] {
    [
        (
            "punchlist://{project}/issue/{number}",
            "issue",
            "An issue: criteria, steps, links, what was said",
            MARKDOWN,
        ),
        (
            "punchlist://{project}/plan/{+file}",
            "plan",
            "A plan as a tree, with the current task marked",
            MARKDOWN,
        ),
        (
            "punchlist://{project}/mission/{slug}",
            "mission",
            "A mission: pillars, metrics, review queue",
            JSON,
        ),
        ("punchlist://{project}/inbox", "inbox", "What waits for the operator", JSON),
        ("punchlist://{project}/session/{id}", "session", "A session and its issue", JSON),
    ]
}

/// The templates that a role may read at all.
fn readable(role: Role) -> impl Iterator<Item = Template> {
    templates().into_iter().filter(move |(_, name, ..)| {
        let access = match *name {
            "issue" => IssueShow::ACCESS,
            "plan" => PlanRender::ACCESS,
            "mission" => MissionStatus::ACCESS,
            "inbox" => GateList::ACCESS,
            _ => SessionShow::ACCESS,
        };
        access.allows(role)
    })
}

pub(crate) fn listed_templates(role: Role) -> ListResourceTemplatesResult {
    let template = |(uri, name, about, kind)| {
        ResourceTemplate::new(uri, name).with_description(about).with_mime_type(kind)
    };
    ListResourceTemplatesResult::with_all_items(readable(role).map(template).collect())
        .with_ttl_ms(FIXED_MS)
        .with_cache_scope(CacheScope::Private)
}

/// The cursor of a request. Clients that have none may send an empty one.
pub(crate) fn given(cursor: Option<&str>) -> Option<&str> {
    cursor.filter(|cursor| !cursor.is_empty())
}

pub(crate) fn wrong_cursor() -> ErrorData {
    ErrorData::invalid_params("the cursor is not one of this server's", None)
}

/// The answer to `resources/list`: the resources of the caller's project that it may see. The open
/// issues are paged; everything else is on the first page.
pub(crate) async fn listed(
    asker: &Asker,
    cursor: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let cursor = match given(cursor.as_deref()).map(<i64 as Key>::parse) {
        None => Cursor::FIRST,
        Some(Some(number)) => Cursor(Some(number)),
        Some(None) => {
            return Err(wrong_cursor());
        }
    };
    if asker.project().is_empty() {
        return Ok(ListResourcesResult::with_all_items(Vec::new()));
    }
    let page = move |ops: &Ops, envelope: &Envelope| Listing { ops, envelope }.page(cursor);
    let envelope = asker.reading(asker.project());
    let page = asker.run(envelope, page).await;
    let (resources, next) = page.map_err(|error| refused_or_failed(&error))?;
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = next.map(|next| next.to_string());
    Ok(result.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
}

/// The first page, as the caller in the envelope sees it.
pub(crate) fn first_page(ops: &Ops, envelope: &Envelope) -> Result<Vec<Resource>, Error> {
    Ok(Listing { ops, envelope }.page(Cursor::FIRST)?.0)
}

struct Listing<'a> {
    ops: &'a Ops,
    envelope: &'a Envelope,
}

impl Listing<'_> {
    fn page(&self, cursor: Cursor<i64>) -> Result<(Vec<Resource>, Option<i64>), Error> {
        let kinds: Vec<_> = readable(self.envelope.actor.role).map(|(_, name, ..)| name).collect();
        let mut resources = Vec::new();
        if cursor == Cursor::FIRST {
            if kinds.contains(&"inbox") && self.has_inbox()? {
                resources.push(self.resource(Thing::Inbox, "inbox", JSON));
            }
            if kinds.contains(&"session")
                && let Some(session) = own_session(self.ops, self.envelope)?
            {
                let title = format!("this session: {}", session.title);
                resources.push(self.resource(Thing::Session(session.id), &title, JSON));
            }
            if kinds.contains(&"plan") {
                let input = plan_list::Input::MOST;
                let plans = reached(self.ops.run::<PlanList>(self.envelope, input))?;
                let plans = plans.map_or_else(Vec::new, |list| list.plans);
                resources.extend(plans.into_iter().map(|plan| {
                    let here = self.envelope.context.branch.as_deref();
                    let is_here = here.unwrap_or(DEFAULT_BRANCH) == plan.branch;
                    let title = format!("plan {}", plan.plan_file);
                    let branch = (!is_here).then_some(plan.branch);
                    self.resource(Thing::Plan { file: plan.plan_file, branch }, &title, MARKDOWN)
                }));
            }
            if kinds.contains(&"mission") {
                let input = mission_list::Input::MOST;
                let missions = reached(self.ops.run::<MissionList>(self.envelope, input))?;
                let missions = missions.map_or_else(Vec::new, |list| list.missions);
                resources.extend(missions.into_iter().map(|mission| {
                    self.resource(Thing::Mission(mission.slug), &mission.name, JSON)
                }));
            }
        }
        if !kinds.contains(&"issue") {
            return Ok((resources, None));
        }
        let input = issue_list::Input::open(Limit::default(), cursor);
        let (issues, next) = match reached(self.ops.run::<IssueList>(self.envelope, input))? {
            Some(page) => (page.issues, page.next_cursor),
            None => (self.own_issue()?.into_iter().collect(), None),
        };
        resources.extend(issues.iter().map(|issue| {
            let title = format!("#{} {}", issue.number, issue.title);
            self.resource(Thing::Issue(issue.number), &title, MARKDOWN)
        }));
        Ok((resources, next))
    }

    /// The issue of a caller that reaches only this one.
    fn own_issue(&self) -> Result<Option<IssueView>, Error> {
        let Some(number) = self.envelope.actor.reach.number else { return Ok(None) };
        let shown =
            reached(self.ops.run::<IssueShow>(self.envelope, issue_show::Input { number }))?;
        Ok(shown.map(|shown| shown.issue))
    }

    /// Does the caller reach the inbox?
    fn has_inbox(&self) -> Result<bool, Error> {
        let first = open_gates(Limit::of(1));
        Ok(reached(self.ops.run::<GateList>(self.envelope, first))?.is_some())
    }

    fn resource(&self, thing: Thing, title: &str, kind: &str) -> Resource {
        let uri = Address::new(&self.envelope.project, thing).to_string();
        let title: String = title.chars().take(200).collect();
        Resource::new(uri, title.clone()).with_description(title).with_mime_type(kind)
    }
}

/// The caller's session, if it has one.
pub(crate) fn own_session(ops: &Ops, envelope: &Envelope) -> Result<Option<SessionView>, Error> {
    let input = session_show::Input { session: Maybe(None) };
    match ops.run::<SessionShow>(envelope, input) {
        Ok(shown) => Ok(Some(shown.session)),
        Err(error) if error.meaning().http < 500 => Ok(None),
        Err(error) => Err(error),
    }
}
