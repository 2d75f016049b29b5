//! The reach of an actor: what its token is narrowed to.
//!
//! An absent part is not narrowed. Reach only restricts; within it, the authority table still
//! decides.

use serde::{Deserialize, Serialize};

/// The part of the work an actor may access at all.
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
    /// A session, by its id: its list and chat, and the issue it is bound to at the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The id of the token it comes from. It narrows nothing; later work with this reach (runs,
    /// delegations) ends when the token does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// The place of a thing: every part that a reach can be narrowed to and that contains the thing. A
/// thing in none of them belongs to the project as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub mission: Option<String>,
    /// Absent: the whole mission.
    pub pillar: Option<String>,
    pub number: Option<i64>,
    pub plan_file: Option<String>,
    pub session: Option<String>,
    /// The caller made it, and it has no other place yet: a session without an issue.
    pub own: bool,
}

impl Place {
    /// The project as a whole.
    #[must_use]
    pub fn project() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn mission(slug: &str) -> Self {
        Self { mission: Some(slug.to_owned()), ..Self::default() }
    }

    #[must_use]
    pub fn pillar(mission: &str, pillar: &str) -> Self {
        Self { pillar: Some(pillar.to_owned()), ..Self::mission(mission) }
    }

    #[must_use]
    pub fn issue(number: i64) -> Self {
        Self { number: Some(number), ..Self::default() }
    }

    #[must_use]
    pub fn plan(file: &str) -> Self {
        Self { plan_file: Some(file.to_owned()), ..Self::default() }
    }

    /// What a token would need to reach, in words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self { number: Some(number), .. } => format!("issue {number}"),
            Self { mission: Some(mission), pillar: Some(pillar), .. } => {
                format!("pillar `{pillar}` of mission `{mission}`")
            }
            Self { mission: Some(mission), .. } => format!("mission `{mission}`"),
            Self { plan_file: Some(file), .. } => format!("plan file `{file}`"),
            Self { session: Some(session), .. } => format!("session {session}"),
            _ => "the whole project".to_owned(),
        }
    }
}

