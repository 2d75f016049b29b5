//! Many issues: a page of them, those that wait or are ready, those that contain words, and the
//! progress of their checklists.
//!
//! The core splits texts into words (`issue::search`); this file only knows how each database
//! searches for them: FTS5 with a query string, PostgreSQL with a `tsquery`.

use std::collections::BTreeMap;

use punchlist_core::issue::progress::Share;
use punchlist_core::{Issue, IssueStatus, ProjectId, Status, Time, TodoKind};

use super::issues::{columns, read, select};
use super::take::hold_until;
use super::word;
use crate::sql::Value;
use crate::{Dialect, Error, Tx, sql};

/// `core::issue::ready::rank`.
macro_rules! rank {
    () => {
        "(CASE priority WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'low' THEN 3 ELSE 2 END \
         * 10000000000 + number)"
    };
}

/// The join begins with what was found. SQLite would first copy the result of `IN (SELECT …)` into a
/// table with a page cache of its own, which costs more than the search.
macro_rules! select_found_by_sqlite {
    ($($condition:expr),+) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM issue_search CROSS JOIN issues WHERE issue_search MATCH $2 \
             AND row = issue_search.rowid AND project_id = $1 AND ",
            $($condition),+
        )
    };
}

macro_rules! select_found_by_postgres {
    ($($condition:expr),+) => {
        select!(
            "id IN (SELECT issue_id FROM issue_search WHERE words @@ CAST($2 AS TEXT)::tsquery) AND ",
            $($condition),+
        )
    };
}

macro_rules! page_of_words {
    ($place_of:expr) => {
        concat!(
            "(CAST($3 AS TEXT) IS NULL OR status = $3) AND number < $4 \
             AND (CAST($6 AS BIGINT) = 0 OR NOT (status = 'resolved' OR status = 'rejected')) \
             AND (CAST($7 AS TEXT) IS NULL OR ",
            $place_of,
            "(labels, $7) > 0) AND (CAST($8 AS TEXT) IS NULL OR assignee = $8) \
             AND (CAST($9 AS BIGINT) = 0 OR id IN (",
            waiting_issues!(),
            ")) ORDER BY number DESC LIMIT $5"
        )
    };
}

/// The ids of the issues of project `$1` that wait for a person: an open gate, a proposal that
/// nobody decided on, or a claim that its reviewer has not answered.
macro_rules! waiting_issues {
    () => {
        "SELECT issue_id AS waiting_id FROM gates WHERE project_id = $1 AND state = 'open' \
         UNION SELECT issue_id FROM delegations WHERE project_id = $1 \
         AND proposal IS NOT NULL AND decision IS NULL \
         UNION SELECT l.scope_outer FROM todos AS t CROSS JOIN lists AS l WHERE l.id = t.list_id \
         AND l.project_id = $1 AND l.kind = 'issue' AND l.archived_at IS NULL \
         AND t.claim IS NOT NULL AND t.kind <> 'criterion' \
         AND (t.status = 'pending' OR t.status = 'in_progress')"
    };
}

/// Labels are searched in their JSON text, where each is in quotes.
macro_rules! narrowed {
    ($place_of:expr) => {
        concat!(
            "(CAST($2 AS TEXT) IS NULL OR status = $2) AND number < $3 \
             AND (CAST($4 AS BIGINT) = 0 OR NOT (status = 'resolved' OR status = 'rejected')) \
             AND (CAST($5 AS TEXT) IS NULL OR ",
            $place_of,
            "(labels, $5) > 0) AND (CAST($6 AS TEXT) IS NULL OR assignee = $6) \
             ORDER BY number DESC LIMIT $7"
        )
    };
}

/// The join begins with what waits, which is little, and not with the issues, which may be many.
macro_rules! select_waiting {
    ($place_of:expr) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM (",
            waiting_issues!(),
            ") AS w CROSS JOIN issues WHERE id = w.waiting_id AND project_id = $1 AND ",
            narrowed!($place_of)
        )
    };
}

macro_rules! not_closed {
    () => {
        "(status = 'open' OR status = 'triaged' OR status = 'in_progress') ORDER BY number"
    };
}

