//! Models by name, opened once, each with patience.

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

    /// With a model that is there already, under this name.
    pub fn put(&self, name: &str, model: Arc<dyn Model>) {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.insert(name.to_owned(), model);
    }
}

impl Models for Shelf {
    fn open(&self, spec: &str) -> Result<Arc<dyn Model>, Fault> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = opened.get(spec) {
            return Ok(Arc::clone(model));
        }
        let env = |name: &str| std::env::var(name).ok();
        let model = choose::open(spec, &self.settings, &env)?;
        let model: Arc<dyn Model> = Arc::new(Patient::new(model, Patience::default()));
        opened.insert(spec.to_owned(), Arc::clone(&model));
        Ok(model)
    }
}
