//! Limits for each caller: requests, streams, and invalid tokens.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use punchlist_core::TokenId;
use punchlist_ops::Proof;
use punchlist_ops::web_fault::WebFault;

/// The limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest body of a request, in bytes.
    pub body_max: usize,
    /// Largest total of its headers, in bytes.
    pub headers_max: usize,
    /// How long a request may take to arrive.
    pub arrival: Duration,
    /// How long a client may read nothing of a response.
    pub progress: Duration,
    /// Requests per second for each principal; 0: unlimited.
    pub requests_per_s: u32,
    /// Open event streams per principal, and in total.
    pub streams_each: usize,
    pub streams_all: usize,
    /// Invalid tokens per minute from one address.
    pub failures_per_min: u32,
    /// Simultaneous connections.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_max: 8 << 20,
            headers_max: 64 << 10,
            arrival: Duration::from_secs(30),
            progress: Duration::from_secs(60),
            requests_per_s: 200,
            streams_each: 100,
            streams_all: 2_000,
            failures_per_min: 10,
            connections: 4_096,
        }
    }
}

/// For how many addresses failures are counted.
const ADDRESSES_MAX: usize = 10_000;

/// Whose limit a request counts against: a token's, or that of all callers without a token.
type Key = Option<TokenId>;

const fn key(proof: Proof) -> Key {
    match proof {
        Proof::Token(id) => Some(id),
        _ => None,
    }
}

#[derive(Debug)]
pub(crate) struct Limiter {
    pub(crate) limits: Limits,
    requests: Mutex<HashMap<Key, Bucket>>,
    failures: Mutex<HashMap<IpAddr, (Instant, u32)>>,
    streams: Mutex<HashMap<Key, usize>>,
    streams_all: AtomicUsize,
}

/// The requests that are left of a second's limit.
#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts one more for a key. Returns false if the key has reached its maximum.
fn count<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: K, most: usize) -> bool {
    let count = counts.entry(key).or_default();
    let fits = *count < most;
    *count += usize::from(fits);
    fits
}

impl Limiter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            requests: Mutex::default(),
            failures: Mutex::default(),
            streams: Mutex::default(),
            streams_all: AtomicUsize::new(0),
        }
    }

    /// Counts a request of this caller.
    pub(crate) fn request(&self, proof: Proof) -> Result<(), WebFault> {
        self.request_at(proof, Instant::now())
    }

    fn request_at(&self, proof: Proof, now: Instant) -> Result<(), WebFault> {
        let limit = self.limits.requests_per_s;
        if limit == 0 {
            return Ok(());
        }
        let most = f64::from(limit);
        let mut requests = lock(&self.requests);
        let bucket = requests.entry(key(proof)).or_insert(Bucket { left: most, at: now });
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        (bucket.left, bucket.at) = ((bucket.left + since * most).min(most), now);
        if bucket.left < 1.0 {
            return Err(WebFault::TooManyRequests { limit });
        }
        bucket.left -= 1.0;
        Ok(())
    }

    /// Counts an invalid token from this address. Refuses if there were too many.
    pub(crate) fn failed(&self, from: IpAddr) -> Result<(), WebFault> {
        self.failed_at(from, Instant::now())
    }

    fn failed_at(&self, from: IpAddr, now: Instant) -> Result<(), WebFault> {
        let minute = Duration::from_secs(60);
        let mut failures = lock(&self.failures);
        if failures.len() >= ADDRESSES_MAX {
            failures.retain(|_, (since, _)| now.saturating_duration_since(*since) < minute);
        }
        if failures.len() >= ADDRESSES_MAX {
            failures.clear();
        }
        let (since, count) = failures.entry(from).or_insert((now, 0));
        if now.saturating_duration_since(*since) >= minute {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        match *count > self.limits.failures_per_min {
            true => Err(WebFault::TooManyFailures),
            false => Ok(()),
        }
    }

    /// Reserves a slot for one more stream. Dropping the slot frees it.
    pub(crate) fn stream(self: &Arc<Self>, proof: Proof) -> Result<Place, WebFault> {
        let Limits { streams_each, streams_all, .. } = self.limits;
        if self.streams_all.fetch_add(1, Ordering::SeqCst) >= streams_all {
            self.streams_all.fetch_sub(1, Ordering::SeqCst);
            return Err(WebFault::TooManyStreams { limit: streams_all });
        }
        let key = key(proof);
        if !count(&mut lock(&self.streams), key, streams_each) {
            self.streams_all.fetch_sub(1, Ordering::SeqCst);
            return Err(WebFault::TooManyStreams { limit: streams_each });
        }
        Ok(Place { limiter: Arc::clone(self), key })
    }

    /// How many streams are open.
    pub(crate) fn streams_open(&self) -> usize {
        self.streams_all.load(Ordering::SeqCst)
    }
}

/// The slot of an open stream.
#[derive(Debug)]
pub(crate) struct Place {
    limiter: Arc<Limiter>,
    key: Key,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut streams = lock(&self.limiter.streams);
        if let Some(count) = streams.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                streams.remove(&self.key);
            }
        }
        self.limiter.streams_all.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(limits: Limits) -> Arc<Limiter> {
        Arc::new(Limiter::new(limits))
    }

    #[test]
    fn requests_are_limited_per_second_and_allowed_again_later() {
        let limiter = limiter(Limits { requests_per_s: 2, ..Limits::default() });
        let start = Instant::now();
        let at = |millis| limiter.request_at(Proof::Http, start + Duration::from_millis(millis));
        assert_eq!([at(0), at(1)], [Ok(()), Ok(())]);
        assert_eq!(at(2).unwrap_err().code(), "rate_limited");
        let id = TokenId::from(punchlist_core::Ids::new(Time::from_micros(0), 1).ulid());
        let other = Proof::Token(id);
        assert_eq!(limiter.request_at(other, start), Ok(()));
        assert_eq!(at(520), Ok(()));
        assert!(at(530).is_err());
    }

    use punchlist_core::Time;

    #[test]
    fn more_than_ten_invalid_tokens_in_a_minute_are_refused_as_too_many() {
        let limiter = limiter(Limits::default());
        let (here, there) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let start = Instant::now();
        for _ in 0..10 {
            assert_eq!(limiter.failed_at(here, start), Ok(()));
        }
        assert_eq!(limiter.failed_at(here, start), Err(WebFault::TooManyFailures));
        assert_eq!(limiter.failed_at(there, start), Ok(()));
        assert_eq!(limiter.failed_at(here, start + Duration::from_secs(61)), Ok(()));
    }

    #[test]
    fn a_stream_that_ends_makes_room_for_another() {
        let limiter = limiter(Limits { streams_each: 2, streams_all: 3, ..Limits::default() });
        let first = limiter.stream(Proof::Http).unwrap();
        let _second = limiter.stream(Proof::Http).unwrap();
        assert_eq!(limiter.stream(Proof::Http).unwrap_err().code(), "too_many_streams");
        drop(first);
        assert!(limiter.stream(Proof::Http).is_ok());
        assert_eq!(limiter.streams_open(), 1);
    }
}
