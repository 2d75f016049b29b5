//! Which project a folder belongs to: decided by its repository or folder, not by its name alone.
//! And back: the folders where the commits of a project may be.

use std::path::Path;

use punchlist_core::{Refusal, SessionId};
use punchlist_store::rows::projects::Placed;
use punchlist_store::{Target, Tx};
use serde::{Deserialize, Serialize};

use crate::{Envelope, Error, Ops};

/// The project of a place that has no name.
const UNNAMED: &str = "default";

/// How a project is recognised, wherever its folder is: by its repository, otherwise by its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// Host and path of the repository's `origin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_commit: Option<String>,
    /// The git directory that all worktrees share; outside git, the folder.
    pub folder: String,
    /// The origins of other clones that were recognised as this project. They recognise it too, but
    /// the repository itself may get another origin later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clones: Vec<String>,
}

/// The property by which two places are the same, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Origin,
    RootCommit,
    Folder,
}

impl Place {
    /// Reads the stored form.
    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// By which property is a caller's place this project? The first that both have decides.
    fn recognises(&self, place: &Self) -> Option<Mark> {
        if let Some(origin) = &place.origin {
            if self.origin.as_ref() == Some(origin) || self.clones.contains(origin) {
                return Some(Mark::Origin);
            }
            if self.origin.is_some() {
                return None;
            }
        }
        let (same, mark) = match (&self.root_commit, &place.root_commit) {
            (Some(one), Some(other)) => (one == other, Mark::RootCommit),
            _ => (self.folder == place.folder || self.became(place), Mark::Folder),
        };
        same.then_some(mark)
    }

    /// Is the caller's place the repository that this plain folder was made into?
    fn became(&self, place: &Self) -> bool {
        self.origin.is_none()
            && self.root_commit.is_none()
            && Path::new(&self.folder).join(".git") == Path::new(&place.folder)
    }

    /// Is a caller's place this project?
    #[must_use]
    pub fn is(&self, place: &Self) -> bool {
        self.recognises(place).is_some()
    }

    /// This project's place, with what a caller's place adds to it; `None` if that is nothing, or
    /// the caller's place is another project.
    pub(crate) fn completed_by(&self, place: &Self) -> Option<Self> {
        self.recognises(place)?;
        let mut whole = self.clone();
        if self.became(place) {
            whole.folder.clone_from(&place.folder);
        }
        whole.root_commit = whole.root_commit.or_else(|| place.root_commit.clone());
        if let Some(origin) = place.origin.as_ref().filter(|_| self.origin.is_none()) {
            match whole.folder == place.folder {
                true => whole.origin = Some(origin.clone()),
                // Another clone: its origin is not necessarily ours.
                false if !self.clones.contains(origin) => whole.clones.push(origin.clone()),
                false => {}
            }
        }
        (whole != *self).then_some(whole)
    }
}

/// The project of a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Located {
    pub project: String,
    /// The origin did not decide: ask again with the root commit, which is slow to find.
    #[serde(default)]
    pub wants_root: bool,
}

impl Ops {
    /// The name of the project at `place`. `names` are candidates for a new project, best first. A
    /// known repository keeps its name wherever it is, also through a merge; a name that another
    /// project has is not used.
    pub fn project_at(&self, place: &Place, names: &[String]) -> Result<Located, Error> {
        if let Some(remote) = self.remote() {
            return remote.project_at(place, names);
        }
        let first = names.first().map_or(UNNAMED, String::as_str).to_owned();
        let wants_root = place.origin.is_some() && place.root_commit.is_none();
        // Reading must not create a store.
        if matches!(self.target(), Target::File(file) if !file.exists()) {
            return Ok(Located { project: first, wants_root });
        }
        let known = self.store_if_opened()?.read(|tx| tx.places())?;
        let (project, mark) = chosen(&known, place, names);
        Ok(Located { project, wants_root: wants_root && mark != Some(Mark::Origin) })
    }

    /// How a project is recognised: its own place, then those of the projects that were merged into
    /// it. Empty if it is unknown, or known by its name only.
    pub fn places_of(&self, project: &str) -> Result<Vec<Place>, Error> {
        if self.remote().is_some() {
            return Ok(Vec::new());
        }
        Ok(places_of(project, self.store()?.read(|tx| tx.places())?))
    }

    /// The folders where the commits of a project may be, as its callers named them: those of these
    /// sessions, then its own. They need not be on this machine.
    pub fn folders(&self, project: &str, sessions: &[String]) -> Result<Vec<String>, Error> {
        if self.remote().is_some() {
            return Ok(Vec::new());
        }
        let sessions: Vec<SessionId> =
            sessions.iter().filter_map(|id| SessionId::parse(id)).collect();
        let (found, places) = self.store()?.read(move |tx| {
            let mut found = Vec::new();
            for id in &sessions {
                found.extend(tx.session_by_id(*id)?.and_then(|session| session.directory));
            }
            Ok::<_, punchlist_store::Error>((found, tx.places()?))
        })?;
        let places = places_of(project, places).into_iter();
        let mut folders: Vec<String> = Vec::new();
        for folder in found.into_iter().chain(places.map(|place| place.folder)) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        Ok(folders)
    }
}

