//! Chats and their messages. The texts are stored here and not in the log.

use punchlist_core::conversation::{About, Channel, Conversation, Message, MessageKind, Speaker};
use punchlist_core::event::{ConversationOpened, MessagePosted};
use punchlist_core::{
    ConversationId, MessageId, MissionId, PillarId, ProjectId, RunId, SessionId, Time,
};

use super::events::Stamp;
use super::{reach, reach_text, time, word};
use crate::sql::Row;
use crate::{Error, Tx, sql};

macro_rules! columns {
    () => {
        "id, project_id, channel, title, created_at, mission_id, mission_slug, pillar_id, \
         pillar_slug"
    };
}

macro_rules! message_columns {
    () => {
        "id, role, kind, author, text, created_at, run_id, part, reach"
    };
}

/// Which chats to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedConversations {
    pub mission: Option<String>,
    pub pillar: Option<String>,
    pub channel: Option<Channel>,
    pub session: Option<SessionId>,
    /// Only ids greater than this one.
    pub above: Option<String>,
}

/// Which messages of a chat to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WantedMessages<'a> {
    /// Only those after this one.
    pub after: Option<&'a str>,
    /// Only those before this one.
    pub before: Option<&'a str>,
    /// The newest of them, not the oldest.
    pub is_newest: bool,
}

macro_rules! select_messages {
    ($order:literal) => {
        concat!(
            "SELECT ",
            message_columns!(),
            " FROM messages WHERE conversation_id = $1 \
             AND (CAST($2 AS TEXT) IS NULL OR row > (SELECT row FROM messages WHERE id = $2)) \
             AND (CAST($3 AS TEXT) IS NULL OR row < (SELECT row FROM messages WHERE id = $3)) \
             ORDER BY row ",
            $order,
            " LIMIT $4"
        )
    };
}

