//! Identities: ULID newtypes, and the source that hands out fresh ones.
//!
//! Ids are ULIDs inside; a model's own id is kept apart as `external_id`. Nothing here is
//! random: the caller of `decide` brings one random base, and `Ids` counts up from it, so that the
//! same call gives the same ids and a batch keeps its order.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::Ulid;

/// The pattern of an id for a JSON Schema: the 26 characters of a ULID.
pub const PATTERN: &str = "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$";

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Ulid);

        impl $name {
            /// Reads the 26 characters of a ULID; `None` for any other text.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                // Fewer bits than 26 characters hold: the decoder would drop the first ones.
                let fits = text.as_bytes().first().is_some_and(|first| *first <= b'7');
                Ulid::from_string(text).ok().filter(|_| fits).map(Self)
            }

            /// The 16 bytes it is made of.
            #[must_use]
            pub const fn to_bytes(self) -> [u8; 16] {
                self.0.to_bytes()
            }
        }

        impl From<Ulid> for $name {
            fn from(ulid: Ulid) -> Self {
                Self(ulid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<'de, str>::deserialize(deserializer)?;
                Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not a ULID"))
            }
        }

        crate::schema::plain!($name is "string" like PATTERN,);
    };
}

id!(
    /// One execution of an agent's loop.
    RunId
);
id!(
    /// A project: the git root, or the one named with `--project`.
    ProjectId
);
id!(
    /// An issue; people call it by its number.
    IssueId
);
id!(
    /// A list, the container of todos.
    ListId
);
id!(
    /// A todo, an item of a list.
    TodoId
);

id!(
    /// A token; not its secret.
    TokenId
);
id!(
    /// A session of an agent; the host's own id for it is stored separately.
    SessionId
);
id!(
    /// A pause for a person.
    GateId
);
id!(
    /// A line of an issue's ledger.
    UpdateId
);
id!(
    /// A link between two issues.
    LinkId
);
id!(
    /// A chat.
    ConversationId
);
id!(
    /// A message of a chat.
    MessageId
);
id!(
    /// Work delegated to another agent.
    DelegationId
);
id!(
    /// A mission; people call it by its slug.
    MissionId
);
id!(
    /// A pillar of a mission.
    PillarId
);
id!(
    /// Something a pillar is measured by.
    MetricId
);
id!(
    /// A strategy of a pillar.
    StrategyId
);

/// Fresh ids for one decision: a base from the caller, then counting up.
#[derive(Clone, Debug)]
pub struct Ids {
    next: u128,
}

impl Ids {
    /// `random` fills the lower 80 bits; the time goes in front, as a ULID has it. The top bit
    /// of the random part is cleared so that counting up cannot run into the time.
    #[must_use]
    pub fn new(now: crate::Time, random: u128) -> Self {
        const RANDOM_BITS: u128 = (1 << 79) - 1;
        let milliseconds =
            u128::from((now.micros() / 1000).max(0).unsigned_abs()) & ((1 << 48) - 1);
        Self { next: (milliseconds << 80) | (random & RANDOM_BITS) }
    }

    /// The next id, larger than all before it.
    pub fn ulid(&mut self) -> Ulid {
        let ulid = Ulid(self.next);
        self.next = self.next.wrapping_add(1);
        ulid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ulids_that_count_up_and_survive_text() {
        //
        let mut ids = Ids::new(crate::Time::from_micros(1_700_000_000_000_000), u128::MAX);
        let first = TodoId::from(ids.ulid());
        let second = TodoId::from(ids.ulid());
        assert!(first < second);
        assert_eq!(first.to_string().len(), 26);
        assert_eq!(TodoId::parse(&first.to_string()), Some(first));
        assert_eq!(TodoId::parse("1"), None);
        assert_eq!(TodoId::parse("task-3"), None);
        assert_eq!(TodoId::parse(&first.to_string().to_lowercase()), Some(first));
        let beyond = first.to_string().replacen('0', "8", 1);
        assert_eq!(TodoId::parse(&beyond), None, "it would be read as another id");
    }
}