/// The name of the project at `place` among all projects, and how it was recognised; a free name if
/// none is.
fn chosen(known: &[Placed], place: &Place, names: &[String]) -> (String, Option<Mark>) {
    // What was merged into another project is that project now.
    let name_of = |known: &Placed| known.into.as_ref().unwrap_or(&known.name).clone();
    let read = |known: &Placed| known.place.as_deref().and_then(Place::read);
    let same = known
        .iter()
        .filter_map(|known| Some((read(known)?.recognises(place)?, known)))
        .min_by_key(|(mark, _)| *mark);
    if let Some((mark, same)) = same {
        return (name_of(same), Some(mark));
    }
    let free = names.iter().find_map(|name| match known.iter().find(|known| known.name == *name) {
        None => Some(name.clone()),
        Some(known) => known.place.is_none().then(|| name_of(known)),
    });
    let first = names.first().map_or(UNNAMED, String::as_str);
    (free.unwrap_or_else(|| format!("{first}.{}", known.len())), None)
}

/// The call of a caller whose project's name was taken by another repository after it was chosen.
/// Its project has another name now.
pub(crate) fn moved(tx: &mut Tx<'_>, envelope: &Envelope) -> Result<Envelope, Error> {
    let mut envelope = envelope.clone();
    if let Some(place) = &envelope.context.place {
        (envelope.project, _) = chosen(&tx.places()?, place, &envelope.context.names);
    }
    let covered = envelope.actor.reach.covers_project(&envelope.project);
    covered.map_err(|missing| Error::from(Refusal::OutOfReach { missing }))?;
    Ok(envelope)
}

/// The places of a project among all: its own, then those of the projects that were merged into it.
fn places_of(project: &str, places: Vec<Placed>) -> Vec<Place> {
    let is_own = |known: &Placed| known.into.as_ref().unwrap_or(&known.name) == project;
    let (merged, own): (Vec<Placed>, Vec<Placed>) =
        places.into_iter().filter(is_own).partition(|known| known.into.is_some());
    let read = |known: Placed| known.place.as_deref().and_then(Place::read);
    own.into_iter().chain(merged).filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(origin: Option<&str>, root: Option<&str>, folder: &str) -> Place {
        let (origin, root_commit) = (origin.map(str::to_owned), root.map(str::to_owned));
        Place { origin, root_commit, folder: folder.to_owned(), clones: Vec::new() }
    }

    /// Contract, Context: origin, else root commit, else git directory; the first that both sides
    /// have decides.
    #[test]
    fn the_first_property_that_both_sides_have_decides() {
        let (o, r) = (Some("h/a"), Some("1"));
        for (known, caller, expected) in [
            (place(o, r, "f"), place(o, Some("2"), "g"), Some(Mark::Origin)),
            (place(o, r, "f"), place(Some("h/b"), r, "f"), None),
            (place(None, r, "f"), place(o, r, "g"), Some(Mark::RootCommit)),
            (place(o, r, "f"), place(None, r, "g"), Some(Mark::RootCommit)),
            (place(None, r, "f"), place(o, Some("2"), "f"), None),
            (place(None, None, "f"), place(o, r, "f"), Some(Mark::Folder)),
            (place(o, None, "f"), place(None, r, "f"), Some(Mark::Folder)),
            (place(o, None, "f"), place(None, r, "g"), None),
            // `git init` in a folder that is in use.
            (place(None, None, "/f"), place(None, None, "/f/.git"), Some(Mark::Folder)),
            (place(None, None, "/f"), place(o, r, "/f/.git"), Some(Mark::Folder)),
            (place(None, None, "/f/.git"), place(None, None, "/f"), None),
            (place(o, None, "/f"), place(None, r, "/f/.git"), None),
        ] {
            assert_eq!(known.recognises(&caller), expected, "{known:?} {caller:?}");
        }
    }

    #[test]
    fn a_place_is_completed_by_what_becomes_known_later() {
        let (o, r) = (Some("h/a"), Some("1"));
        let known = place(None, r, "f");
        assert_eq!(known.completed_by(&place(o, r, "f")), Some(place(o, r, "f")));
        assert_eq!(known.completed_by(&known), None);
        assert_eq!(place(o, None, "f").completed_by(&place(o, r, "g")), Some(place(o, r, "f")));
        assert_eq!(known.completed_by(&place(o, Some("2"), "f")), None, "another project");
        // The origin of a clone recognises the project, and the repository may still get its own.
        let cloned = known.completed_by(&place(Some("/f"), r, "g")).unwrap();
        let published = cloned.completed_by(&place(o, r, "f")).unwrap();
        assert_eq!(published.origin.as_deref(), o);
        assert_eq!(published.recognises(&place(Some("/f"), None, "g")), Some(Mark::Origin));
        assert_eq!(published.completed_by(&place(Some("/f"), r, "g")), None);
        let plain = place(None, None, "/f");
        assert_eq!(plain.completed_by(&place(o, r, "/f/.git")), Some(place(o, r, "/f/.git")));
    }
}