/// Which issues to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub status: Option<IssueStatus>,
    /// Each of these must be the prefix of a word of the issue; empty: no filter.
    pub words: Vec<String>,
    /// Only lower numbers; `None`: from the newest on.
    pub before: Option<i64>,
    /// Only those that are not closed.
    pub open: bool,
    pub label: Option<String>,
    pub assignee: Option<String>,
    /// Only those that wait for a person.
    pub waiting: bool,
}

/// The progress of an issue's checklist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IssueCounts {
    pub criteria: i64,
    /// Accepted.
    pub met: i64,
    /// Claimed and not accepted yet.
    pub claimed: i64,
    pub steps: i64,
    pub steps_closed: i64,
    /// Open and on hold.
    pub held: i64,
}

impl IssueCounts {
    /// Adds the shares of `count` equal items.
    fn add(&mut self, share: Share, count: i64) {
        let of = |counts: bool| if counts { count } else { 0 };
        self.criteria += of(share.criterion);
        self.met += of(share.met);
        self.claimed += of(share.claimed);
        self.steps += of(share.step);
        self.steps_closed += of(share.step_closed);
        self.held += of(share.held);
    }
}

/// What [`IssueCounts`] counts of an item, and how many such items a row stands for.
macro_rules! select_marks {
    ($hold_until:expr, $count:literal) => {
        concat!(
            "SELECT i.number, t.kind, t.status, \
             CAST(CASE WHEN t.claim IS NULL THEN 0 ELSE 1 END AS BIGINT), \
             CAST(CASE WHEN t.hold IS NULL OR ",
            $hold_until,
            " <= $4 THEN 0 ELSE 1 END AS BIGINT), ",
            $count
        )
    };
}

macro_rules! from_checklists {
    () => {
        " FROM issues AS i JOIN lists AS l ON l.project_id = i.project_id \
         AND l.kind = 'issue' AND l.scope_outer = i.id AND l.scope_inner = '' \
         JOIN todos AS t ON t.list_id = l.id WHERE i.project_id = $1 \
         AND i.number BETWEEN $2 AND $3 AND t.removed_at IS NULL"
    };
}