impl Reach {
    /// Is it not narrowed at all?
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.project.is_none() && !self.is_narrowed()
    }

    /// Is there nothing to store?
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Is it narrowed to a part of a project?
    #[must_use]
    pub const fn is_narrowed(&self) -> bool {
        self.mission.is_some()
            || self.pillar.is_some()
            || self.number.is_some()
            || self.plan_file.is_some()
            || self.session.is_some()
    }

    /// The same reach, without its token.
    #[must_use]
    pub fn without_token(&self) -> Self {
        Self { token: None, ..self.clone() }
    }

    /// Do both reach the same, regardless of their tokens?
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.without_token() == other.without_token()
    }

    /// Is this project within reach? If not, what the token would need.
    pub fn covers_project(&self, project: &str) -> Result<(), String> {
        match &self.project {
            Some(own) if own != project => Err(format!("project `{project}`")),
            _ => Ok(()),
        }
    }

    /// Is this place of a reached project within reach? If not, what the token would need.
    pub fn covers(&self, place: &Place) -> Result<(), String> {
        let same = |own: &Option<String>, of: &Option<String>| own.is_some() && own == of;
        let covered = !self.is_narrowed()
            || place.own
            || (same(&self.mission, &place.mission)
                && (self.pillar.is_none() || self.pillar == place.pillar))
            || (self.number.is_some() && self.number == place.number)
            || same(&self.plan_file, &place.plan_file)
            || same(&self.session, &place.session);
        if covered { Ok(()) } else { Err(place.words()) }
    }

    /// Is some part of this mission within reach?
    pub fn covers_part_of(&self, mission: &str) -> Result<(), String> {
        let pillar = self.pillar.clone();
        self.covers(&Place { pillar, ..Place::mission(mission) })
            .map_err(|_| Place::mission(mission).words())
    }

    /// Is everything that the other reaches within this one? A token never makes or changes one
    /// with a wider reach.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        let project = self.project.is_none() || self.project == other.project;
        if !self.is_narrowed() {
            return project;
        }
        let within = |own: &Option<String>, of: &Option<String>| of.is_none() || own == of;
        project
            && other.is_narrowed()
            && within(&self.mission, &other.mission)
            && (other.mission.is_none() || self.pillar.is_none() || self.pillar == other.pillar)
            && (other.number.is_none() || self.number == other.number)
            && within(&self.plan_file, &other.plan_file)
            && within(&self.session, &other.session)
    }

    /// The narrower of two; `None` if neither contains the other.
    #[must_use]
    pub fn narrower<'a>(&'a self, other: &'a Self) -> Option<&'a Self> {
        match (self.contains(other), other.contains(self)) {
            (true, _) => Some(other),
            (false, true) => Some(self),
            (false, false) => None,
        }
    }

    /// What it reaches, for people.
    #[must_use]
    pub fn words(&self) -> String {
        let mut parts = Vec::new();
        match (&self.mission, &self.pillar) {
            (Some(mission), Some(pillar)) => {
                parts.push(format!("pillar `{pillar}` of mission `{mission}`"));
            }
            (Some(mission), None) => parts.push(format!("mission `{mission}`")),
            _ => {}
        }
        parts.extend(self.number.map(|number| format!("issue #{number}")));
        parts.extend(self.plan_file.as_ref().map(|file| format!("the plan `{file}`")));
        parts.extend(self.session.as_ref().map(|session| format!("session {session}")));
        match (parts.is_empty(), &self.project) {
            (true, None) => "every project of this store".to_owned(),
            (true, Some(project)) => format!("the whole project `{project}`"),
            (false, None) => format!("{} in every project", parts.join(" and ")),
            (false, Some(project)) => format!("{} in project `{project}`", parts.join(" and ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn places() -> Vec<Place> {
        vec![
            Place::project(),
            Place::mission("m"),
            Place::pillar("m", "p"),
            Place::pillar("m", "q"),
            Place::issue(7),
            Place::plan("a.md"),
            Place { session: text("s"), ..Place::default() },
            Place { session: text("s"), ..Place::issue(7) },
        ]
    }

    fn covered(reach: &Reach) -> Vec<String> {
        let within = |place: &&Place| reach.covers(place).is_ok();
        places().iter().filter(within).map(Place::words).collect()
    }

    #[test]
    fn a_narrowed_reach_covers_only_its_own_part() {
        // P-28
        let all: Vec<String> = places().iter().map(Place::words).collect();
        let none = Reach::default();
        assert_eq!(covered(&none), all);
        assert_eq!(covered(&Reach { project: text("x"), ..none.clone() }), all);
        let mission = Reach { mission: text("m"), ..none.clone() };
        assert_eq!(
            covered(&mission),
            ["mission `m`", "pillar `p` of mission `m`", "pillar `q` of mission `m`"]
        );
        let pillar = Reach { pillar: text("p"), ..mission };
        assert_eq!(covered(&pillar), ["pillar `p` of mission `m`"]);
        assert_eq!(pillar.covers_part_of("m"), Ok(()));
        assert_eq!(pillar.covers_part_of("n"), Err("mission `n`".into()));
        let issue = Reach { number: Some(7), ..none.clone() };
        assert_eq!(covered(&issue), ["issue 7", "issue 7"]);
        assert_eq!(covered(&Reach { number: Some(8), ..none.clone() }), Vec::<String>::new());
        let plan = Reach { plan_file: text("a.md"), ..none.clone() };
        assert_eq!(covered(&plan), ["plan file `a.md`"]);
        let session = Reach { session: text("s"), ..none };
        assert_eq!(covered(&session), ["session s", "issue 7"]);
    }

    #[test]
    fn another_project_is_named_as_what_is_missing() {
        let reach = Reach { project: text("a"), ..Reach::default() };
        assert_eq!(reach.covers_project("a"), Ok(()));
        assert_eq!(reach.covers_project("b"), Err("project `b`".into()));
        assert_eq!(Reach::default().covers_project("b"), Ok(()));
    }

    /// A reach that contains another covers every place that the other covers, so no token makes a
    /// wider one.
    #[test]
    fn a_contained_reach_covers_no_more() {
        let none = Reach::default();
        let reaches = [
            none.clone(),
            Reach { project: text("x"), ..none.clone() },
            Reach { mission: text("m"), ..none.clone() },
            Reach { mission: text("m"), pillar: text("p"), ..none.clone() },
            Reach { project: text("x"), number: Some(7), ..none.clone() },
            Reach { number: Some(7), ..none.clone() },
            Reach { number: Some(7), plan_file: text("a.md"), ..none.clone() },
            Reach { plan_file: text("a.md"), ..none.clone() },
            Reach { session: text("s"), ..none },
        ];
        for one in &reaches {
            for other in &reaches {
                let only_other =
                    |place: &Place| other.covers(place).is_ok() && one.covers(place).is_err();
                let wider = (one.project.is_some() && one.project != other.project)
                    || places().iter().any(only_other);
                assert_eq!(one.contains(other), !wider, "{one:?} contains {other:?}");
            }
        }
        assert!(reaches.iter().all(|reach| reach.contains(reach)));
        let (issue, plan) = (&reaches[5], &reaches[7]);
        assert_eq!(issue.narrower(plan), None);
        assert_eq!(issue.narrower(&reaches[0]), Some(issue));
        assert_eq!(reaches[6].narrower(plan), Some(plan));
    }

    #[test]
    fn a_reach_is_described_in_words() {
        let issue = Reach { project: text("api"), number: Some(3), ..Reach::default() };
        assert_eq!(issue.words(), "issue #3 in project `api`");
        assert_eq!(Reach::default().words(), "every project of this store");
    }
}
