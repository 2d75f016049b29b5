//! The attacks of `attack` over HTTP: real tokens, a real server, and the client that remote stores
//! use. The answers are held to the same table.

use std::sync::Arc;

use punchlist_core::{Ids, Reach, Role, Time, TokenId};
use punchlist_ops::catalogue::{CATALOGUE, Effect};
use punchlist_ops::{Envelope, Ops, clock};
use punchlist_server::http::{Limits, Server, Settings};
use punchlist_server::remote::{Address, RemoteStore};
use punchlist_store::Options;
use punchlist_store::rows::tokens::Token;
use punchlist_testkit::{Backend, World};
use sha2::{Digest, Sha256};

use crate::attack::{changes, elsewhere, fault, outsider};
use crate::every_operation::{caller, working_input};

/// A token in the store, for whoever an envelope is about; gives its id and its secret.
fn token_for(world: &World, envelope: &Envelope, number: u128) -> (TokenId, String) {
    let secret = format!("punch_{number:064x}");
    let digest: String =
        Sha256::digest(secret.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let id = TokenId::from(Ids::new(world.now, number).ulid());
    let token = Token {
        id,
        role: envelope.actor.role,
        agent: Some(envelope.actor.agent.clone()),
        reach: envelope.actor.reach.clone(),
        created_by: "operator".to_owned(),
        created_at: world.now,
        expires_at: None,
        revoked_at: None,
        used_at: None,
    };
    let written = world.ops.store().unwrap().write(move |tx| tx.insert_token(&token, &digest));
    written.unwrap();
    (id, secret)
}

fn fixed() -> Time {
    Time::parse("2026-11-15T08:00:00Z").unwrap()
}

/// Every operation, role and reach, each with its own token, over one server.
fn no_token_gets_around_the_table_over_http(backend: Backend, reaches: usize) {
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
            fixtures: false,
        };
        let server = Server::bind(ops, settings).unwrap();
        let (address, handle) = (Address::parse(&server.url()).unwrap(), server.handle());
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
                let client = RemoteStore::new(&address, Some(secret), None).unwrap();
                let remote = Ops::over(Box::new(client));
                let answer = remote.call(operation, &envelope, input.clone());
                // A token sees itself, which is there in this world.
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
    #[test]
    fn no_token_gets_around_the_table_over_http() {
        super::no_token_gets_around_the_table_over_http(
            punchlist_testkit::Backend::SqliteFile,
            usize::MAX,
        );
    }
}

mod postgres {
    /// What a reach covers is decided above the database; one of them shows that it is asked.
    #[test]
    fn no_token_gets_around_the_table_over_http() {
        super::no_token_gets_around_the_table_over_http(punchlist_testkit::Backend::Postgres, 1);
    }
}
