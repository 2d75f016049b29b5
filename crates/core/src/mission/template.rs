//! Templates for common items: texts for fields that the creator left out (Q-M4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Texts for a new item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Template {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub justification: String,
    #[serde(default)]
    pub completion_criteria: String,
}

/// Templates that every mission has: name, description, justification, criteria.
pub const BUILT_IN: [(&str, &str, &str, &str); 3] = [
    (
        "profiling",
        "Measure where the time goes, on a realistic case, with the tool at hand. Keep the raw \
         output. Name the largest contributors with their share.",
        "A metric is off its target and the cause is not known yet; guessing would cost more than \
         measuring.",
        "The three largest contributors are named with their share of the total, and for each \
         there is a recommendation: keep, replace or configure.",
    ),
    (
        "audit",
        "Go through the whole area once, against a written list of what should hold. Write down \
         every deviation with where it is and how bad it is.",
        "Nobody has looked at this as a whole for a while; single findings hide how it stands.",
        "A list of findings with place and severity exists, the worst are named first, and what \
         was not looked at is said.",
    ),
    (
        "migration-eval",
        "Try the replacement on the real code in a branch. Compare before and after on the same \
         machine. Note everything that breaks or changes.",
        "The present tool holds a metric back, and a candidate promises to be better; the promise \
         needs figures.",
        "Reported: the difference in the metric, the pass rate of the tests, and a list of \
         breaking changes, if any; ends with a clear yes or no.",
    ),
];

/// Finds a template by name. The mission's own come before the built-in ones. An unknown name
/// returns all known names.
pub fn fill(own: &[Template], name: &str) -> Result<Template, Vec<String>> {
    if let Some(found) = own.iter().find(|template| template.name == name) {
        return Ok(found.clone());
    }
    let built_in = BUILT_IN.iter().find(|(of, ..)| *of == name);
    if let Some((name, description, justification, criteria)) = built_in {
        return Ok(Template {
            name: (*name).to_owned(),
            description: (*description).to_owned(),
            justification: (*justification).to_owned(),
            completion_criteria: (*criteria).to_owned(),
        });
    }
    let own = own.iter().map(|template| template.name.clone());
    Err(own.chain(BUILT_IN.iter().map(|(name, ..)| (*name).to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Q-M4: three are built in, the mission's own win, and an unknown name lists the known ones.
    #[test]
    fn a_template_is_found_by_name() {
        let own = Template {
            name: "audit".into(),
            description: "Ours.".into(),
            justification: String::new(),
            completion_criteria: String::new(),
        };
        for name in ["profiling", "audit", "migration-eval"] {
            let found = fill(&[], name).unwrap();
            assert!(!found.description.is_empty() && !found.completion_criteria.is_empty());
        }
        assert_eq!(fill(std::slice::from_ref(&own), "audit"), Ok(own.clone()));
        let names = fill(&[own], "nope").unwrap_err();
        assert_eq!(names, ["audit", "profiling", "audit", "migration-eval"]);
    }
}