impl Tx<'_> {
    /// The issues of a project, highest number first.
    pub fn issues(
        &mut self,
        project: ProjectId,
        wanted: &Wanted,
        limit: i64,
    ) -> Result<Vec<Issue>, Error> {
        let project = project.to_string();
        let before = wanted.before.unwrap_or(i64::MAX).into();
        let status = Value::from(wanted.status.map(IssueStatus::name));
        if !wanted.words.is_empty() {
            let query = query(self.dialect(), &wanted.words, Match::AllBegin);
            let statement = self.dialect().pick(
                sql!(select_found_by_sqlite!(page_of_words!("instr"))),
                sql!(select_found_by_postgres!(page_of_words!("strpos"))),
            );
            let label = wanted.label.as_ref().map(serde_json::to_string).transpose()?;
            let params = [
                (&project).into(),
                (&query).into(),
                status,
                before,
                limit.into(),
                i64::from(wanted.open).into(),
                label.as_deref().into(),
                wanted.assignee.as_deref().into(),
                i64::from(wanted.waiting).into(),
            ];
            return self.query(statement, &params, read);
        }
        if wanted.waiting || wanted.open || wanted.label.is_some() || wanted.assignee.is_some() {
            return self.issues_narrowed(&project, wanted, status, before, limit);
        }
        match wanted.status {
            Some(_) => self.query(
                sql!(select!("status = $2 AND number < $3 ORDER BY number DESC LIMIT $4")),
                &[(&project).into(), status, before, limit.into()],
                read,
            ),
            None => self.query(
                sql!(select!("number < $2 ORDER BY number DESC LIMIT $3")),
                &[(&project).into(), before, limit.into()],
                read,
            ),
        }
    }

    /// Issues filtered by label and other properties, or those of them that wait for a person.
    fn issues_narrowed(
        &mut self,
        project: &str,
        wanted: &Wanted,
        status: Value,
        before: Value,
        limit: i64,
    ) -> Result<Vec<Issue>, Error> {
        let label = wanted.label.as_ref().map(serde_json::to_string).transpose()?;
        let statement = match wanted.waiting {
            true => {
                self.dialect().pick(sql!(select_waiting!("instr")), sql!(select_waiting!("strpos")))
            }
            false => self
                .dialect()
                .pick(sql!(select!(narrowed!("instr"))), sql!(select!(narrowed!("strpos")))),
        };
        let params = [
            project.into(),
            status,
            before,
            i64::from(wanted.open).into(),
            label.as_deref().into(),
            wanted.assignee.as_deref().into(),
            limit.into(),
        ];
        self.query(statement, &params, read)
    }

    /// Issues that somebody could start (`core::issue::ready`), by urgency, after this rank.
    pub fn ready_issues(
        &mut self,
        project: ProjectId,
        now: Time,
        after: Option<i64>,
        limit: i64,
    ) -> Result<Vec<Issue>, Error> {
        let project = project.to_string();
        self.query(
            sql!(select!(
                "NOT (status = 'resolved' OR status = 'rejected') AND assignment IS NULL \
                 AND assignee IS NULL AND (defer_until IS NULL OR defer_until <= $2) \
                 AND NOT EXISTS (SELECT 1 FROM issue_links AS k JOIN issues AS b \
                 ON b.id = k.to_issue WHERE k.from_issue = issues.id AND k.kind = 'blocked_by' \
                 AND NOT (b.status = 'resolved' OR b.status = 'rejected')) AND ",
                rank!(),
                " > $3 ORDER BY ",
                rank!(),
                " LIMIT $4"
            )),
            &[(&project).into(), now.micros().into(), after.unwrap_or(0).into(), limit.into()],
            read,
        )
    }

    /// The open issues that contain any of these whole words, lowest number first.
    pub fn issues_with_any(
        &mut self,
        project: ProjectId,
        words: &[String],
    ) -> Result<Vec<Issue>, Error> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let project = project.to_string();
        let query = query(self.dialect(), words, Match::AnyIs);
        let statement = self.dialect().pick(
            sql!(select_found_by_sqlite!(not_closed!())),
            sql!(select_found_by_postgres!(not_closed!())),
        );
        self.query(statement, &[(&project).into(), (&query).into()], read)
    }

    /// The progress of the checklists of the issues numbered `first` to `last`. A server groups the
    /// items, so that it sends few rows. SQLite hands over each row for less than sorting it takes.
    pub fn issue_counts(
        &mut self,
        project: ProjectId,
        (first, last): (i64, i64),
        now: Time,
    ) -> Result<BTreeMap<i64, IssueCounts>, Error> {
        let (project, now) = (project.to_string(), now.to_string());
        let mut counts: BTreeMap<i64, IssueCounts> = BTreeMap::new();
        self.query(
            self.dialect().pick(
                sql!(select_marks!(hold_until!(sqlite), "1"), from_checklists!()),
                sql!(
                    select_marks!(hold_until!(postgres), "count(*)"),
                    from_checklists!(),
                    " GROUP BY 1, 2, 3, 4, 5"
                ),
            ),
            &[(&project).into(), first.into(), last.into(), (&now).into()],
            |row| {
                let kind = word("todo kind", row.str(1)?, TodoKind::parse)?;
                let status = word("status", row.str(2)?, Status::parse)?;
                let marks = (row.int(3)? == 1, row.int(4)? == 1);
                let share = Share::of(kind, status, marks);
                counts.entry(row.int(0)?).or_default().add(share, row.int(5)?);
                Ok(())
            },
        )?;
        Ok(counts)
    }
}

/// How words are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    /// Every word is a prefix of a word of the issue.
    AllBegin,
    /// At least one word equals a word of the issue.
    AnyIs,
}

/// Builds the query. The words contain only letters and digits, so quoting them is enough.
fn query(dialect: Dialect, words: &[String], by: Match) -> String {
    let (quote, begins) = match dialect {
        Dialect::Sqlite => ('"', "*"),
        Dialect::Postgres => ('\'', ":*"),
    };
    let (begins, between) = match (by, dialect) {
        (Match::AllBegin, Dialect::Sqlite) => (begins, " AND "),
        (Match::AllBegin, Dialect::Postgres) => (begins, " & "),
        (Match::AnyIs, Dialect::Sqlite) => ("", " OR "),
        (Match::AnyIs, Dialect::Postgres) => ("", " | "),
    };
    let quoted: Vec<String> =
        words.iter().map(|word| format!("{quote}{word}{quote}{begins}")).collect();
    quoted.join(between)
}
