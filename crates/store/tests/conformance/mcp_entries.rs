//! What sessions of MCP clients keep: for one caller, changed once, and gone when it is not used.

use punchlist_store::rows::mcp_entries::{EntryKind, Holder};
use punchlist_testkit::{Backend, on_every_store};

use crate::fixture::Fixture;

const URI: &str = "punchlist://test/issue/1";

fn holder(session: &str, owner: &str) -> Holder {
    Holder { session: session.to_owned(), owner: owner.to_owned() }
}

fn an_entry_belongs_to_one_session_and_one_caller(backend: Backend) {
    let fixture = Fixture::new(backend);
    let (now, mine) = (fixture.now, holder("s1", "a"));
    let others = [holder("s1", "b"), holder("s2", "a")];
    let kept = mine.clone();
    fixture
        .store
        .write(move |tx| {
            tx.put_mcp_entry(&kept, EntryKind::Subscription, (URI, "0"), now)?;
            tx.put_mcp_entry(&kept, EntryKind::Subscription, (URI, "1"), now)?;
            tx.put_mcp_entry(&kept, EntryKind::Reply, ("x", "{}"), now)
        })
        .unwrap();
    let listed = |holder: &Holder| {
        let holder = holder.clone();
        fixture.read(move |tx| tx.mcp_entries(&holder, EntryKind::Subscription))
    };
    assert_eq!(listed(&mine), [(URI.to_owned(), "1".to_owned())]);
    for other in &others {
        assert_eq!(listed(other), []);
        let other = other.clone();
        fixture.store.write(move |tx| tx.remove_mcp_entries(&other)).unwrap();
    }
    let asked = mine.clone();
    let reply = fixture.read(move |tx| tx.mcp_entry(&asked, EntryKind::Reply, "x"));
    assert_eq!(reply.as_deref(), Some("{}"));
    let ended = mine.clone();
    fixture
        .store
        .write(move |tx| tx.remove_mcp_entry(&ended, EntryKind::Subscription, URI))
        .unwrap();
    assert_eq!(listed(&mine), []);
    let asked = mine.clone();
    let left = fixture.read(move |tx| tx.mcp_entry(&asked, EntryKind::Reply, "x"));
    assert!(left.is_some(), "only the subscription was removed");
    let all = mine.clone();
    fixture.store.write(move |tx| tx.remove_mcp_entries(&all)).unwrap();
    assert_eq!(fixture.read(move |tx| tx.mcp_entry(&mine, EntryKind::Reply, "x")), None);
}

/// Two streams see the same change; one of them announces it.
fn a_value_is_replaced_once(backend: Backend) {
    let fixture = Fixture::new(backend);
    let (now, mine) = (fixture.now, holder("s1", "a"));
    let change = |old: &'static str, new: &'static str| {
        let mine = mine.clone();
        let kind = EntryKind::Subscription;
        fixture
            .store
            .write(move |tx| tx.change_mcp_entry(&mine, kind, URI, (old, new), now))
            .unwrap()
    };
    assert!(!change("0", "1"), "nothing is there");
    let kept = mine.clone();
    let kind = EntryKind::Subscription;
    fixture.store.write(move |tx| tx.put_mcp_entry(&kept, kind, (URI, "0"), now)).unwrap();
    assert_eq!([change("0", "1"), change("0", "1"), change("1", "2")], [true, false, true]);
}

fn sessions_that_are_not_used_are_forgotten(backend: Backend) {
    let fixture = Fixture::new(backend);
    let (now, kind) = (fixture.now, EntryKind::Subscription);
    let (idle, used) = (holder("idle", "a"), holder("used", "a"));
    let (one, two) = (idle.clone(), used.clone());
    fixture
        .store
        .write(move |tx| {
            tx.put_mcp_entry(&one, kind, (URI, "0"), now)?;
            tx.put_mcp_entry(&two, kind, (URI, "0"), now)?;
            tx.use_mcp_entries(&two, now.plus_seconds(60))?;
            tx.forget_mcp_entries(now.plus_seconds(30))
        })
        .unwrap();
    assert_eq!(fixture.read(move |tx| tx.mcp_entries(&idle, kind)), []);
    assert_eq!(fixture.read(move |tx| tx.mcp_entries(&used, kind)).len(), 1);
}

on_every_store!(
    an_entry_belongs_to_one_session_and_one_caller,
    a_value_is_replaced_once,
    sessions_that_are_not_used_are_forgotten
);
