//! What happened and what is true now, for each refusal.

use std::fmt;

use super::{Misplaced, Refusal};
use crate::authority::Denial;
use crate::plan::fault::in_a_circle;
use crate::{ListKind, TodoKind};

/// The caller's text, cut, so that a message does not repeat a whole page.
fn short(text: &str) -> String {
    match text.char_indices().nth(80) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTodo { todo_id, list } => {
                let shown: String = todo_id.chars().take(60).collect();
                match list {
                    Some(list) => write!(f, "no todo `{shown}` in this {list} list"),
                    None => write!(f, "there is no todo `{shown}` in this project"),
                }
            }
            Self::AlreadySettled { title, status, settled_at, .. } => {
                write!(f, "`{title}` is already {status}")?;
                settled_at.map_or(Ok(()), |at| write!(f, " since {at}"))
            }
            Self::WrongStatus { action, current, .. } => {
                write!(f, "cannot {action}: the item is {current}")
            }
            Self::NotPermitted { role, action, list, todo_kind, denial } => match denial {
                Denial::NoSuchAct if *list == ListKind::Issue => {
                    write!(f, "`{action}` is not available on a checklist")
                }
                Denial::NoSuchAct => {
                    write!(f, "`{action}` is not available on {list} lists")
                }
                Denial::NotYours => {
                    write!(
                        f,
                        "the role {role} may {action} only its own items, and it does not own this item"
                    )
                }
                // The checklist tool never mentions issues (K-60).
                Denial::Role if *todo_kind == TodoKind::Criterion => {
                    write!(f, "the role {role} may not {action} a criterion")
                }
                Denial::Role if *list == ListKind::Issue => {
                    write!(f, "the role {role} may not {action} on a checklist")
                }
                Denial::Role => {
                    write!(f, "the role {role} may not {action} on a {list} list")
                }
            },
            Self::OneInProgress { title, .. } => {
                write!(f, "only one item may be in progress, and `{title}` is")
            }
            Self::SeveralInProgress { titles } => {
                let titles: Vec<String> =
                    titles.iter().map(|title| format!("`{}`", short(title))).collect();
                write!(f, "only one item may be in progress, not {}", titles.join(" and "))
            }
            Self::ActiveFull { limit, active } => {
                write!(f, "Active TODO limit ({limit}) reached; {active} are active.")
            }
            Self::BacklogFull { limit, .. } => write!(
                f,
                "Backlog limit ({limit}) reached. Cancel or complete existing items first."
            ),
            Self::ListFull { limit, open, added } => write!(
                f,
                "a list holds at most {limit} open items, and a call adds at most that many; \
                 {open} are open and this would add {added}"
            ),
            Self::OutcomeRequired => f.write_str("an outcome is required"),
            Self::ReasonRequired { action } => write!(f, "a reason is required to {action}"),
            Self::DuplicateText { text } => write!(f, "there is already an open item `{text}`"),
            Self::DuplicateId { id } => write!(f, "two items have the id `{}`", short(id)),
            Self::Held { title, reason } => write!(f, "`{title}` is on hold: {reason}"),
            Self::NoClaim { title } => write!(f, "`{title}` has not been claimed"),
            Self::AlreadyClaimed { title, by, at } => {
                write!(f, "`{title}` was claimed by {by} at {at} and waits for its reviewer")
            }
            Self::AlreadyRatified { title, at } => write!(f, "`{title}` was ratified at {at}"),
            Self::CriterionNotStartable { title } => {
                write!(f, "`{title}` is a criterion, which is never in progress")
            }
            Self::AlreadyTaken { title, holder, until, .. } => {
                write!(f, "`{title}` is held by {holder} until {until}")
            }
            Self::AssignedToAnother { title, agent, .. } => {
                write!(f, "`{title}` is assigned to {agent}")
            }
            Self::StaleEpoch { epoch, current, holder, .. } => {
                write!(f, "lease {epoch} is not your current one (the newest is {current}, ")?;
                match holder {
                    Some(holder) => write!(f, "held by {holder})"),
                    None => f.write_str("held by nobody)"),
                }
            }
            Self::Deferred { title, until } => write!(f, "`{title}` is deferred until {until}"),
            Self::ChangedSinceAsked { number, changed, revision } => {
                let parts: Vec<&str> = changed.iter().map(|part| part.name()).collect();
                let parts = if parts.is_empty() { "it".to_owned() } else { parts.join(", ") };
                write!(
                    f,
                    "issue #{number} has changed since the sign-off was asked for: {parts} \
                     (it is at revision {revision})"
                )
            }
            Self::UnclaimedCriteria { number, criteria } => match criteria.as_slice() {
                [one] => write!(f, "a criterion of issue #{number} is not claimed: `{one}`"),
                many => {
                    let named = many.join("`, `");
                    write!(
                        f,
                        "{} criteria of issue #{number} are not claimed: `{named}`",
                        many.len()
                    )
                }
            },
            Self::MayNotChooseModel { role } => {
                write!(f, "{role} may name a model only for a run that its own process executes")
            }
            Self::OutOfReach { missing } => write!(f, "your token does not reach {missing}"),
            Self::NoOperatorToken => {
                f.write_str("the store has no valid operator token that reaches all of it")
            }
            Self::UnknownToken { id } => {
                let shown: String = id.chars().take(60).collect();
                write!(f, "there is no token `{shown}`")
            }
            Self::Waiting { title, waits_for } => {
                write!(f, "`{title}` waits for {}", waits_for.join(", "))
            }
            Self::AfterItself { tasks } => {
                write!(f, "tasks cannot wait for each other: {}", in_a_circle(tasks))
            }
            Self::PlanChanged { new, missing } => {
                let some = |tasks: &[String]| {
                    let shown: Vec<String> =
                        tasks.iter().take(3).map(|task| format!("`{}`", short(task))).collect();
                    let more = if tasks.len() > 3 { ", …" } else { "" };
                    format!("{}{more}", shown.join(", "))
                };
                f.write_str("the file has changed since it was imported")?;
                if !new.is_empty() {
                    write!(f, "; new there: {}", some(new))?;
                }
                if !missing.is_empty() {
                    write!(f, "; missing there: {}", some(missing))?;
                }
                Ok(())
            }
            Self::BadPlace { title, why } => match why {
                Misplaced::BeforeItself => write!(f, "`{title}` cannot be moved before itself"),
                Misplaced::OtherList => {
                    write!(f, "`{title}` cannot be moved there: the other item is in another list")
                }
                Misplaced::OtherKind => {
                    write!(f, "`{title}` cannot be moved there: criteria and steps do not mix")
                }
            },
            Self::BadParent { todo_id } => write!(f, "{todo_id} cannot be the parent here"),
            Self::UnknownIssue { number } => write!(f, "there is no issue #{number} here"),
            Self::LookAlike { number, title, status } => {
                write!(f, "issue #{number} says the same and is {status}: `{title}`")
            }
            Self::WrongIssueStatus { number, status, to, .. } if status == to => {
                write!(f, "issue #{number} is already {status}")
            }
            Self::WrongIssueStatus { number, status, to, .. } => {
                write!(f, "issue #{number} is {status} and cannot become {to}")
            }
            Self::IssueMoveNotPermitted { role, number, status, to, .. } => {
                write!(f, "the role {role} may not move issue #{number} from {status} to {to}")
            }
            Self::NoSuchText { text, is_empty: true, .. } => {
                write!(f, "no task has the text `{}`: the list is empty", short(text))
            }
            Self::NoSuchText { text, nearest, .. } => {
                let near: Vec<String> = nearest.iter().map(|text| format!("`{text}`")).collect();
                write!(
                    f,
                    "no task has the text `{}`; the nearest are {}",
                    short(text),
                    near.join(", ")
                )
            }
            Self::AmbiguousText { text, texts } => {
                let texts: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
                write!(f, "`{}` could be {}", short(text), texts.join(" or "))
            }
            Self::SignOffNeedsSession { number } => {
                write!(f, "a sign-off of issue #{number} needs a session that is bound to it")
            }
            Self::Unbound => f.write_str("this session has no issue, so there is no checklist"),
            Self::UnknownSession { session } => {
                write!(f, "there is no session `{}` in this project", short(session))
            }
            Self::SessionAmbiguous { sessions } => {
                let count = sessions.len();
                write!(f, "the host process runs {count} sessions, and the call names none of them")
            }
            Self::HostedRun { run, model } => {
                let host = model.split_once(':').map_or(model.as_str(), |(_, host)| host);
                write!(f, "run {run} is executed by {host}, not by punch")
            }
            Self::OtherIssue { number, bound: Some(bound) } => {
                write!(f, "issue #{number} was named, but the session is bound to #{bound}")
            }
            Self::OtherIssue { number, bound: None } => {
                write!(f, "issue #{number} was named, but the caller's session is not bound to it")
            }
            Self::SessionEnded { session, at } => write!(f, "session {session} ended at {at}"),
            Self::IssueHeld { number, session, title, .. } => {
                write!(f, "issue #{number} is bound to session {session} (`{title}`)")
            }
            Self::AlreadyBound { number } => {
                write!(f, "the session is bound to issue #{number} already")
            }
            Self::HasChecklist { number } => {
                write!(f, "this session works on issue #{number}, which has a list of its own")
            }
            Self::SessionListsOff => {
                f.write_str("lists of sessions are switched off here (session_lists = false)")
            }
            Self::SelfLink { number } => write!(f, "issue #{number} cannot be linked to itself"),
            Self::AlreadyLinked { number, kind, to } => {
                write!(f, "issue #{number} is {} #{to} already", kind.name())
            }
            Self::NotLinked { number, kind, to } => {
                write!(f, "issue #{number} is not {} #{to}", kind.name())
            }
            Self::OpenChildren { number, children } => {
                let children: Vec<String> = children.iter().map(|n| format!("#{n}")).collect();
                write!(f, "issue #{number} has open children: {}", children.join(", "))
            }
            Self::OpenSubtasks { title, children, .. } => {
                let open = if children.len() == 1 { "an open task" } else { "open tasks" };
                write!(f, "`{title}` has {open} below it: {}", children.join(", "))
            }
            Self::StaleRevision { number, expected, revision, checklist } => write!(
                f,
                "issue #{number} is at revision {revision}, not {expected}; it now reads:\n{checklist}"
            ),
            Self::BadChecklist { faults } => {
                let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
                write!(f, "the checklist cannot be read: {}", lines.join("; "))
            }
            Self::MayNotAsk { role } => write!(f, "the role {role} may not ask a person"),
            Self::MayNotAnswer { role } => write!(f, "the role {role} may not answer a gate"),
            Self::UnknownGate { gate } => {
                write!(f, "there is no gate `{}` in this project", short(gate))
            }
            Self::AlreadyAnswered { gate, state, by, at, .. } => {
                write!(f, "gate {gate} is {} already", state.name())?;
                match (by, at) {
                    (Some(by), Some(at)) => write!(f, ", by {by} at {at}"),
                    _ => Ok(()),
                }
            }
            Self::NoPermission { gate } => {
                write!(f, "gate {gate} gives no standing permission")
            }
            Self::BadForm { fault } => write!(f, "this form cannot be asked: {fault}"),
            Self::BadResponse { faults } => {
                write!(f, "the response does not fit the form: {}", faults.join("; "))
            }
            Self::MayNotDelegate { role } => {
                write!(f, "the role {role} may not do this to a delegation")
            }
            Self::BadAgentType { name } => write!(f, "`{}` is not a valid agent name", short(name)),
            Self::UnknownDelegation { delegation } => {
                write!(f, "there is no delegation `{}` in this project", short(delegation))
            }
            Self::MayNotRun { role } => write!(f, "the role {role} may not start or stop this run"),
            Self::NoModel { agent } => write!(f, "no model is configured for {agent}"),
            Self::UnknownRun { run } => write!(f, "there is no run {run} in this project"),
            Self::RunOver { run, reason } => write!(f, "run {run} has ended: {}", reason.words()),
            Self::StaleRun { run, epoch, current } => {
                write!(f, "run {run} is at epoch {current}, not {epoch}: another process has it")
            }
            Self::DelegationOver { delegation, state } => {
                write!(f, "delegation {delegation} is {} already", state.name())
            }
            Self::StaleDelegation { epoch, current, holder, .. } => {
                write!(f, "epoch {epoch} is not the current lease (it is at {current}, ")?;
                match holder {
                    Some(holder) => write!(f, "held by {holder})"),
                    None => f.write_str("held by nobody)"),
                }
            }
            Self::NoProposal { delegation } => {
                write!(f, "delegation {delegation} has no proposal")
            }
            Self::ProposalSettled { delegation, .. } => {
                write!(f, "the proposal of delegation {delegation} was already decided")
            }
            Self::NotYourProposal { delegator } => {
                write!(f, "this was delegated by {delegator}, not by you")
            }
            Self::ItemsRequired => f.write_str("to modify a proposal, items are required"),
            Self::NoChecklist => f.write_str("no issue was bound when this was delegated"),
            Self::BadPlan { fault } => write!(f, "the plan cannot be read: {fault}"),
            Self::PlanElsewhere { plan_file, branch, branches } => write!(
                f,
                "there is no plan `{plan_file}` on branch {branch}; it is on {}",
                branches.join(", ")
            ),
            Self::NoBranch { plan_file } => write!(
                f,
                "no branch is checked out here, so it is not clear which branch the plan \
                 `{plan_file}` belongs to"
            ),
            Self::UnknownPlan { plan_file, branch } => {
                write!(f, "there is no plan `{}` on {} here", short(plan_file), short(branch))
            }
            Self::Archived { at } => write!(f, "this plan was archived at {at}"),
            Self::OpenTasks { open: 1 } => f.write_str("1 task of this plan is open"),
            Self::OpenTasks { open } => write!(f, "{open} tasks of this plan are open"),
            Self::Unconfirmed { plans, .. } if plans.is_empty() => {
                f.write_str("nothing is old enough to be removed")
            }
            Self::Unconfirmed { plans, tasks } => {
                let named: Vec<String> = plans.iter().take(10).map(ToString::to_string).collect();
                let more = match plans.len().saturating_sub(10) {
                    0 => String::new(),
                    more => format!("; and {more} more"),
                };
                let count = plans.len();
                let named = named.join("; ");
                write!(
                    f,
                    "this would remove {tasks} tasks of {count} plans for good: {named}{more}"
                )
            }
            Self::BadTodoLine { file, line, fault } => {
                write!(f, "the line `{}` of {file} cannot be used: {fault}", short(line))
            }
            Self::PlanExists { plan_file } => write!(f, "the plan {plan_file} has tasks already"),
            Self::NoTodoLine { plan_file } => {
                write!(f, "the plan {plan_file} did not come from a line of a file")
            }
            Self::UnknownAgent { agent } => write!(f, "there is no agent `{agent}` here"),
            Self::NotYourself { agent } => write!(f, "you are not `{agent}`"),
            Self::EvidenceRequired { missing } => {
                let kinds: Vec<_> = missing.iter().map(|kind| kind.name()).collect();
                write!(f, "a claim here must carry evidence: {} is missing", kinds.join(", "))
            }
            Self::MayNotLead { role } => write!(f, "the role {role} may not do this to a mission"),
            Self::UnknownMission { slug, .. } => {
                write!(f, "there is no mission `{}` in this project", short(slug))
            }
            Self::UnknownPillar { mission, slug, .. } => {
                write!(f, "mission `{mission}` has no pillar `{}`", short(slug))
            }
            Self::UnknownMetric { mission, slug, .. } => {
                write!(f, "mission `{mission}` has no metric `{}`", short(slug))
            }
            Self::UnknownTemplate { name, .. } => {
                write!(f, "there is no template `{}`", short(name))
            }
            Self::OtherMission { todo_id, mission } => {
                write!(f, "todo {todo_id} belongs to mission `{mission}`")
            }
            Self::MissionArchived { slug } => write!(f, "`{slug}` is archived"),
            Self::BadFigure { metric, found, .. } => {
                write!(f, "metric `{metric}` cannot be `{}`", short(found))
            }
            Self::NoCollector { metric } => {
                write!(f, "metric `{metric}` has no collector")
            }
            Self::AgentAtWork { agent, .. } => {
                write!(
                    f,
                    "{agent} is at work in this conversation, which is read-only until it is done"
                )
            }
            Self::UnknownConversation { conversation } => {
                write!(f, "there is no conversation `{}` in this project", short(conversation))
            }
        }
    }
}
