//! The ids of the requests of one connection that are not answered yet.
//!
//! The library tracks only one request per id, so a second one would be executed without an answer.
//! A request is in progress in the library, or it is answered late: a plain call that waits for
//! another process. A cancelled request is never answered.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;

/// How many ids of cancelled requests are remembered.
const CANCELLED_MAX: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// Passed on to the library.
    unanswered: HashSet<RequestId>,
    /// Answered by tasks of their own.
    late: Arc<Mutex<HashSet<RequestId>>>,
    /// The last ones that the client cancelled. They do not count as busy, but their ids cannot be
    /// used again.
    cancelled: VecDeque<RequestId>,
}

impl InFlight {
    pub(super) fn begin(&mut self, id: &RequestId) {
        self.unanswered.insert(id.clone());
    }

    pub(super) fn answered(&mut self, id: &RequestId) {
        self.unanswered.remove(id);
    }

    /// How many requests are not answered yet?
    pub(super) fn count(&self) -> usize {
        self.unanswered.len() + lock(&self.late).len()
    }

    /// Is another request than this one not answered yet?
    pub(super) fn has_other(&self, id: &RequestId) -> bool {
        self.unanswered.iter().any(|other| other != id) || !lock(&self.late).is_empty()
    }

    /// Is a request with this id not answered yet, or was it cancelled?
    pub(super) fn is_used(&self, id: &RequestId) -> bool {
        self.cancelled.contains(id) || self.unanswered.contains(id) || lock(&self.late).contains(id)
    }

    /// The client no longer waits for a request. False if it was answered already.
    pub(super) fn cancel(&mut self, id: &RequestId) -> bool {
        if !self.unanswered.remove(id) && !lock(&self.late).remove(id) {
            return false;
        }
        if self.cancelled.len() >= CANCELLED_MAX {
            self.cancelled.pop_front();
        }
        self.cancelled.push_back(id.clone());
        true
    }

    /// A task will answer this request.
    pub(super) fn answer_late(&mut self, id: RequestId) -> Late {
        self.unanswered.remove(&id);
        lock(&self.late).insert(id.clone());
        Late { id, late: Arc::clone(&self.late) }
    }
}

/// The right to answer a request late.
#[derive(Debug)]
pub(super) struct Late {
    id: RequestId,
    late: Arc<Mutex<HashSet<RequestId>>>,
}

impl Late {
    /// Ends the request. Did the client still wait for its answer?
    pub(super) fn was_wanted(self) -> bool {
        lock(&self.late).remove(&self.id)
    }
}

/// The set is only inserted into and removed from, so a panic cannot leave it half-changed.
fn lock(late: &Mutex<HashSet<RequestId>>) -> MutexGuard<'_, HashSet<RequestId>> {
    late.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_answer_was_wanted_until_the_request_is_cancelled() {
        let (one, two) = (RequestId::Number(1), RequestId::Number(2));
        let mut requests = InFlight::default();
        requests.begin(&one);
        let late = requests.answer_late(one.clone());
        assert!(requests.is_used(&one) && requests.has_other(&two));
        assert_eq!(requests.count(), 1);
        assert!(late.was_wanted());
        assert!(!requests.is_used(&one), "answered: the id is free again");

        requests.begin(&two);
        let late = requests.answer_late(two.clone());
        assert!(requests.cancel(&two));
        assert!(!late.was_wanted());
        assert!(requests.is_used(&two) && !requests.cancel(&two));
        assert_eq!(requests.count(), 0);
    }
}
