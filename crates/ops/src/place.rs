//! Which project a folder belongs to: decided by its repository or folder, not by its name alone.
//! And back: the folders where the commits of a project may be.

use punchlist_core::SessionId;
use punchlist_store::Target;

use crate::envelope::Place;
use crate::{Error, Ops};

impl Ops {
    /// The name of the project at `place`. `names` are candidates for a new project, best first. A
    /// known repository keeps its name wherever it is; a name that another project has is not used.
    pub fn project_at(&self, place: &Place, names: &[String]) -> Result<String, Error> {
        if let Some(remote) = self.remote() {
            return remote.project_at(place, names);
        }
        let first = names.first().cloned().unwrap_or_else(|| "default".to_owned());
        // Reading must not create a store.
        if matches!(self.target(), Target::File(file) if !file.exists()) {
            return Ok(first);
        }
        let known = self.store()?.read(|tx| tx.places())?;
        let read = |text: &String| serde_json::from_str::<Place>(text).ok();
        let same = known
            .iter()
            .find(|(_, text)| text.as_ref().and_then(read).is_some_and(|known| known.is(place)));
        if let Some((name, _)) = same {
            return Ok(name.clone());
        }
        let is_free = |name: &&String| {
            let taken = known.iter().find(|(known, _)| known == *name);
            taken.is_none_or(|(_, place)| place.is_none())
        };
        Ok(names
            .iter()
            .find(is_free)
            .cloned()
            .unwrap_or_else(|| format!("{first}.{}", known.len())))
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
        let own = places.into_iter().find(|(name, _)| name == project).and_then(|(_, place)| place);
        let own = own.and_then(|text| serde_json::from_str::<Place>(&text).ok());
        let mut folders: Vec<String> = Vec::new();
        for folder in found.into_iter().chain(own.map(|place| place.folder)) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        Ok(folders)
    }
}
