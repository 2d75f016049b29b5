//! How far an actor reaches: what a token was narrowed to.
//!
//! An absent part is not narrowed. Reach only takes away; what is within it is still judged by
//! the authority table.

use serde::{Deserialize, Serialize};

use crate::Scope;

/// The part of the work an actor may touch at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reach {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mission: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pillar: Option<String>,
    /// An issue, by its number in the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_file: Option<String>,
}

impl Reach {
    /// Is this project within reach? If not, what the token would need.
    pub fn covers_project(&self, project: &str) -> Result<(), String> {
        match &self.project {
            Some(own) if own != project => Err(format!("project `{project}`")),
            _ => Ok(()),
        }
    }

    /// Is a list of this scope within reach? `number` is the issue's, where it hangs on one.
    pub fn covers(&self, scope: &Scope, number: Option<i64>) -> Result<(), String> {
        let narrowed = self.mission.is_some()
            || self.pillar.is_some()
            || self.number.is_some()
            || self.plan_file.is_some();
        let covered = match scope {
            _ if !narrowed => true,
            Scope::Pillar { mission, pillar } => {
                self.mission.as_ref() == Some(mission)
                    && self.pillar.as_ref().is_none_or(|own| own == pillar)
            }
            Scope::Issue { .. } => self.number.is_some() && self.number == number,
            Scope::Plan { plan_file, .. } => self.plan_file.as_ref() == Some(plan_file),
            // Turns and sessions are the caller's own; a narrowed token has no business there.
            Scope::Turn { .. } | Scope::Session { .. } => false,
        };
        if covered { Ok(()) } else { Err(needed(scope, number)) }
    }
}

fn needed(scope: &Scope, number: Option<i64>) -> String {
    match (scope, number) {
        (Scope::Pillar { mission, pillar }, _) => {
            format!("pillar `{pillar}` of mission `{mission}`")
        }
        (Scope::Issue { .. }, Some(number)) => format!("issue {number}"),
        (Scope::Plan { plan_file, .. }, _) => format!("plan file `{plan_file}`"),
        (scope, _) => format!("{} lists", scope.kind()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ListKind;

    fn scopes() -> Vec<(Scope, Option<i64>)> {
        ListKind::ALL
            .into_iter()
            .map(|kind| {
                let inner = match kind {
                    ListKind::Session | ListKind::Issue => "",
                    _ => "inner",
                };
                let number = (kind == ListKind::Issue).then_some(7);
                (Scope::from_keys(kind, "outer".into(), inner.into()), number)
            })
            .collect()
    }

    fn covered(reach: &Reach) -> Vec<ListKind> {
        let within = |(scope, number): &(Scope, Option<i64>)| reach.covers(scope, *number).is_ok();
        scopes().iter().filter(|s| within(s)).map(|(scope, _)| scope.kind()).collect()
    }

    #[test]
    fn a_narrowed_reach_covers_its_own_and_nothing_else() {
        // P-28
        let text = |t: &str| Some(t.to_owned());
        assert_eq!(covered(&Reach::default()), ListKind::ALL);
        let own = Reach { mission: text("outer"), ..Reach::default() };
        assert_eq!(covered(&own), [ListKind::Pillar]);
        let own = Reach { pillar: text("inner"), ..own };
        assert_eq!(covered(&own), [ListKind::Pillar]);
        let other = Reach { pillar: text("another"), ..own };
        assert_eq!(covered(&other), []);
        assert_eq!(covered(&Reach { number: Some(7), ..Reach::default() }), [ListKind::Issue]);
        assert_eq!(covered(&Reach { number: Some(8), ..Reach::default() }), []);
        let plan = Reach { plan_file: text("inner"), ..Reach::default() };
        assert_eq!(covered(&plan), [ListKind::Plan]);
    }

    #[test]
    fn another_project_is_named_as_what_is_missing() {
        let reach = Reach { project: Some("a".into()), ..Reach::default() };
        assert_eq!(reach.covers_project("a"), Ok(()));
        assert_eq!(reach.covers_project("b"), Err("project `b`".into()));
        assert_eq!(Reach::default().covers_project("b"), Ok(()));
    }
}
