//! Slugs: the short names of missions, pillars and metrics.

/// How long a slug may be.
const LENGTH_MAX: usize = 80;

/// The slug made from a name: lower case, with a hyphen for everything but letters and digits.
/// `None` if nothing is left.
#[must_use]
pub fn slug_of(name: &str) -> Option<String> {
    let mut slug = String::new();
    for character in name.chars().flat_map(char::to_lowercase) {
        if character.is_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.chars().count() >= LENGTH_MAX {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    (!slug.is_empty()).then(|| slug.to_owned())
}

/// The pattern of a slug for a JSON Schema.
pub const PATTERN: &str = r"^[\p{Ll}\p{Lo}\p{N}_-]{1,80}$";

/// Is this a valid slug?
#[must_use]
pub(super) fn is_slug(text: &str) -> bool {
    let simple = |c: char| c.is_alphanumeric() && !c.is_uppercase() || c == '-' || c == '_';
    !text.is_empty() && text.chars().count() <= LENGTH_MAX && text.chars().all(simple)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_slugs() {
        for (name, slug) in [
            ("Build Performance", "build-performance"),
            ("  CI/CD: faster!  ", "ci-cd-faster"),
            ("Größe", "größe"),
            ("local_build", "local-build"),
        ] {
            assert_eq!(slug_of(name).as_deref(), Some(slug));
            assert!(is_slug(slug));
        }
        assert_eq!(slug_of("!!!"), None);
        assert_eq!(slug_of(&"a".repeat(500)).map(|slug| slug.len()), Some(LENGTH_MAX));
        for bad in ["", "Build", "a b", "a/b", "a.b"] {
            assert!(!is_slug(bad), "{bad}");
        }
    }
}
