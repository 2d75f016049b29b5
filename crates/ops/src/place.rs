//! Which project a folder belongs to: decided by its repository or folder, not by its name alone.

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
}
