//! Chats and their messages, whose texts stand here and not in the log.

use punchlist_core::conversation::{Channel, Conversation, Message, MessageKind, Speaker};
use punchlist_core::event::{ConversationOpened, MessagePosted};
use punchlist_core::{ConversationId, MessageId, ProjectId};

use super::events::Stamp;
use super::{time, word};
use crate::{Error, Tx, sql};

impl Tx<'_> {
    /// A new chat.
    pub fn open_conversation(
        &mut self,
        conversation: &Conversation,
        stamp: &Stamp,
    ) -> Result<(), Error> {
        let (id, project) = (conversation.id.to_string(), conversation.project_id.to_string());
        self.write(
            sql!(
                "INSERT INTO conversations (id, project_id, channel, title, created_at) \
                 VALUES ($1, $2, $3, $4, $5)"
            ),
            &[
                (&id).into(),
                (&project).into(),
                conversation.channel.name().into(),
                (&conversation.title).into(),
                conversation.created_at.micros().into(),
            ],
        )?;
        let opened = ConversationOpened { conversation: conversation.clone() };
        self.append(stamp, &id, &opened.into())
    }

    /// A new message.
    pub fn post(&mut self, message: &Message, stamp: &Stamp) -> Result<(), Error> {
        let (id, conversation) = (message.id.to_string(), message.conversation_id.to_string());
        self.write(
            sql!(
                "INSERT INTO messages (id, conversation_id, role, kind, author, text, created_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7)"
            ),
            &[
                (&id).into(),
                (&conversation).into(),
                message.role.name().into(),
                message.kind.name().into(),
                (&message.author).into(),
                (&message.text).into(),
                message.created_at.micros().into(),
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
        project_id: ProjectId,
        id: ConversationId,
    ) -> Result<Option<Conversation>, Error> {
        let (project, text) = (project_id.to_string(), id.to_string());
        self.first(
            sql!(
                "SELECT channel, title, created_at FROM conversations \
                 WHERE project_id = $1 AND id = $2"
            ),
            &[(&project).into(), (&text).into()],
            |row| {
                let channel = word("channel", &row.text(0)?, Channel::parse)?;
                let (title, created_at) = (row.text(1)?, time(row, 2)?);
                Ok(Conversation { id, project_id, channel, title, created_at })
            },
        )
    }

    /// Messages of a chat after one, the oldest first.
    pub fn messages(
        &mut self,
        conversation_id: ConversationId,
        after: Option<&str>,
        limit: i64,
    ) -> Result<Vec<Message>, Error> {
        let conversation = conversation_id.to_string();
        self.query(
            sql!(
                "SELECT id, role, kind, author, text, created_at FROM messages \
                 WHERE conversation_id = $1 AND (CAST($2 AS TEXT) IS NULL \
                 OR row > (SELECT row FROM messages WHERE id = $2)) ORDER BY row LIMIT $3"
            ),
            &[(&conversation).into(), after.into(), limit.into()],
            |row| {
                Ok(Message {
                    id: word("message id", &row.text(0)?, MessageId::parse)?,
                    conversation_id,
                    role: word("speaker", &row.text(1)?, Speaker::parse)?,
                    kind: word("message kind", &row.text(2)?, MessageKind::parse)?,
                    author: row.text(3)?,
                    text: row.text(4)?,
                    created_at: time(row, 5)?,
                })
            },
        )
    }
}
