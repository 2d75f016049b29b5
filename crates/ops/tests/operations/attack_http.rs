//! The attacks of `attack` over HTTP: real tokens, a real server, and the client for remote stores
//! or messages to `/mcp`. The expected answers are the same.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use punchlist_core::{Reach, Role, Time};
use punchlist_ops::catalogue::{CATALOGUE, Effect, Operation};
use punchlist_ops::remote::RemoteContext;
use punchlist_ops::{Envelope, Error, Ops, clock};
use punchlist_server::http::{Limits, Server, Settings};
use punchlist_server::remote::{Address, RemoteStore};
use punchlist_store::Options;
use punchlist_testkit::attack::{Answer, changes, elsewhere, fault, outsider, token_for};
use punchlist_testkit::examples::{caller, working_input};
use punchlist_testkit::{Backend, World};
use serde_json::{Value, json};

fn fixed() -> Time {
    Time::parse("2026-11-15T08:00:00Z").unwrap()
}

/// A way to call the server. Parameters: address, token, envelope, operation, input.
type Way = fn(&str, &str, &Envelope, &'static Operation, &Value) -> Answer;

/// Calls like a command line with a remote store.
fn by_remote(
    url: &str,
    secret: &str,
    envelope: &Envelope,
    operation: &'static Operation,
    input: &Value,
) -> Answer {
    let client =
        RemoteStore::new(&Address::parse(url).unwrap(), Some(secret.to_owned()), None).unwrap();
    Ops::over(Box::new(client)).call(operation, envelope, input.clone())
}

/// Calls like a host of agents. A tool can be called by its name even if it is not listed.
fn by_mcp(
    url: &str,
    secret: &str,
    envelope: &Envelope,
    operation: &'static Operation,
    input: &Value,
) -> Answer {
    let address = url.trim_start_matches("http://");
    let context = RemoteContext::of(envelope).to_header().unwrap();
    let params = json!({ "name": operation.name, "arguments": input });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let body = message.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n\
         Authorization: Bearer {secret}\r\nPunchlist-Context: {context}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut socket = TcpStream::connect(address).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    socket.read_to_string(&mut reply).unwrap();
    let (_, text) = reply.split_once("\r\n\r\n").unwrap();
    let mut said: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{reply}"));
    if said.get("jsonrpc").is_none() {
        return Err(Error::from_problem(said).unwrap());
    }
    let mut output = said["result"]["structuredContent"].take();
    if said["result"]["isError"] == false {
        return Ok(output);
    }
    let mut error = output["error"].take();
    error["detail"] = error["message"].take();
    Err(Error::from_problem(error).unwrap_or_else(|| panic!("{reply}")))
}

/// Every operation, role and reach, each with its own token, over one server.
fn no_token_gets_around_the_table(backend: Backend, reaches: usize, way: Way) {
    let mut faults = Vec::new();
    for operation in CATALOGUE {
        let world = World::new(backend);
        let input = working_input(&world, operation);
        let ops = Arc::new(Ops::new(world.store.target().clone(), Options::default()));
        let settings = Settings {
            listen: ([127, 0, 0, 1], 0).into(),
            tls: None,
            public_url: None,
            project: None,
            agents: caller(&world, operation).agents,
            clock: fixed,
            limits: Limits { requests_per_s: 0, ..Limits::default() },
            read_change: |_, _| Err(punchlist_core::change::Unread::NoFolder),
            fixtures: false,
        };
        let server = Server::bind(ops, settings).unwrap();
        let (url, handle) = (server.url(), server.handle());
        let running = std::thread::spawn(move || server.run());
        let mut number = clock::now().micros().unsigned_abs().into();
        for role in Role::ALL {
            for reach in elsewhere().into_iter().take(reaches).chain([Reach::default()]) {
                let envelope = outsider(&world, operation, role, &reach);
                let is_elsewhere = reach != Reach::default();
                if !is_elsewhere && operation.access.allows(role) {
                    continue;
                }
                number += 1;
                let (id, secret) = token_for(&world, &envelope, number);
                let answer = way(&url, &secret, &envelope, operation, &input);
                // Every token sees itself, and in this world the tokens are in the store.
                if operation.effect != Effect::Pure && operation.name != "token_list" {
                    faults.extend(fault(operation, role, &reach, &answer));
                }
                let may_change = operation.effect == Effect::Write && answer.is_ok();
                let mut changed = changes(&world, 0);
                changed.retain(|line| line["proof"] == format!("token:{id}"));
                if !may_change && !changed.is_empty() {
                    faults.push(format!("{} as {role} changed {changed:?}", operation.name));
                }
            }
        }
        handle.stop();
        running.join().unwrap().unwrap();
    }
    assert_eq!(faults, Vec::<String>::new());
}

mod sqlite {
    use punchlist_testkit::Backend::SqliteFile;

    use super::{by_mcp, by_remote, no_token_gets_around_the_table};

    #[test]
    fn no_token_gets_around_the_table_over_http() {
        no_token_gets_around_the_table(SqliteFile, usize::MAX, by_remote);
    }

    #[test]
    fn no_token_gets_around_the_table_over_mcp() {
        no_token_gets_around_the_table(SqliteFile, usize::MAX, by_mcp);
    }
}

/// The code above the database decides what a reach covers, so one reach is enough here.
mod postgres {
    use punchlist_testkit::Backend::Postgres;

    use super::{by_mcp, by_remote, no_token_gets_around_the_table};

    #[test]
    fn no_token_gets_around_the_table_over_http() {
        no_token_gets_around_the_table(Postgres, 1, by_remote);
    }

    #[test]
    fn no_token_gets_around_the_table_over_mcp() {
        no_token_gets_around_the_table(Postgres, 1, by_mcp);
    }
}
