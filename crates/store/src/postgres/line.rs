//! The library's client over one socket, driven by the calling thread: it sends requests together
//! and waits for their responses.
//!
//! A statement is prepared together with its second use, without an extra round trip. The first use,
//! and every use through a pooler, sends the statement's text.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio_postgres::{AsyncMessage, Client, Config, Connection, Statement};

use super::fault::{self, Refused, closed, late, masked, said_in_session};
use super::request::{Done, Key, Request, key, prepare, prepared, text, typed};
use super::socket::{AsItIs, Control, Socket, Wait};
use crate::Error;

/// How long the message that ends a connection may take.
const FAREWELL_TIME_MAX: Duration = Duration::from_secs(1);

/// What the server knows about a statement.
enum Known {
    UsedOnce,
    Asked,
    Prepared(Statement),
}

/// A connection to a server, with the statements it knows.
pub(super) struct Line {
    client: Option<Client>,
    connection: Connection<Socket, Socket>,
    control: Arc<Control>,
    statements: HashMap<Key, Known>,
    is_named: bool,
    limit: Duration,
    lost: Option<Error>,
    /// Was it lost because the server did not answer in time?
    is_late: bool,
    /// Payloads of notifications that have arrived.
    notified: Vec<String>,
    /// The password, which must not appear in any error.
    secret: Option<String>,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Line {{ statements: {} }}", self.statements.len())
    }
}

type Flight<'f> = Pin<Box<dyn Future<Output = Result<Done, tokio_postgres::Error>> + 'f>>;

impl Line {
    /// Logs in over a socket; its control has the deadline.
    pub(super) fn open(
        config: &Config,
        socket: Socket,
        control: Arc<Control>,
        is_named: bool,
    ) -> Result<Self, Refused> {
        let password = config.get_password().map(String::from_utf8_lossy);
        let secret = password.filter(|text| !text.is_empty()).map(|text| text.into_owned());
        let mut login = Box::pin(config.connect_raw(socket, AsItIs));
        match login.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok((client, connection))) => {
                control.wait(Wait::Never);
                Ok(Self {
                    client: Some(client),
                    connection,
                    control,
                    statements: HashMap::new(),
                    is_named,
                    limit: Duration::ZERO,
                    lost: None,
                    is_late: false,
                    notified: Vec::new(),
                    secret,
                })
            }
            Poll::Ready(Err(error)) => Err(Refused::said(&error, secret.as_deref())),
            // The socket itself blocks, so a pending result means that the deadline has passed.
            Poll::Pending => Err(late().into()),
        }
    }

    /// Sets the time limit for responses from now on.
    pub(super) const fn answers_within(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Is the connection lost, or did the server send something we cannot parse?
    pub(super) const fn is_broken(&self) -> bool {
        self.lost.is_some()
    }

    /// Is the connection lost because the server did not answer in time?
    pub(super) const fn is_late(&self) -> bool {
        self.is_late
    }

    /// Sends one query as text. Returns all values of the result.
    pub(super) fn ask(&mut self, sql: &str, deadline: Instant) -> Result<Vec<String>, Error> {
        let done = self.run_until(&[Request::Text(sql.to_owned())], deadline).pop();
        done.unwrap_or_else(|| Err(late())).map(|done| done.texts)
    }

    /// Sends all requests at once and waits for their results, which are in the same order. After a
    /// failed request the server still executes the next one; inside a transaction it refuses it.
    pub(super) fn run(&mut self, requests: &[Request]) -> Vec<Result<Done, Error>> {
        self.run_until(requests, Instant::now() + self.limit)
    }

    pub(super) fn run_until(
        &mut self,
        requests: &[Request],
        deadline: Instant,
    ) -> Vec<Result<Done, Error>> {
        self.control.begin(deadline);
        let mut answers = Vec::with_capacity(requests.len());
        let Self { client: Some(client), statements, is_named, secret, .. } = self else {
            return answers;
        };
        let mut flights: Vec<Flight<'_>> = Vec::with_capacity(requests.len() + 1);
        let mut wanted = Vec::with_capacity(requests.len() + 1);
        for request in requests {
            match request {
                Request::Text(sql) => flights.push(Box::pin(text(client, sql))),
                Request::Statement { sql, params } => {
                    let known = statements.get(&key(sql));
                    if let Some(Known::Prepared(statement)) = known {
                        let statement = statement.clone();
                        flights.push(Box::pin(prepared(client, statement, params)));
                    } else {
                        if *is_named && matches!(known, Some(Known::UsedOnce)) {
                            statements.insert(key(sql), Known::Asked);
                            flights.push(Box::pin(prepare(client, sql)));
                            wanted.push(false);
                        } else if known.is_none() {
                            statements.insert(key(sql), Known::UsedOnce);
                        }
                        flights.push(Box::pin(typed(client, sql, params)));
                    }
                }
            }
            wanted.push(true);
        }
        let landed = Driver {
            connection: &mut self.connection,
            control: &self.control,
            notified: &mut self.notified,
            lost: &mut self.lost,
        }
        .land(flights);
        self.is_late |= self.lost.is_some() && self.control.is_late();
        let mut is_fatal = false;
        for (answer, is_wanted) in landed.into_iter().zip(wanted) {
            if let Err(error) = &answer {
                is_fatal |= fault::is_fatal(error);
            }
            if let Ok(Done { prepared: Some((key, statement)), .. }) = &answer {
                statements.insert(*key, Known::Prepared(statement.clone()));
            }
            if is_wanted {
                let lost = self.lost.as_ref();
                answers.push(answer.map_err(|error| match lost {
                    Some(lost) if error.is_closed() => lost.clone(),
                    _ => masked(said_in_session(&error), secret.as_deref()),
                }));
            }
        }
        // A statement whose preparation failed is prepared again later.
        statements.retain(|_, known| !matches!(known, Known::Asked));
        if is_fatal && self.lost.is_none() {
            self.lost = Some(closed());
        }
        let lost = self.lost.clone().unwrap_or_else(late);
        answers.resize_with(requests.len(), || Err(lost.clone()));
        answers
    }

    /// Waits for notifications. Returns none if the deadline passes.
    pub(super) fn listen(&mut self, deadline: Instant) -> Result<Vec<String>, Error> {
        self.control.begin(deadline);
        let mut driver = Driver {
            connection: &mut self.connection,
            control: &self.control,
            notified: &mut self.notified,
            lost: &mut self.lost,
        };
        driver.step(Wait::Never);
        while driver.notified.is_empty() && driver.lost.is_none() && !driver.control.is_late() {
            driver.step(Wait::Once);
        }
        match &self.lost {
            Some(lost) if self.notified.is_empty() => Err(lost.clone()),
            _ => Ok(std::mem::take(&mut self.notified)),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.client = None;
        if self.lost.is_none() {
            // Without its client, the library sends the server a termination message. The deadline
            // of the last response has usually passed.
            self.control.begin(Instant::now() + FAREWELL_TIME_MAX);
            self.control.wait(Wait::Never);
            let mut context = Context::from_waker(Waker::noop());
            drop(self.connection.poll_message(&mut context));
        }
    }
}

/// Drives the requests that are in progress.
struct Driver<'d> {
    connection: &'d mut Connection<Socket, Socket>,
    control: &'d Control,
    notified: &'d mut Vec<String>,
    lost: &'d mut Option<Error>,
}