impl Tx<'_> {
    /// Inserts a chat.
    pub fn open_conversation(
        &mut self,
        conversation: &Conversation,
        stamp: &Stamp,
    ) -> Result<(), Error> {
        let (id, project) = (conversation.id.to_string(), conversation.project_id.to_string());
        let about = conversation.about.as_ref();
        let pillar = about.and_then(|about| about.pillar.as_ref());
        let mission_id = about.map(|about| about.mission_id.to_string());
        let pillar_id = pillar.map(|(id, _)| id.to_string());
        self.write(
            sql!(
                "INSERT INTO conversations (",
                columns!(),
                ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
            ),
            &[
                (&id).into(),
                (&project).into(),
                conversation.channel.name().into(),
                (&conversation.title).into(),
                conversation.created_at.micros().into(),
                mission_id.as_deref().into(),
                about.map(|about| &about.mission_slug).into(),
                pillar_id.as_deref().into(),
                pillar.map(|(_, slug)| slug).into(),
            ],
        )?;
        let opened = ConversationOpened { conversation: conversation.clone() };
        self.append(stamp, &id, &opened.into())
    }

    pub(super) fn title_conversation(
        &mut self,
        id: ConversationId,
        title: &str,
    ) -> Result<(), Error> {
        let id = id.to_string();
        self.write(
            sql!("UPDATE conversations SET title = $2 WHERE id = $1"),
            &[(&id).into(), title.into()],
        )
    }

    /// Inserts a message.
    pub fn post(&mut self, message: &Message, stamp: &Stamp) -> Result<(), Error> {
        let (id, conversation) = (message.id.to_string(), message.conversation_id.to_string());
        let run = message.run_id.map(|id| id.to_string());
        let part = message.part.as_ref().map(serde_json::to_string).transpose()?;
        let reach = reach_text(&message.reach)?;
        self.write(
            sql!(
                "INSERT INTO messages (id, conversation_id, role, kind, author, text, created_at, \
                 run_id, part, reach) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
            ),
            &[
                (&id).into(),
                (&conversation).into(),
                message.role.name().into(),
                message.kind.name().into(),
                (&message.author).into(),
                (&message.text).into(),
                message.created_at.micros().into(),
                run.as_deref().into(),
                part.as_deref().into(),
                reach.as_deref().into(),
            ],
        )?;
        let posted = MessagePosted {
            message_id: message.id,
            conversation_id: message.conversation_id,
            role: message.role,
            kind: message.kind,
        };
        self.append(stamp, &conversation, &posted.into())
    }

    pub fn conversation(
        &mut self,
        project: ProjectId,
        id: ConversationId,
    ) -> Result<Option<Conversation>, Error> {
        let (project, id) = (project.to_string(), id.to_string());
        self.first(
            sql!("SELECT ", columns!(), " FROM conversations WHERE project_id = $1 AND id = $2"),
            &[(&project).into(), (&id).into()],
            read,
        )
    }

    /// The name of the project of a chat.
    pub fn home_of_conversation(&mut self, id: ConversationId) -> Result<Option<String>, Error> {
        let id = id.to_string();
        self.first(
            sql!(
                "SELECT p.name FROM conversations AS c JOIN projects AS p ON p.id = c.project_id \
                 WHERE c.id = $1"
            ),
            &[(&id).into()],
            |row| row.text(0),
        )
    }

    /// The chats of a project, oldest first.
    pub fn conversations(
        &mut self,
        project: ProjectId,
        wanted: &WantedConversations,
        limit: i64,
    ) -> Result<Vec<Conversation>, Error> {
        let project = project.to_string();
        self.query(
            sql!(
                "SELECT ",
                columns!(),
                " FROM conversations WHERE project_id = $1 \
                 AND (CAST($2 AS TEXT) IS NULL OR mission_slug = $2) \
                 AND (CAST($3 AS TEXT) IS NULL OR pillar_slug = $3) \
                 AND (CAST($4 AS TEXT) IS NULL OR channel = $4) \
                 AND (CAST($5 AS TEXT) IS NULL OR id = (SELECT s.conversation_id \
                 FROM sessions AS s WHERE s.id = $5)) \
                 AND (CAST($6 AS TEXT) IS NULL OR id > $6) ORDER BY id LIMIT $7"
            ),
            &[
                (&project).into(),
                wanted.mission.as_deref().into(),
                wanted.pillar.as_deref().into(),
                wanted.channel.map(Channel::name).into(),
                wanted.session.map(|id| id.to_string()).as_deref().into(),
                wanted.above.as_deref().into(),
                limit.into(),
            ],
            read,
        )
    }

    /// The messages of a chat, oldest first.
    pub fn messages(
        &mut self,
        conversation_id: ConversationId,
        wanted: &WantedMessages<'_>,
        limit: i64,
    ) -> Result<Vec<Message>, Error> {
        let conversation = conversation_id.to_string();
        let statement = match wanted.is_newest {
            true => sql!(select_messages!("DESC")),
            false => sql!(select_messages!("ASC")),
        };
        let params =
            [(&conversation).into(), wanted.after.into(), wanted.before.into(), limit.into()];
        let mut found = self.query(statement, &params, |row| read_message(conversation_id, row))?;
        if wanted.is_newest {
            found.reverse();
        }
        Ok(found)
    }

    /// The newest messages of a chat, oldest first. The caller leaves out what a summary replaces.
    pub fn newest_messages(
        &mut self,
        conversation_id: ConversationId,
        limit: i64,
    ) -> Result<Vec<Message>, Error> {
        let conversation = conversation_id.to_string();
        let mut newest = self.query(
            sql!(
                "SELECT ",
                message_columns!(),
                " FROM messages WHERE conversation_id = $1 ORDER BY row DESC LIMIT $2"
            ),
            &[(&conversation).into(), limit.into()],
            |row| read_message(conversation_id, row),
        )?;
        newest.reverse();
        Ok(newest)
    }

    /// The last message of a person or an agent in a chat up to this time.
    pub fn said_before(
        &mut self,
        conversation: ConversationId,
        by: Time,
    ) -> Result<Option<String>, Error> {
        let conversation = conversation.to_string();
        self.first(
            sql!(
                "SELECT text FROM messages WHERE conversation_id = $1 AND role = 'user' \
                 AND kind = 'text' AND created_at <= $2 ORDER BY row DESC LIMIT 1"
            ),
            &[(&conversation).into(), by.micros().into()],
            |row| row.text(0),
        )
    }

    /// One message of a chat.
    pub fn message(
        &mut self,
        conversation_id: ConversationId,
        id: &str,
    ) -> Result<Option<Message>, Error> {
        let conversation = conversation_id.to_string();
        self.first(
            sql!(
                "SELECT ",
                message_columns!(),
                " FROM messages WHERE id = $2 AND conversation_id = $1"
            ),
            &[(&conversation).into(), id.into()],
            |row| read_message(conversation_id, row),
        )
    }
}

fn read_message(conversation_id: ConversationId, row: &Row<'_>) -> Result<Message, Error> {
    Ok(Message {
        id: word("message id", row.str(0)?, MessageId::parse)?,
        conversation_id,
        role: word("speaker", row.str(1)?, Speaker::parse)?,
        kind: word("message kind", row.str(2)?, MessageKind::parse)?,
        author: row.text(3)?,
        text: row.text(4)?,
        created_at: time(row, 5)?,
        run_id: row.opt_str(6)?.map(|id| word("run id", id, RunId::parse)).transpose()?,
        part: row.opt_str(7)?.map(serde_json::from_str).transpose()?,
        reach: reach(row, 8)?,
    })
}

fn read(row: &Row<'_>) -> Result<Conversation, Error> {
    let about = match (row.opt_text(5)?, row.opt_text(6)?) {
        (Some(id), Some(mission_slug)) => {
            let pillar = match (row.opt_text(7)?, row.opt_text(8)?) {
                (Some(id), Some(slug)) => Some((word("pillar id", &id, PillarId::parse)?, slug)),
                _ => None,
            };
            let mission_id = word("mission id", &id, MissionId::parse)?;
            Some(About { mission_id, mission_slug, pillar })
        }
        _ => None,
    };
    Ok(Conversation {
        id: word("conversation id", row.str(0)?, ConversationId::parse)?,
        project_id: word("project id", row.str(1)?, ProjectId::parse)?,
        channel: word("channel", row.str(2)?, Channel::parse)?,
        title: row.text(3)?,
        about,
        created_at: time(row, 4)?,
    })
}
