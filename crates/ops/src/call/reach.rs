//! Does the caller's token reach something? This is the only file that determines the place of a
//! thing and asks the core whether the token covers it, for reads and writes.
//!
//! Every function of `Call` that finds a row by an id or a name checks it here before it returns
//! the row. For a token that is not narrowed, nothing is looked up.

use punchlist_core::conversation::Conversation;
use punchlist_core::{
    AgentPath, ConversationId, Delegation, DelegationId, Gate, GateId, Issue, IssueId, ListId,
    Mission, MissionId, Place, Refusal, Run, RunId, Scope, Session, SessionId, TodoId,
};
use punchlist_store::rows::lists::{Lock, TodoKey};

use super::Call;
use crate::Error;

/// A thing that the caller named only by an id or number, and does not reach, is reported as
/// unknown: any other error would reveal where it is.
pub(crate) fn or_unknown<T>(
    reached: Result<T, Error>,
    unknown: impl FnOnce() -> Error,
) -> Result<T, Error> {
    reached.map_err(|error| match &error {
        Error::Refused(refusal) if matches!(**refusal, Refusal::OutOfReach { .. }) => unknown(),
        _ => error,
    })
}

impl Call<'_, '_> {
    /// Does the caller's token reach this place?
    pub(crate) fn reach(&self, place: &Place) -> Result<(), Error> {
        let covered = self.envelope.actor.reach.covers(place);
        covered.map_err(|missing| Refusal::OutOfReach { missing }.into())
    }

    /// Does the caller's token reach the whole project, and not only a part of it?
    pub(crate) fn reach_project(&self) -> Result<(), Error> {
        self.reach(&Place::project())
    }

    /// Does the caller's token reach this mission, or one of its pillars?
    pub(crate) fn reach_part_of_mission(&self, slug: &str) -> Result<(), Error> {
        let covered = self.envelope.actor.reach.covers_part_of(slug);
        covered.map_err(|missing| Refusal::OutOfReach { missing }.into())
    }

    /// Does the caller's token reach this pillar?
    pub(crate) fn reach_pillar(&self, mission: &Mission, pillar: &str) -> Result<(), Error> {
        self.reach(&Place::pillar(&mission.slug, pillar))
    }

    pub(crate) fn reach_issue(&mut self, issue: &Issue) -> Result<(), Error> {
        self.reach_if_narrowed(|call| call.place_of_issue(issue.id))
    }

    pub(crate) fn reach_session(&mut self, session: &Session) -> Result<(), Error> {
        self.reach_if_narrowed(|call| call.place_of_session(session))
    }

    pub(crate) fn reach_gate(&mut self, gate: &Gate) -> Result<(), Error> {
        self.reach_if_narrowed(|call| call.place_of_gate(gate))
    }

    pub(crate) fn reach_delegation(&mut self, delegation: &Delegation) -> Result<(), Error> {
        self.reach_if_narrowed(|call| call.place_of_delegation(delegation))
    }

    pub(crate) fn reach_run(&mut self, run: &Run) -> Result<(), Error> {
        self.reach_if_narrowed(|call| call.place_of_run(run))
    }

    pub(crate) fn reach_conversation(&mut self, conversation: &Conversation) -> Result<(), Error> {
        self.reach_if_narrowed(|call| call.place_of_conversation(conversation))
    }

    pub(crate) fn reach_scope(&mut self, scope: &Scope) -> Result<(), Error> {
        self.reach_if_narrowed(|call| call.place_of_scope(scope))
    }

    pub(crate) fn reach_todo(&mut self, todo: TodoId) -> Result<(), Error> {
        self.reach_if_narrowed(|call| call.place_of_todo(todo))
    }

    /// Does the caller's token reach this agent?
    pub(crate) fn reach_agent(&self, agent: &AgentPath) -> Result<(), Error> {
        let reached = self.envelope.actor.reaches_agent(agent);
        reached.map_err(|missing| Refusal::OutOfReach { missing }.into())
    }

    /// Does the caller's token reach the subject of an event in the log?
    pub(crate) fn reaches_aggregate(&mut self, aggregate: &str) -> Result<bool, Error> {
        if !self.envelope.actor.reach.is_narrowed() {
            return Ok(true);
        }
        // What the project had is elsewhere now, perhaps under the number of another issue.
        if self.is_merged()? {
            return Ok(false);
        }
        let place = self.place_of_aggregate(aggregate)?;
        Ok(self.envelope.actor.reach.covers(&place).is_ok())
    }

    fn reach_if_narrowed(
        &mut self,
        place: impl FnOnce(&mut Self) -> Result<Place, Error>,
    ) -> Result<(), Error> {
        if !self.envelope.actor.reach.is_narrowed() {
            return Ok(());
        }
        let place = place(self)?;
        self.reach(&place)
    }

    fn place_of_issue(&mut self, id: IssueId) -> Result<Place, Error> {
        let number = self.tx.issue_number(id)?;
        let session = self.tx.session_id_on(id)?.map(|session| session.to_string());
        Ok(Place { number, session, ..Place::default() })
    }

    /// The place of a session is its issue. A session without an issue is reached only by its
    /// starter.
    fn place_of_session(&mut self, session: &Session) -> Result<Place, Error> {
        let number = match session.bound_issue {
            Some(id) => self.tx.issue_number(id)?,
            None => None,
        };
        let own = session.is_only_of(&self.envelope.actor);
        Ok(Place { number, session: Some(session.id.to_string()), own, ..Place::default() })
    }