impl Driver<'_> {
    /// Waits for all results. If the connection ends, some are missing.
    fn land(&mut self, flights: Vec<Flight<'_>>) -> Vec<Result<Done, tokio_postgres::Error>> {
        let mut context = Context::from_waker(Waker::noop());
        let mut landed = Vec::with_capacity(flights.len());
        // The first poll of a request sends it, so poll them in this order.
        let mut flying: VecDeque<_> = flights
            .into_iter()
            .map(|mut flight| {
                let looked = flight.as_mut().poll(&mut context);
                (flight, looked)
            })
            .collect();
        let mut is_all_handed_out = false;
        loop {
            while let Some((flight, looked)) = flying.front_mut() {
                if looked.is_pending() {
                    *looked = flight.as_mut().poll(&mut context);
                }
                if looked.is_pending() {
                    break;
                }
                if let Some((_, Poll::Ready(answer))) = flying.pop_front() {
                    landed.push(answer);
                }
            }
            if flying.is_empty() || self.lost.is_some() {
                return landed;
            }
            // Sends what is pending, and delivers what was already read, before waiting for more.
            if !is_all_handed_out {
                self.step(Wait::Never);
                is_all_handed_out = self.control.wants_more();
                continue;
            }
            self.step(Wait::Once);
            is_all_handed_out = false;
            if self.control.is_late() && self.lost.is_none() {
                *self.lost = Some(late());
            }
        }
    }

    /// Lets the library send, read as far as allowed, and deliver what it has read.
    fn step(&mut self, wait: Wait) {
        self.control.wait(wait);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            match self.connection.poll_message(&mut context) {
                Poll::Ready(Some(Ok(AsyncMessage::Notification(notification)))) => {
                    self.notified.push(notification.payload().to_owned());
                }
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(error))) => {
                    *self.lost = Some(said_in_session(&error));
                    return;
                }
                Poll::Ready(None) => {
                    *self.lost = Some(closed());
                    return;
                }
                Poll::Pending => return,
            }
        }
    }
}
