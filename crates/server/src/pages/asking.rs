//! Builds the inputs of operations from the parts of an address.

use punchlist_core::text::Title;
use punchlist_ops::input::Maybe;

/// A name or an id for an optional field.
pub(crate) fn maybe(text: Option<&str>) -> Maybe<Title> {
    Maybe(text.and_then(|text| Title::new(text).ok()))
}

/// A name or an id.
pub(crate) fn title(text: &str) -> Result<Title, punchlist_ops::Error> {
    Title::new(text).map_err(|_| {
        let (path, found) = ("address".to_owned(), format!("`{text}`"));
        let expected = "a name or an id".to_owned();
        punchlist_ops::explain::Fault::BadValue { path, found, expected }.into()
    })
}
