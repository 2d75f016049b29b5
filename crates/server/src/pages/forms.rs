//! Forms: the posted fields, how a form is drawn, and the page after it.
//!
//! A form posts to its page's own path. `form` names the form, `do` its action, and `csrf` proves
//! that the page is ours. After a success, the browser is redirected to the page (303) with a
//! notice. After a refusal, the page is shown again with the error and the typed text.

use maud::{Markup, html};
use punchlist_ops::Error;

use super::icons::Icon;
use super::marks;
use super::notice::Notice;
use super::visit::Visit;
use super::words;

/// The fields that were posted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form(pub(crate) Vec<(String, String)>);

impl Form {
    /// The key that identifies the form on its page.
    pub(crate) fn key(&self) -> &str {
        self.text("form")
    }

    /// The action of the form.
    pub(crate) fn action(&self) -> &str {
        self.text("do")
    }

    /// A field as it was typed.
    pub(crate) fn text(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(given, _)| given == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// A field that is not blank.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        Some(self.text(name).trim()).filter(|value| !value.is_empty())
    }

    /// A number that the page itself put into the form.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.text(name).parse().ok()
    }

    /// All values of a field that may occur several times.
    pub(crate) fn all<'a>(&'a self, name: &str) -> Vec<&'a str> {
        self.0.iter().filter(|(given, _)| given == name).map(|(_, value)| value.as_str()).collect()
    }

    pub(crate) fn has(&self, name: &str, value: &str) -> bool {
        self.0.iter().any(|(given, one)| given == name && one == value)
    }

    /// The text that a person typed, to be shown if its page no longer exists.
    pub(crate) fn typed(&self) -> impl Iterator<Item = (&str, &str)> {
        let ours = [
            "form",
            "do",
            "csrf",
            "gate",
            "project",
            "revision",
            "id",
            "since",
            "end",
            "schema",
            "before",
            "unclaimed_count",
            "reopen_count",
            "criteria_before",
            "steps_before",
            "text_of",
            "kind_of",
        ];
        let fields = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        fields.filter(move |(name, value)| !ours.contains(name) && !value.trim().is_empty())
    }
}

/// A form that was refused.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) form: Form,
    pub(crate) error: Error,
}

impl Refused {
    /// Can this field be the reason? Not if the error names another field of the form.
    fn concerns(&self, field: &str) -> bool {
        let path = match &self.error {
            Error::Input(fault) => fault.path().unwrap_or_default(),
            _ => "",
        };
        let named = path.split(['.', '[']).next().unwrap_or_default();
        named == field || !self.form.0.iter().any(|(name, _)| name == named)
    }
}

/// The result of a form, and the page after it.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) notice: Notice,
    /// The part of the page that gets the focus.
    pub(crate) anchor: String,
    /// Another page than the form's own.
    pub(crate) to: Option<String>,
}

impl Done {
    /// The notice appears at the anchor of the form's own page.
    pub(crate) fn at(anchor: &str, notice: Notice) -> Self {
        Self { notice: notice.at(anchor), anchor: anchor.to_owned(), to: None }
    }

    pub(crate) fn on(self, to: String) -> Self {
        Self { to: Some(to), ..self }
    }
}

/// The error for an unknown action of a form.
pub(crate) fn unknown(form: &Form) -> Error {
    let (path, found) = ("do".to_owned(), format!("`{}`", form.action()));
    let expected = "what a button of this page does".to_owned();
    punchlist_ops::explain::Fault::BadValue { path, found, expected }.into()
}

/// The error for a missing field; the sentence says what to do.
pub(crate) fn missing(what_to_do: &str) -> Error {
    let (path, detail) = (String::new(), what_to_do.to_owned());
    punchlist_ops::explain::Fault::Other { path, detail }.into()
}

/// A form of this page. Its key is also its id.
pub(crate) fn form(visit: &Visit, key: &str, action: &str, fields: &Markup) -> Markup {
    drawn(visit, key, Some(action), "form", fields)
}

/// Like `form`, in a row, with buttons that set the action (`do`).
pub(crate) fn row(visit: &Visit, key: &str, action: &str, fields: &Markup) -> Markup {
    drawn(visit, key, Some(action), "form-row", fields)
}

/// A form whose buttons set the action by their own `do`.
pub(crate) fn of_buttons(visit: &Visit, key: &str, class: &str, buttons: &Markup) -> Markup {
    drawn(visit, key, None, class, buttons)
}

fn drawn(visit: &Visit, key: &str, action: Option<&str>, class: &str, fields: &Markup) -> Markup {
    html! {
        form id=(key) class=(class) method="post" action=(visit.form_address()) {
            input type="hidden" name="csrf" value=(visit.csrf);
            input type="hidden" name="form" value=(key);
            @if let Some(action) = action { input type="hidden" name="do" value=(action); }
            (fields)
        }
    }
}

