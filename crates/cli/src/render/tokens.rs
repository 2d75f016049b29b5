//! Tokens for people: the secret is shown once, everything else at any time.

use punchlist_core::Time;
use punchlist_ops::operations::{sign_in_link, store_identity, token_list, token_new};
use punchlist_ops::token::IdentityRule;

use super::columns::aligned;
use super::times::relative;
use super::{short, short_among};
use crate::output::{BOLD, DIM, GREEN, YELLOW, line, width};

pub(super) fn made(output: &token_new::Output, now: Time) -> String {
    let ends = match output.expires_at {
        Some(time) => format!("ends {}", relative(time, now)),
        None => "does not expire".to_owned(),
    };
    let (role, token, id) = (output.role, line(&output.token), short(&output.id));
    let reach = line(&output.reach.words());
    let unknown = match output.unknown.is_empty() {
        true => String::new(),
        false => format!(
            "{YELLOW}There is no {} yet.{YELLOW:#}\n",
            line(&output.unknown.join(" and no "))
        ),
    };
    format!(
        "{GREEN}Created{GREEN:#} a token for the role {role}; it {ends}.\n\
         It reaches {reach}.\n{unknown}  {BOLD}{token}{BOLD:#}\n\
         {DIM}The secret is not shown again. Set PUNCHLIST_TOKEN to it. \
         Revoke it with: punch token revoke {id}{DIM:#}\n"
    )
}

/// A link that signs a browser in.
pub(super) fn link(output: &sign_in_link::Output, now: Time) -> String {
    match output.urls.first() {
        None => "No server runs on this store. `punch serve --open` starts one.\n".to_owned(),
        Some(url) => {
            let ends = relative(output.expires_at, now);
            format!("{}\n{DIM}The link works once and ends {ends}.{DIM:#}\n", line(url))
        }
    }
}

pub(super) fn listed(output: &token_list::Output, now: Time) -> String {
    if output.tokens.is_empty() {
        return "There are no tokens. `punch token new --role …` creates one.\n".to_owned();
    }
    let ids: Vec<&str> = output.tokens.iter().map(|token| token.id.as_str()).collect();
    let rows = output.tokens.iter().map(|token| {
        let is_over = |time: &Time| *time <= now;
        let over = token.expires_at.filter(is_over);
        let over = over.map(|time| format!("expired {}", relative(time, now)));
        let ends = token.expires_at.map(|time| format!("ends {}", relative(time, now)));
        let gone = token.revoked_at.map(|time| format!("revoked {}", relative(time, now)));
        let used = token.used_at.map(|time| match relative(time, now) {
            now if now == "now" => "a browser, used just now".to_owned(),
            ago => format!("a browser, used {ago}"),
        });
        vec![
            short_among(&token.id, &ids).to_owned(),
            token.role.name().to_owned(),
            line(token.agent.as_deref().unwrap_or_default()),
            gone.or(over).or(used).or(ends).unwrap_or_else(|| "valid".to_owned()),
            line(&token.reach.words()),
        ]
    });
    aligned(rows.collect(), width())
}

pub(super) fn revoked(token: &token_list::TokenRow) -> String {
    let (id, role) = (short(&token.id), token.role);
    format!("{GREEN}Revoked{GREEN:#} {id} ({role}); it is not valid any more.\n")
}

pub(super) fn identity(output: &store_identity::Output) -> String {
    match output.rule {
        IdentityRule::Tokens => "Every command on this store needs a token.\n".to_owned(),
        IdentityRule::Open => {
            "This store is open: without a token, a person at a terminal is the operator and \
             everything else is an agent.\n"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use punchlist_core::{Reach, Role};

    use super::*;

    #[test]
    fn a_token_that_has_expired_and_a_browser_are_told_apart() {
        let now = Time::from_micros(1_000_000_000_000);
        let at = |seconds: i64| Some(now.plus_seconds(seconds));
        let row = |id: &str, expires_at, used_at| token_list::TokenRow {
            id: id.to_owned(),
            role: Role::Operator,
            agent: None,
            reach: Reach::default(),
            created_by: "operator:primary".to_owned(),
            created_at: now,
            expires_at,
            revoked_at: None,
            used_at,
        };
        let tokens = vec![
            row("01AAAAAAAAAAAAAAAAAAAAAAAA", at(-1_200), None),
            row("01BBBBBBBBBBBBBBBBBBBBBBBB", at(1_200), None),
            row("01CCCCCCCCCCCCCCCCCCCCCCCC", None, at(-120)),
            row("01DDDDDDDDDDDDDDDDDDDDDDDD", None, None),
            row("01EEEEEEEEEEEEEEEEEEEEEEEE", at(-1_200), at(-3_600)),
            row("01FFFFFFFFFFFFFFFFFFFFFFFF", at(1_200), at(-120)),
        ];
        let shown = listed(&token_list::Output { tokens, next_cursor: None }, now);
        let words = [
            "expired 20 min ago",
            "ends in 20 min",
            "a browser, used 2 min ago",
            "valid",
            "expired 20 min ago",
            "a browser, used 2 min ago",
        ];
        assert_eq!(shown.lines().count(), words.len());
        for (line, word) in shown.lines().zip(words) {
            assert!(line.contains(word), "{line} does not say: {word}");
        }
    }
}
