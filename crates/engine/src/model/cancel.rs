//! A request to stop a call, made by another thread. Calls of models and outside tools check it;
//! the runner makes it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A request to stop, shared between threads.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<(Mutex<bool>, Condvar)>);

impl Cancel {
    pub fn cancel(&self) {
        let (is_cancelled, changed) = &*self.0;
        *is_cancelled.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }

    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is cancelled, up to a timeout. Returns false if it timed out.
    #[must_use]
    pub fn is_cancelled_within(&self, timeout: Duration) -> bool {
        let (is_cancelled, changed) = &*self.0;
        let waiting = is_cancelled.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(waiting, timeout, |is_cancelled| !*is_cancelled);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
