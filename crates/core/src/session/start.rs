//! Start a session.

use serde::{Deserialize, Serialize};

use super::{Session, SessionState, keeper};
use crate::authority::Action;
use crate::event::SessionStarted;
use crate::text::Title;
use crate::{By, ConversationId, Decide, Decision, ProjectId, Refused, SessionId};

/// Begin a session with a chat of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartSession {
    pub title: Title,
    pub conversation_id: ConversationId,
    pub host: Option<Title>,
    pub external_id: Option<Title>,
    pub directory: Option<String>,
}

impl Decide for StartSession {
    type On<'a> = ProjectId;
    type Out = Decision;

    fn decide(
        &self,
        project_id: Self::On<'_>,
        By { actor, now, ids }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        keeper(actor, Action::Start)?;
        let session = Session {
            id: SessionId::from(ids.ulid()),
            project_id,
            title: self.title.as_str().to_owned(),
            state: SessionState::Active,
            bound_issue: None,
            conversation_id: self.conversation_id,
            host: self.host.clone().map(Title::into_string),
            external_id: self.external_id.clone().map(Title::into_string),
            directory: self.directory.clone(),
            paused_by: None,
            reach: actor.reach.clone(),
            started_by: actor.principal.clone(),
            created_at: now,
            updated_at: now,
            ended_at: None,
        };
        let events = vec![SessionStarted { session: Box::new(session) }.into()];
        Ok(Decision { events, ..Decision::default() })
    }
}
