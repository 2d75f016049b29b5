//! One visit to a page: the reader, the page, and the reader's last action.
//!
//! A page reads through this type, with the types of the operations. A form writes through it, with
//! the operation's name, so that typed text is checked as on every other surface.

use std::cell::{OnceCell, RefCell};
use std::time::Instant;

use maud::{Markup, html};
use punchlist_core::{Actor, Time};
use punchlist_ops::catalogue::{Define, find};
use punchlist_ops::operations::overview::{self, Overview};
use punchlist_ops::{Answer, Context, Envelope, Error, Proof};
use serde_json::Value;

use super::change::Changes;
use super::forms::{Form, Refused};
use super::notice::Notice;
use super::since::Days;
use super::words;
use crate::http::state::Shared;

/// The contents of a request, before anything is looked up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// The path as it was sent.
    pub(crate) path: String,
    /// The parts of the path that the page's pattern names, decoded.
    pub(crate) parts: Vec<(String, String)>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) notice: Option<Notice>,
}

impl Asked {
    pub(crate) fn part(&self, name: &str) -> Option<&str> {
        let found = self.parts.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
    }
}

#[derive(Debug)]
pub(crate) struct Visit {
    state: Shared,
    envelope: Envelope,
    /// The address of the page's project. Most links of a page begin with it.
    base: String,
    /// The address that the page's forms are posted to. A page may have hundreds of them.
    form_address: OnceCell<String>,
    asked: Asked,
    /// The token that protects the page's forms.
    pub(crate) csrf: String,
    /// The number of open decisions per project, for the navigation.
    pub(crate) overview: overview::Output,
    /// The number of the last event that this page includes.
    pub(crate) seq: i64,
    notice: RefCell<Option<Notice>>,
    /// The part of the page that gets the focus after the reader's last answer.
    focus: Option<String>,
    refused: Option<Refused>,
}

/// The forms that are unfolded: by their keys, and by how the keys of those of an item begin.
const FORMS: [&str; 9] =
    ["edit", "send", "details", "duplicate", "link", "stop", "promote", "bind", "unbind"];
const FORMS_OF: [&str; 9] =
    ["close-", "refuse-", "always-", "accept-", "return-", "hold-", "defer-", "note-", "drop-"];

fn is_form(key: &str) -> bool {
    FORMS.contains(&key) || FORMS_OF.iter().any(|start| key.starts_with(start))
}

impl Visit {
    pub(crate) fn begin(
        state: Shared,
        (actor, proof): (Actor, Proof),
        csrf: String,
        mut asked: Asked,
    ) -> Result<Self, Error> {
        // Read this first: later changes reach the page as events.
        let seq = state.ops.log_end()?;
        let named = asked.part("project").map(str::to_owned);
        let project = named.or_else(|| actor.reach.project.clone()).or(state.project.clone());
        let mut envelope = Envelope {
            actor,
            proof,
            project: project.unwrap_or_default(),
            context: Context { is_remote: true, ..Context::default() },
            idempotency_key: None,
            agents: state.agents.clone(),
            now: (state.clock)(),
        };
        let mut overview = state.ops.run::<Overview>(&envelope, overview::Input {})?;
        let is_known = overview.projects.iter().any(|project| project.current);
        if !is_known && asked.part("project").is_none() {
            // A page about all projects: the navigation shows the project with the most open
            // decisions.
            let most = overview.projects.iter().rev().max_by_key(|project| project.waiting);
            if let Some(name) = most.map(|project| project.name.clone()) {
                envelope.project = name;
                overview = state.ops.run::<Overview>(&envelope, overview::Input {})?;
            }
        }
        let focus = asked.notice.as_ref().map(|notice| notice.at.clone());
        let notice = RefCell::new(asked.notice.take());
        let base = words::address(&envelope.project, "");
        Ok(Self {
            state,
            envelope,
            base,
            form_address: OnceCell::new(),
            asked,
            csrf,
            overview,
            seq,
            notice,
            focus,
            refused: None,
        })
    }

