//! Resources: reads of the catalogue, under the caller's own envelope.
//!
//! If an operation refuses something as unknown, out of reach or not permitted, that resource does
//! not exist for the caller. There is no second rule about who may see what.

use std::fmt::Write as _;

use punchlist_core::Role;
use punchlist_ops::catalogue::find;
use punchlist_ops::{DEFAULT_BRANCH, Envelope, Error, Ops};
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde_json::{Value, json};

use super::asker::Asker;
use super::uri::{Address, Thing};

/// How long a client may cache content that does not change while a server runs.
const FIXED_MS: u64 = 3_600_000;
/// The longest address that an error repeats, in characters.
pub(crate) const URI_MAX: usize = 500;
const MARKDOWN: &str = "text/markdown";
const JSON: &str = "application/json";

/// The operation that reads a thing, and its input.
fn read_of(thing: &Thing) -> (&'static str, Value) {
    match thing {
        Thing::Issue(number) => ("issue_show", json!({ "number": number })),
        Thing::Plan { file, branch } => {
            let mut input = json!({ "planFile": file, "form": "tree" });
            if let Some(branch) = branch {
                input["branch"] = json!(branch);
            }
            ("plan_render", input)
        }
        Thing::Mission(slug) => ("mission_status", json!({ "mission": slug })),
        Thing::Inbox => ("gate_list", json!({ "state": "open" })),
        Thing::Session(id) => ("session_show", json!({ "session": id })),
    }
}

/// Reads a thing. Returns the operation's answer as JSON.
pub(crate) fn read(ops: &Ops, envelope: &Envelope, thing: &Thing) -> Result<Value, Error> {
    let (operation, input) = read_of(thing);
    ops.call(find(operation)?, envelope, input)
}

/// Does this error mean that the thing does not exist for the caller?
pub(crate) fn is_absent(error: &Error) -> bool {
    matches!(error.meaning().http, 400 | 403 | 404)
}

/// Does the caller not reach what it asks for? Then a list is without it.
fn is_refused(error: &Error) -> bool {
    matches!(error.meaning().http, 403 | 404)
}

/// The answer to `resources/read`. A reader of the ledger must see the latest writes (P-15), so
/// nothing is cached.
pub(crate) async fn resource(asker: &Asker, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let Some(address) = Address::parse(uri) else { return Err(not_found(uri, None)) };
    let (thing, envelope) = (address.thing.clone(), asker.reading(&address.project));
    let read = asker.run(envelope, move |ops, envelope| read(ops, envelope, &thing)).await;
    let output = read.map_err(|error| match is_absent(&error) {
        true => not_found(uri, Some(&error)),
        false => failed(&error),
    })?;
    let (kind, text) = shown(&address.thing, &output);
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

/// An error that the request did not cause, such as an unreachable store.
pub(crate) fn failed(error: &Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), Some(error.to_json()))
}

/// The text of a resource, and its type.
fn shown(thing: &Thing, output: &Value) -> (&'static str, String) {
    match thing {
        Thing::Issue(_) => (MARKDOWN, issue(output)),
        Thing::Plan { .. } => {
            (MARKDOWN, output["markdown"].as_str().unwrap_or_default().to_owned())
        }
        Thing::Mission(_) | Thing::Inbox | Thing::Session(_) => (JSON, format!("{output:#}")),
    }
}

