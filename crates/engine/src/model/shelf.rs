//! Models by name, each opened once and with retries.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::choose::{self, Settings};
use super::patient::{Patience, Patient};
use super::{Fault, Model};
use crate::agent::Models;

/// Models that have been opened.
#[derive(Default)]
pub struct Shelf {
    settings: Settings,
    opened: Mutex<HashMap<String, Arc<dyn Model>>>,
}

impl std::fmt::Debug for Shelf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelf").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Shelf {
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, opened: Mutex::default() }
    }

    /// Adds a model under this name.
    pub fn put(&self, name: &str, model: Arc<dyn Model>) {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.insert(name.to_owned(), model);
    }
}

impl Models for Shelf {
    fn open(&self, spec: &str, effort: Option<&str>) -> Result<Arc<dyn Model>, Fault> {
        let key = effort.map_or_else(|| spec.to_owned(), |effort| format!("{spec} {effort}"));
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = opened.get(&key) {
            return Ok(Arc::clone(model));
        }
        let env = |name: &str| std::env::var(name).ok();
        let effort = effort.map(str::to_owned).or_else(|| self.settings.effort.clone());
        let settings = Settings { effort, ..self.settings.clone() };
        let model = choose::open(spec, &settings, &env)?;
        let model: Arc<dyn Model> = Arc::new(Patient::new(model, Patience::default()));
        opened.insert(key, Arc::clone(&model));
        Ok(model)
    }
}
