//! A small pool of blocking connections. They are created on demand and reused; if all are in use,
//! a caller waits, but not forever.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::{Address, PgConnection};
use crate::{Error, ErrorKind, Options};

#[derive(Debug)]
pub(super) struct Pool {
    address: Box<Address>,
    connections_max: usize,
    state: Mutex<State>,
    came_back: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<PgConnection>,
    out: usize,
}

impl Pool {
    pub(super) fn new(url: &str, options: Options) -> Result<Self, Error> {
        let address = Box::new(Address::parse(url, options)?);
        let connections_max = address.pool_size.unwrap_or(options.connections_max).max(1);
        Ok(Self { address, connections_max, state: Mutex::default(), came_back: Condvar::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a connection for exclusive use. It must be returned with `give_back`, or dropped as a
    /// [`Taken`], which frees its slot.
    pub(super) fn take(&self) -> Result<Taken<'_>, Error> {
        let deadline = Instant::now() + self.address.pool_timeout();
        let mut state = self.state();
        loop {
            while let Some(connection) = state.idle.pop() {
                if !connection.is_broken() {
                    state.out += 1;
                    return Ok(Taken { pool: self, connection: Some(connection) });
                }
            }
            if state.out < self.connections_max {
                break;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.all_in_use());
            }
            let woken = self.came_back.wait_timeout(state, left);
            (state, _) = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state.out += 1;
        drop(state);
        let mut taken = Taken { pool: self, connection: None };
        taken.connection = Some(PgConnection::connect(&self.address)?);
        Ok(taken)
    }

    /// A connection that does not belong to the pool, for what lasts as long as a session. `None`
    /// behind a pooler, which has no sessions of ours.
    pub(super) fn beside(&self) -> Result<Option<PgConnection>, Error> {
        match self.address.is_pooler {
            true => Ok(None),
            false => PgConnection::connect(&self.address).map(Some),
        }
    }

    fn all_in_use(&self) -> Error {
        let (all, waited_s) = (self.connections_max, self.address.pool_timeout().as_secs());
        let detail = match all {
            1 => "the only connection to the server has".to_owned(),
            _ => format!("all {all} connections to the server have"),
        };
        let detail = format!(
            "{detail} been in use for {waited_s} s; if this happens often, add ?pool_size= with a \
             larger number to the URL"
        );
        Error::new(ErrorKind::Busy, detail)
    }

    /// Returns a connection that is fit for the next job.
    pub(super) fn give_back(&self, mut taken: Taken<'_>) {
        if let Some(mut connection) = taken.connection.take_if(|taken| !taken.is_broken()) {
            connection.mark_used();
            self.state().idle.push(connection);
        }
    }
}

/// A connection in use. Its slot is freed when it is dropped, whatever happened to it.
#[derive(Debug)]
pub(super) struct Taken<'a> {
    pool: &'a Pool,
    connection: Option<PgConnection>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let is_late = self.connection.as_ref().is_some_and(PgConnection::is_late);
        let mut state = self.pool.state();
        state.out -= 1;
        // The server does not answer on the idle connections either. Each would cost its next user
        // the whole time limit.
        let silent = if is_late { std::mem::take(&mut state.idle) } else { Vec::new() };
        drop(state);
        self.pool.came_back.notify_one();
        drop(silent);
    }
}

impl std::ops::Deref for Taken<'_> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        match &self.connection {
            Some(connection) => connection,
            None => unreachable!("a taken connection is there until it is given back"),
        }
    }
}

impl std::ops::DerefMut for Taken<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        match &mut self.connection {
            Some(connection) => connection,
            None => unreachable!("a taken connection is there until it is given back"),
        }
    }
}