    fn place_of_session_id(&mut self, id: Option<SessionId>) -> Result<Option<Place>, Error> {
        let Some(id) = id else { return Ok(None) };
        match self.tx.session_by_id(id)? {
            Some(session) => self.place_of_session(&session).map(Some),
            None => Ok(None),
        }
    }

    /// A gate stays with the issue it was asked on, even if its session is bound elsewhere now.
    fn place_of_gate(&mut self, gate: &Gate) -> Result<Place, Error> {
        if let Some(todo) = gate.todo_id {
            return self.place_of_todo(todo);
        }
        self.place_on(gate.issue_id, gate.session_id)
    }

    fn place_of_delegation(&mut self, delegation: &Delegation) -> Result<Place, Error> {
        if let Some(todo) = delegation.todo_id {
            return self.place_of_todo(todo);
        }
        self.place_on(delegation.issue_id, delegation.session_id)
    }

    /// Work that began on an issue stays in that issue's place. Other work is in its session's
    /// place.
    fn place_on(
        &mut self,
        issue: Option<IssueId>,
        session: Option<SessionId>,
    ) -> Result<Place, Error> {
        let Some(issue) = issue else {
            return Ok(self.place_of_session_id(session)?.unwrap_or_default());
        };
        let number = self.tx.issue_number(issue)?;
        let session = session.map(|id| id.to_string());
        Ok(Place { number, session, ..Place::default() })
    }

    fn place_of_run(&mut self, run: &Run) -> Result<Place, Error> {
        let mut place = self.place_of_session_id(run.session_id)?.unwrap_or_default();
        if let Some(Scope::Plan { plan_file, .. }) = &run.plan {
            place.plan_file = Some(plan_file.clone());
        }
        if run.mission.is_some() {
            (place.mission, place.pillar) = (run.mission.clone(), run.pillar.clone());
        }
        Ok(place)
    }

    fn place_of_conversation(&mut self, conversation: &Conversation) -> Result<Place, Error> {
        if let Some(about) = &conversation.about {
            let pillar = about.pillar.as_ref().map(|(_, slug)| slug.clone());
            return Ok(Place { pillar, ..Place::mission(&about.mission_slug) });
        }
        match self.tx.session_of_conversation(conversation.id)? {
            Some(session) => self.place_of_session(&session),
            None => Ok(Place::project()),
        }
    }

    fn place_of_scope(&mut self, scope: &Scope) -> Result<Place, Error> {
        Ok(match scope {
            Scope::Pillar { mission, pillar } => Place::pillar(mission, pillar),
            Scope::Plan { plan_file, .. } => Place::plan(plan_file),
            Scope::Issue { issue_id } => match IssueId::parse(issue_id) {
                Some(id) => self.place_of_issue(id)?,
                None => Place::project(),
            },
            Scope::Session { session_id } => {
                self.place_of_session_id(SessionId::parse(session_id))?.unwrap_or_default()
            }
            // A turn belongs to the session whose chat it is in.
            Scope::Turn { conversation_id, .. } => {
                let session = match ConversationId::parse(conversation_id) {
                    Some(id) => self.tx.session_of_conversation(id)?,
                    None => None,
                };
                match session {
                    Some(session) => self.place_of_session(&session)?,
                    None => Place::project(),
                }
            }
        })
    }

    fn place_of_todo(&mut self, todo: TodoId) -> Result<Place, Error> {
        let Some(project) = self.project()? else { return Ok(Place::project()) };
        match self.tx.list_of(project, TodoKey::Id(todo))? {
            Some((list, _)) => self.place_of_scope(&list.scope),
            None => Ok(Place::project()),
        }
    }

    /// An event names its subject by id only, so each table is asked whether it has that id.
    fn place_of_aggregate(&mut self, aggregate: &str) -> Result<Place, Error> {
        let Some(project) = self.project()? else { return Ok(Place::project()) };
        if let Some(list) = ListId::parse(aggregate).map(|id| self.tx.list_by_id(id)).transpose()?
            && let Some(list) = list
        {
            return self.place_of_scope(&list.scope);
        }
        if let Some(id) = IssueId::parse(aggregate)
            && self.tx.issue_number(id)?.is_some()
        {
            return self.place_of_issue(id);
        }
        if let Some(place) = self.place_of_session_id(SessionId::parse(aggregate))? {
            return Ok(place);
        }
        if let Some(id) = ConversationId::parse(aggregate)
            && let Some(conversation) = self.tx.conversation(project, id)?
        {
            return self.place_of_conversation(&conversation);
        }
        if let Some(id) = GateId::parse(aggregate)
            && let Some(gate) = self.tx.gate(project, id, Lock::No)?
        {
            return self.place_of_gate(&gate);
        }
        if let Some(id) = RunId::parse(aggregate)
            && let Some((run, _)) = self.tx.run(project, id, Lock::No)?
        {
            return self.place_of_run(&run);
        }
        if let Some(id) = DelegationId::parse(aggregate)
            && let Some((delegation, _)) = self.tx.delegation(project, id, Lock::No)?
        {
            return self.place_of_delegation(&delegation);
        }
        if let Some(id) = MissionId::parse(aggregate)
            && let Some(mission) = self.tx.mission_by_id(id)?
        {
            return Ok(Place::mission(&mission.slug));
        }
        Ok(Place::project())
    }
}