    /// The same page again, with the typed text and the reason of the refusal.
    pub(crate) fn refusing(self, form: Form, error: Error) -> Self {
        Self { refused: Some(Refused { form, error }), ..self }
    }

    pub(crate) fn now(&self) -> Time {
        self.envelope.now
    }

    /// The project of the page, or of its navigation.
    pub(crate) fn project(&self) -> &str {
        &self.envelope.project
    }

    /// Does the project exist, as far as the reader may see?
    pub(crate) fn has_project(&self) -> bool {
        self.overview.projects.iter().any(|project| project.current)
    }

    /// Is the page about one project, and not about all?
    pub(crate) fn is_of_project(&self) -> bool {
        self.asked.part("project").is_some()
    }

    /// The address of a page below the page's project.
    pub(crate) fn at(&self, below: &str) -> String {
        [&self.base, below].concat()
    }

    pub(crate) fn part(&self, name: &str) -> &str {
        self.asked.part(name).unwrap_or_default()
    }

    /// A field of the query; a blank one counts as absent.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let found = self.asked.query.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    pub(crate) fn path(&self) -> &str {
        &self.asked.path
    }

    /// The page's own address with its filters, with some of them changed (`None` removes one).
    pub(crate) fn here(&self, changes: &[(&str, Option<&str>)]) -> String {
        let is_changed = |name: &str| changes.iter().any(|(changed, _)| *changed == name);
        let kept = self.asked.query.iter().filter(|(name, value)| {
            !is_changed(name) && !matches!(name.as_str(), "open" | "cursor") && !value.is_empty()
        });
        let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        let set = changes.iter().filter_map(|(name, value)| value.map(|value| (*name, value)));
        let pairs: Vec<String> =
            kept.chain(set).map(|(name, value)| words::pair(name, value)).collect();
        match pairs.is_empty() {
            true => self.asked.path.clone(),
            false => format!("{}?{}", self.asked.path, pairs.join("&")),
        }
    }

    /// The address that the page's forms are posted to: its own, with its filters.
    pub(crate) fn form_address(&self) -> &str {
        self.form_address.get_or_init(|| self.here(&[]))
    }

    /// The filters in the page's address, as hidden fields of a form that reloads the page.
    pub(crate) fn filters(&self, but: &[&str]) -> Markup {
        let kept = self.asked.query.iter().filter(|(name, value)| {
            !but.contains(&name.as_str()) && name != "open" && name != "cursor" && !value.is_empty()
        });
        html! {
            @for (name, value) in kept { input type="hidden" name=(name) value=(value); }
        }
    }

    /// Is this part of the page unfolded?
    pub(crate) fn is_open(&self, key: &str) -> bool {
        self.asked.query.iter().any(|(name, value)| name == "open" && value == key)
            || self.refused_at(key).is_some()
    }

    /// Is a form unfolded that has a primary button of its own? A page has one such button.
    pub(crate) fn has_open_form(&self) -> bool {
        let opened = self.asked.query.iter().filter(|(name, _)| name == "open");
        let opened = opened.map(|(_, key)| key.as_str());
        opened.chain(self.refused.iter().map(|refused| refused.form.key())).any(is_form)
    }

    pub(crate) fn focus(&self) -> Option<&str> {
        self.focus.as_deref()
    }

    /// The refusal of the form with this key.
    pub(crate) fn refused_at(&self, key: &str) -> Option<&Refused> {
        self.refused.as_ref().filter(|refused| refused.form.key() == key)
    }

    pub(crate) fn refused(&self) -> Option<&Refused> {
        self.refused.as_ref()
    }

    /// The value of a form's field: the typed text after a refusal, otherwise `first`.
    pub(crate) fn typed<'a>(&'a self, key: &str, field: &str, first: &'a str) -> &'a str {
        self.refused_at(key).map_or(first, |refused| refused.form.text(field))
    }

    /// Is a checkbox ticked: as the reader left it after a refusal, otherwise `first`?
    pub(crate) fn ticked(&self, key: &str, field: &str, value: &str, first: bool) -> bool {
        self.refused_at(key).map_or(first, |refused| refused.form.has(field, value))
    }

    /// The notice, if the action was done at this place.
    pub(crate) fn notice_at(&self, spot: &str) -> Markup {
        let is_here = self.notice.borrow().as_ref().is_some_and(|notice| notice.at == spot);
        let notice = if is_here { self.notice.borrow_mut().take() } else { None };
        html! { @if let Some(notice) = notice { (notice.show(self)) } }
    }

    /// The notice, if no place of the page has shown it.
    pub(crate) fn notice_left(&self) -> Markup {
        let notice = self.notice.borrow_mut().take();
        html! { @if let Some(notice) = notice { (notice.show(self)) } }
    }

    /// The name of a principal for the reader: "You", or a name.
    pub(crate) fn name(&self, principal: &str) -> String {
        match principal == self.envelope.actor.principal {
            true => "You".to_owned(),
            false => words::name(principal).to_owned(),
        }
    }

    /// The same inside of a sentence: "you", or a name.
    pub(crate) fn name_within(&self, principal: &str) -> String {
        match principal == self.envelope.actor.principal {
            true => "you".to_owned(),
            false => words::name(principal).to_owned(),
        }
    }

    /// Runs an operation in the page's project.
    pub(crate) fn run<D: Define>(&self, input: D::Input) -> Result<D::Output, Error> {
        self.state.ops.run::<D>(&self.envelope, input)
    }

    /// Runs an operation in another project.
    pub(crate) fn run_in<D: Define>(
        &self,
        project: &str,
        input: D::Input,
    ) -> Result<D::Output, Error> {
        let envelope = Envelope { project: project.to_owned(), ..self.envelope.clone() };
        self.state.ops.run::<D>(&envelope, input)
    }

    /// The changes that were shown lately.
    pub(crate) fn changes(&self) -> &Changes {
        &self.state.changes
    }

    /// What happened in the last day.
    pub(crate) fn days(&self) -> &Days {
        &self.state.days
    }

    /// Does the reader see only a part of a project?
    pub(crate) fn is_narrowed(&self) -> bool {
        self.envelope.actor.reach.is_narrowed()
    }

    /// The folders where the commits of a project may be.
    pub(crate) fn folders(&self, project: &str, sessions: &[String]) -> Result<Vec<String>, Error> {
        self.state.ops.folders(project, sessions)
    }

    /// Posts the fields of a form to an operation.
    pub(crate) fn post(&self, operation: &str, input: Value) -> Result<Answer, Error> {
        self.answer(operation, &self.envelope, input)
    }

    fn answer(&self, operation: &str, envelope: &Envelope, input: Value) -> Result<Answer, Error> {
        let (operation, start) = (find(operation)?, Instant::now());
        let answered = self.state.ops.answer(operation, envelope, input);
        self.state.metrics.called(operation, start, &answered);
        answered
    }

    /// Like `post`, in another project.
    pub(crate) fn post_in(
        &self,
        project: &str,
        operation: &str,
        input: Value,
    ) -> Result<Answer, Error> {
        let envelope = Envelope { project: project.to_owned(), ..self.envelope.clone() };
        self.answer(operation, &envelope, input)
    }

    /// Like `post`, for the checklist of an issue.
    pub(crate) fn post_on(
        &self,
        number: i64,
        operation: &str,
        input: Value,
    ) -> Result<Answer, Error> {
        let context = Context { issue: Some(number), ..self.envelope.context.clone() };
        let envelope = Envelope { context, ..self.envelope.clone() };
        self.answer(operation, &envelope, input)
    }
}