/// The reason why the form with this key was refused, as a sentence.
pub(crate) fn refusal(visit: &Visit, key: &str) -> Markup {
    html! {
        @if let Some(refused) = visit.refused_at(key) {
            (fault(&format!("{key}-fault"), &refused.error))
        }
    }
}

/// An error as a sentence.
pub(crate) fn fault(id: &str, error: &Error) -> Markup {
    html! {
        p.fault id=(id) role="alert" { (marks::failed()) span { (words::said(error)) } }
    }
}

/// The id of the refusal that describes a field, if there is one.
fn described(visit: &Visit, key: &str) -> Option<String> {
    visit.refused_at(key).map(|_| format!("{key}-fault"))
}

/// The properties of a text field.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Field<'a> {
    pub(crate) name: &'a str,
    pub(crate) label: &'a str,
    /// A hint below the label.
    pub(crate) hint: &'a str,
    pub(crate) value: &'a str,
    /// Hide the label visually; screen readers still read it. The button next to it says the same.
    pub(crate) is_quiet: bool,
    /// The number of lines of a longer text; 0: a single-line field.
    pub(crate) lines: u8,
    pub(crate) is_mono: bool,
    /// The type of the input; blank: text.
    pub(crate) kind: &'a str,
    /// The form was refused for another reason than this text.
    pub(crate) is_fine: bool,
}

/// A field of a form. After a refusal it contains the typed text.
pub(crate) fn field(visit: &Visit, key: &str, field: &Field<'_>) -> Markup {
    let id = format!("{key}-{}", field.name);
    let value = visit.typed(key, field.name, field.value);
    let refused = visit.refused_at(key).filter(|refused| refused.concerns(field.name));
    let is_bad = refused.is_some() && !field.is_fine;
    let fault = described(visit, key).filter(|_| is_bad);
    let hint = (!field.hint.is_empty()).then(|| format!("{id}-hint"));
    let by =
        [hint.as_deref(), fault.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let by = (!by.is_empty()).then_some(by);
    let label = field.is_quiet.then_some(field.label);
    let kind = if field.kind.is_empty() { "text" } else { field.kind };
    let rows = field.lines.to_string();
    let mono = if field.is_mono { "mono" } else { "" };
    html! {
        div.field {
            @if !field.is_quiet { label for=(id) { (field.label) } }
            @if let Some(hint) = &hint { p.hint id=(hint) { (field.hint) } }
            @if field.lines > 0 {
                // A leading line break in a textarea is not part of its text.
                textarea id=(id) name=(field.name) class=(mono) rows=(rows) aria-label=[label]
                    aria-describedby=[&by] aria-invalid=[is_bad.then_some("true")] { "\n" (value) }
            } @else {
                input id=(id) name=(field.name) type=(kind) class=(mono) value=(value)
                    aria-label=[label] aria-describedby=[&by] autocomplete="off"
                    aria-invalid=[is_bad.then_some("true")];
            }
        }
    }
}

/// The button that submits the form.
pub(crate) fn submit(label: &str, class: &str) -> Markup {
    html! { button type="submit" class={"button " (class)} { (label) } }
}

/// A button that unfolds a part of the page in place, even without a script.
pub(crate) fn opener(
    visit: &Visit,
    key: &str,
    label: &str,
    icon: Option<Icon>,
    class: &str,
) -> Markup {
    html! {
        form.form-row method="get" action=(format!("{}#{key}", visit.path())) {
            (visit.filters(&[]))
            button type="submit" name="open" value=(key) class={"button " (class)} {
                @if let Some(icon) = icon { (icon.draw()) }
                (label)
            }
        }
    }
}

/// The buttons of an unfolded form. [`cancelling`] comes after the form.
pub(crate) fn save_or_cancel(key: &str, label: &str) -> Markup {
    html! {
        div.form-row {
            (submit(label, "primary"))
            button type="submit" class="button quiet" form={(key) "-cancel"} { "Cancel" }
        }
    }
}

/// The target of its *Cancel* button: the page without the form.
pub(crate) fn cancelling(visit: &Visit, key: &str, anchor: &str) -> Markup {
    let to = format!("{}#{anchor}", visit.path());
    html! {
        form id={(key) "-cancel"} method="get" action=(to) hidden { (visit.filters(&[])) }
    }
}

/// The button that closes the form.
pub(crate) fn cancel(visit: &Visit, anchor: &str) -> Markup {
    html! {
        form.form-row method="get" action=(format!("{}#{anchor}", visit.path())) {
            (visit.filters(&[]))
            button type="submit" class="button quiet" { "Cancel" }
        }
    }
}