/// An issue as a page of text: its description, its checklist and its comments.
fn issue(output: &Value) -> String {
    let of = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let issue = &output["issue"];
    let mut text = format!("# #{} {}\n\n", issue["number"], of(issue, "title"));
    let _ = write!(text, "{} · revision {}", of(issue, "status"), issue["revision"]);
    match of(output, "progress").as_str() {
        "" => text.push('\n'),
        progress => drop(writeln!(text, " · {progress}")),
    }
    for part in [of(issue, "body"), of(output, "checklist")] {
        if !part.trim().is_empty() {
            let _ = write!(text, "\n{}\n", part.trim_end());
        }
    }
    let lines = |name: &str, line: &dyn Fn(&Value) -> String| {
        let items = output[name].as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().map(line).collect::<Vec<_>>()
    };
    let link =
        |link: &Value| format!("- {} #{} {}", of(link, "kind"), link["number"], of(link, "title"));
    let update = |update: &Value| format!("- {}: {}", of(update, "kind"), of(update, "text"));
    for (title, lines) in [("Links", lines("links", &link)), ("Updates", lines("updates", &update))]
    {
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
        let operation = match *name {
            "issue" => "issue_show",
            "plan" => "plan_render",
            "mission" => "mission_status",
            "inbox" => "gate_list",
            _ => "session_show",
        };
        find(operation).is_ok_and(|operation| operation.access.allows(role))
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

/// The answer to `resources/list`: the resources of the caller's project that it may see. The open
/// issues are paged; everything else is on the first page.
pub(crate) async fn listed(
    asker: &Asker,
    cursor: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let cursor = match cursor.as_deref().map(str::parse::<i64>) {
        None => None,
        Some(Ok(cursor)) => Some(cursor),
        Some(Err(_)) => {
            return Err(ErrorData::invalid_params("the cursor is not one of this server's", None));
        }
    };
    if asker.project().is_empty() {
        return Ok(ListResourcesResult::with_all_items(Vec::new()));
    }
    let page = move |ops: &Ops, envelope: &Envelope| Listing { ops, envelope }.page(cursor);
    let envelope = asker.reading(asker.project());
    let (resources, next) = asker.run(envelope, page).await.map_err(|error| failed(&error))?;
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = next.map(|next| next.to_string());
    Ok(result.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
}

/// The first page, as the caller in the envelope sees it.
pub(crate) fn first_page(ops: &Ops, envelope: &Envelope) -> Result<Vec<Resource>, Error> {
    Ok(Listing { ops, envelope }.page(None)?.0)
}

struct Listing<'a> {
    ops: &'a Ops,
    envelope: &'a Envelope,
}

impl Listing<'_> {
    fn page(&self, cursor: Option<i64>) -> Result<(Vec<Resource>, Option<i64>), Error> {
        let kinds: Vec<_> = readable(self.envelope.actor.role).map(|(_, name, ..)| name).collect();
        let mut resources = Vec::new();
        if cursor.is_none() {
            if kinds.contains(&"inbox") && self.has_inbox()? {
                resources.push(self.resource(Thing::Inbox, "inbox", JSON));
            }
            if kinds.contains(&"session") {
                resources.extend(self.own_session()?);
            }
            if kinds.contains(&"plan") {
                resources.extend(self.rows("plan_list", "plans", json!({}))?.iter().map(|plan| {
                    let (file, branch) = (text(plan, "planFile"), text(plan, "branch"));
                    let here = self.envelope.context.branch.as_deref();
                    let is_here = here.unwrap_or(DEFAULT_BRANCH) == branch;
                    let title = format!("plan {file}");
                    let branch = (!is_here).then_some(branch);
                    self.resource(Thing::Plan { file, branch }, &title, MARKDOWN)
                }));
            }
            if kinds.contains(&"mission") {
                let missions = self.rows("mission_list", "missions", json!({}))?;
                resources.extend(missions.iter().map(|mission| {
                    let thing = Thing::Mission(text(mission, "slug"));
                    self.resource(thing, &text(mission, "name"), JSON)
                }));
            }
        }
        if !kinds.contains(&"issue") {
            return Ok((resources, None));
        }
        let mut input = json!({ "open": true });
        if let Some(cursor) = cursor {
            input["cursor"] = json!(cursor);
        }
        let page = match self.ops.call(find("issue_list")?, self.envelope, input) {
            Err(error) if is_refused(&error) => json!({ "issues": self.own_issue()? }),
            page => page?,
        };
        let issues = page["issues"].as_array().map(Vec::as_slice).unwrap_or_default();
        resources.extend(issues.iter().filter_map(|issue| {
            let number = issue["number"].as_i64()?;
            let title = format!("#{number} {}", text(issue, "title"));
            Some(self.resource(Thing::Issue(number), &title, MARKDOWN))
        }));
        Ok((resources, page["nextCursor"].as_i64()))
    }

    /// The issue of a caller that reaches only this one.
    fn own_issue(&self) -> Result<Vec<Value>, Error> {
        let Some(number) = self.envelope.actor.reach.number else { return Ok(Vec::new()) };
        match read(self.ops, self.envelope, &Thing::Issue(number)) {
            Ok(mut shown) => Ok(vec![shown["issue"].take()]),
            Err(error) if is_refused(&error) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Does the caller reach the inbox?
    fn has_inbox(&self) -> Result<bool, Error> {
        let input = json!({ "state": "open", "limit": 1 });
        match self.ops.call(find("gate_list")?, self.envelope, input) {
            Ok(_) => Ok(true),
            Err(error) if is_refused(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The caller's session, if it has one.
    fn own_session(&self) -> Result<Option<Resource>, Error> {
        match self.ops.call(find("session_show")?, self.envelope, json!({})) {
            Ok(shown) => {
                let session = &shown["session"];
                let title = format!("this session: {}", text(session, "title"));
                Ok(Some(self.resource(Thing::Session(text(session, "id")), &title, JSON)))
            }
            Err(error) if error.meaning().http < 500 => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn rows(&self, operation: &str, field: &str, input: Value) -> Result<Vec<Value>, Error> {
        match self.ops.call(find(operation)?, self.envelope, input) {
            Ok(mut output) => match output[field].take() {
                Value::Array(rows) => Ok(rows),
                _ => Ok(Vec::new()),
            },
            Err(error) if is_refused(&error) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn resource(&self, thing: Thing, title: &str, kind: &str) -> Resource {
        let uri = Address::new(&self.envelope.project, thing).to_string();
        let title: String = title.chars().take(200).collect();
        Resource::new(uri, title.clone()).with_description(title).with_mime_type(kind)
    }
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}
