//! Candidates for a name a person typed: the newest things of each kind that has no numbers, with
//! their ids and texts.

use punchlist_core::ProjectId;
use punchlist_core::naming::Candidate;

use crate::{Error, Tx, sql};

/// How many of each kind are searched, newest first.
const NEWEST: i64 = 1000;

/// A kind of thing that is named by its id or its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    Gate,
    OpenGate,
    Session,
    Run,
    Delegation,
    Conversation,
    Token,
}

impl Tx<'_> {
    pub fn candidates(&mut self, project: ProjectId, of: Named) -> Result<Vec<Candidate>, Error> {
        let project = project.to_string();
        let statement = match of {
            Named::Gate => {
                sql!("SELECT id, text FROM gates WHERE project_id = $1 ORDER BY id DESC LIMIT $2")
            }
            Named::OpenGate => sql!(
                "SELECT id, text FROM gates WHERE project_id = $1 AND state = 'open' \
                 ORDER BY id DESC LIMIT $2"
            ),
            Named::Session => sql!(
                "SELECT id, title FROM sessions WHERE project_id = $1 ORDER BY id DESC LIMIT $2"
            ),
            Named::Run => {
                sql!("SELECT id, '' FROM runs WHERE project_id = $1 ORDER BY id DESC LIMIT $2")
            }
            Named::Delegation => sql!(
                "SELECT id, mission FROM delegations WHERE project_id = $1 \
                 ORDER BY id DESC LIMIT $2"
            ),
            Named::Conversation => sql!(
                "SELECT id, title FROM conversations WHERE project_id = $1 \
                 ORDER BY id DESC LIMIT $2"
            ),
            // Tokens belong to the store, and only callers that may list them get here.
            Named::Token => sql!(
                "SELECT id, role FROM tokens WHERE CAST($1 AS TEXT) IS NOT NULL \
                 ORDER BY id DESC LIMIT $2"
            ),
        };
        self.query(statement, &[(&project).into(), NEWEST.into()], |row| {
            Ok(Candidate::new(row.text(0)?, row.text(1)?))
        })
    }
}
