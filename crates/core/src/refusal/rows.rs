//! Every refusal in one row: its class, the stable code, the message and the hint.
//!
//! The message says what happened and what is true now, the hint what to do next. Texts that need
//! more than a line are made in `words`. `ops::error` maps a class to an exit code and a status.

use super::words::{self, cut, end, names, quoted, short, there_are};
use super::{Class, Misplaced, Refusal, Row};
use crate::authority::Action;
use crate::plan::TodoLineFault;
use crate::plan::fault::in_a_circle;
use crate::{ListKind, Role};

/// Makes both from one table: the row of a refusal, and the list of all codes.
macro_rules! rows {
    ($($refusal:pat $(if $guard:expr)? => $class:ident(
        $code:literal, $words:expr, $hint:expr $(,)?
    ),)+) => {
        impl Refusal {
            /// The code and class of every row. Rows that share a code repeat it.
            pub const CODES: &'static [(&'static str, Class)] = &[$(($code, Class::$class),)+];

            pub(super) fn row(&self) -> Row {
                match self {
                    $($refusal $(if $guard)? => Row {
                        code: $code,
                        words: $words.into(),
                        hint: $hint.into(),
                    },)+
                }
            }
        }
    };
}

rows! {
    Self::UnknownTodo { todo_id, list } => Unknown(
        "unknown_todo",
        words::no_todo(&cut(todo_id), *list),
        match list {
            Some(ListKind::Turn) => {
                "call list_todo for the ids of this turn; other turns are out of reach"
            }
            _ => "issue_show shows the items of an issue, plan_tree those of a plan",
        },
    ),
    Self::AlreadySettled { title, status, settled_at, is_task, .. } => Conflict(
        "already_settled",
        words::settled(title, status, *settled_at),
        if *is_task {
            "add a new task instead; task_reopen reopens it, for root and the operator"
        } else {
            "create a new item instead, or ask the operator to reopen it"
        },
    ),
    Self::AlreadyClosed { title, status, settled_at, .. } => Conflict(
        "already_settled",
        match settled_at {
            Some(at) => format!("`{title}` is already {status} since {at}"),
            None => format!("`{title}` is already {status}"),
        },
        "add it again as a new item if there is more to do",
    ),
    Self::WrongStatus { action, current, expected } => Conflict(
        "wrong_status",
        format!("cannot {}: the item is {current}", words::verb(*action)),
        format!("it must be {}", names(expected.iter().map(|s| s.name()), " or ")),
    ),
    Self::PastDate { given } => Malformed(
        "past_date",
        format!("{given} is not in the future"),
        "give a later date or time",
    ),
    Self::NotPermitted { role, action, list, todo_kind, denial } => Forbidden(
        "not_permitted",
        words::not_permitted(*role, *action, *list, *todo_kind, *denial),
        words::who_else(*action, *list, *todo_kind, *denial),
    ),
    Self::MayNotChooseModel { role } => Forbidden(
        "not_permitted",
        format!("{role} may name a model only for a run that its own process executes"),
        "leave the model out, or use `punch run --model` in this process",
    ),
    Self::IssueMoveNotPermitted { role, number, status, to, asked, void } => Forbidden(
        "not_permitted",
        format!("the role {role} may not move issue #{number} from {status} to {to}"),
        match role {
            Role::Root if to.is_closed() => words::how_to_close(*asked, *void),
            _ => "ask the operator to move it",
        },
    ),
    Self::MayNotAsk { role } => Forbidden(
        "not_permitted",
        format!("the role {role} may not ask a person"),
        "report back to the agent that delegated",
    ),
    Self::MayNotAnswer { role } => Forbidden(
        "not_permitted",
        format!("the role {role} may not answer a question"),
        "wait: the operator answers questions",
    ),
    Self::MayNotDelegate { role } => Forbidden(
        "not_permitted",
        format!("the role {role} may not do this to a delegation"),
        "ask the operator: your role may not do this",
    ),
    Self::MayNotRun { role } => Forbidden(
        "not_permitted",
        format!("the role {role} may not start or stop this run"),
        "ask the operator: your role may not do this",
    ),
    Self::NotYourProposal { delegator } => Forbidden(
        "not_permitted",
        format!("this was delegated by {delegator}, not by you"),
        format!("{delegator} decides on it"),
    ),
    Self::NotYourself { agent } => Forbidden(
        "not_permitted",
        format!("you are not `{agent}`"),
        "name yourself, or an agent below you",
    ),
    Self::MayNotLead { role } => Forbidden(
        "not_permitted",
        format!("the role {role} may not do this to a mission"),
        "ask the operator",
    ),
    Self::MayNotMerge { role } => Forbidden(
        "not_permitted",
        format!("the role {role} may not merge projects"),
        "ask the operator",
    ),
    Self::OneInProgress { title, .. } => Conflict(
        "one_in_progress",
        format!("only one item may be in progress, and `{title}` is"),
        "complete, cancel or release that one first",
    ),
    Self::SeveralInProgress { titles } => Conflict(
        "one_in_progress",
        format!(
            "only one item may be in progress, not {}",
            quoted(titles.iter().map(|title| short(title)), " and ")
        ),
        "set one to in_progress and the others to pending",
    ),
    Self::ActiveFull { limit, active } => Conflict(
        "active_full",
        format!("Active TODO limit ({limit}) reached; {active} are active."),
        "complete or cancel an active item first",
    ),
    Self::BacklogFull { limit, .. } => Conflict(
        "backlog_full",
        format!(
            "Backlog limit ({limit}) reached. Cancel or complete existing items first."
        ),
        "cancel or complete existing items first",
    ),
    Self::ListFull { limit, open, added } => Conflict(
        "list_full",
        format!(
            "a list holds at most {limit} open items, and a call adds at most that many; \
             {open} are open and this would add {added}"
        ),
        "complete or drop items first, or split the work into several issues",
    ),
    Self::OutcomeRequired => Malformed(
        "outcome_required",
        "an outcome is required",
        "say what was done, or why it was cancelled",
    ),
    Self::ReasonRequired { action } => Malformed(
        "reason_required",
        format!("a reason is required to {action}"),
        "give a `reason`",
    ),
    Self::DuplicateText { text } => Conflict(
        "duplicate_text",
        format!("there is already an open item `{text}`"),
        "items are identified by their text: reword one",
    ),
    Self::DuplicateId { id } => Malformed(
        "duplicate_id",
        format!("two items have the id `{}`", short(id)),
        "give every item an id of its own, or none",
    ),
    Self::Held { title, reason } => Conflict(
        "held",
        format!("`{title}` is on hold: {reason}"),
        "unhold it first",
    ),
    Self::NoClaim { title } => Conflict(
        "no_claim",
        format!("`{title}` has not been claimed"),
        "wait until its agent claims that it is done",
    ),
    Self::AlreadyClaimed { title, by, at } => Conflict(
        "already_claimed",
        format!("`{title}` was claimed by {by} at {at} and waits for its reviewer"),
        "its reviewer accepts or returns it",
    ),
    Self::AlreadyRatified { title, at } => Conflict(
        "already_ratified",
        format!("`{title}` was ratified at {at}"),
        "nothing is left to do",
    ),
    Self::CriterionNotStartable { title } => Conflict(
        "criterion_not_startable",
        format!("`{title}` is a criterion, which is never in progress"),
        "claim it with `done` when it holds",
    ),
    Self::BadParent { todo_id } => Conflict(
        "bad_parent",
        format!("{} cannot be the parent here", end(todo_id)),
        "choose another parent in the same list",
    ),
    Self::PlanTooDeep { limit } => Conflict(
        "plan_too_deep",
        format!("a plan has at most {limit} levels, and the parent is at the deepest"),
        "choose a parent further up",
    ),
    Self::BadPlace { title, why } => Conflict(
        "bad_place",
        match why {
            Misplaced::BeforeItself => format!("`{title}` cannot be moved before itself"),
            Misplaced::OtherList => {
                format!("`{title}` cannot be moved there: the other item is in another list")
            }
            Misplaced::OtherKind => {
                format!("`{title}` cannot be moved there: criteria and steps do not mix")
            }
        },
        match why {
            Misplaced::BeforeItself => "name another item, or none to move it to the end",
            Misplaced::OtherList => "name an item of the same list",
            Misplaced::OtherKind => "move criteria among criteria, and steps among steps",
        },
    ),
    Self::BelowCancelled { title, above } => Conflict(
        "below_cancelled",
        format!("`{title}` is below `{above}`, which is cancelled"),
        "take another task, or reopen the cancelled one first",
    ),
    Self::Waiting { title, waits_for } => Conflict(
        "waiting",
        format!("`{title}` waits for {}", waits_for.join(", ")),
        "take another task, or settle those first",
    ),
    Self::AfterItself { tasks } => Conflict(
        "dependency_cycle",
        format!("tasks cannot wait for each other: {}", in_a_circle(tasks)),
        "leave one of them out; nothing was changed",
    ),
    Self::PlanChanged { new, missing } => Conflict(
        "plan_changed",
        words::plan_changed(new, missing),
        "import the file first (`punch plan import FILE`); it was not changed",
    ),
    Self::AlreadyTaken { title, holder, until, .. } => Later(
        "already_taken",
        format!("`{title}` is held by {holder} until {until}"),
        "take another item, or wait until its lease ends",
    ),
    Self::AssignedToAnother { title, agent, .. } => Conflict(
        "assigned_to_another",
        format!("`{title}` is assigned to {agent}"),
        "take another item; root or the operator can assign this one again",
    ),
    Self::StaleEpoch { epoch, current, holder, is_own, .. } => Conflict(
        "stale_epoch",
        words::stale(*epoch, *current, holder.as_deref(), *is_own),
        words::after_stale(*current, holder.is_some(), *is_own),
    ),
    Self::StaleRun { run, epoch, current } => Conflict(
        "stale_epoch",
        format!(
            "run {} has lease {current}, not {epoch}: another process executes it",
            end(run)
        ),
        "stop: another process executes it now",
    ),
    Self::StaleDelegation { delegation, over: Some(state), .. } => Conflict(
        "stale_epoch",
        format!("delegation {} is {} already", end(delegation), state.name()),
        "stop working on it: no further report is accepted",
    ),
    Self::StaleDelegation { epoch, current, holder, is_own, .. } => Conflict(
        "stale_epoch",
        words::stale(*epoch, *current, holder.as_deref(), *is_own),
        words::after_stale(*current, holder.is_some(), *is_own),
    ),
    Self::Deferred { title, until } => Conflict(
        "deferred",
        format!("`{title}` is deferred until {until}"),
        "wait until then, or end the deferral first",
    ),
    Self::OutOfReach { missing } => Forbidden(
        "out_of_reach",
        format!("your token does not reach {missing}"),
        "use a token that reaches there",
    ),
    Self::UnknownToken { id } => Unknown(
        "unknown_token",
        format!("there is no token `{}`", cut(id)),
        "token_list shows the tokens",
    ),
    Self::NoOperatorToken => Conflict(
        "no_operator_token",
        "the store has no valid operator token that reaches all of it",
        "make one first: punch token new --role operator",
    ),
    Self::ChangedSinceAsked { number, changed, revision } => Conflict(
        "changed_since_asked",
        words::changed(*number, changed, *revision),
        format!("look at it again; to accept it as it is now, expect revision {revision}"),
    ),
    Self::UnclaimedCriteria { number, criteria } => Conflict(
        "unclaimed_criteria",
        match criteria.as_slice() {
            [one] => format!("a criterion of issue #{number} is not claimed: `{one}`"),
            many => format!(
                "{} criteria of issue #{number} are not claimed: `{}`",
                many.len(),
                many.join("`, `")
            ),
        },
        "wait for the claims, refuse the sign-off, or accept them unclaimed: --accept-unclaimed",
    ),
    Self::UnknownIssue { number } => Unknown(
        "unknown_issue",
        format!("there is no issue #{number} here"),
        "issue_list shows the issues",
    ),
    Self::LookAlike { number, title, status } => Conflict(
        "look_alike",
        format!("issue #{number} looks the same and is {status}: `{title}`"),
        format!("work on #{number}, or give `forceNew` if this is another matter"),
    ),
    Self::WrongIssueStatus { number, status, to, allowed } => Conflict(
        "wrong_issue_status",
        if status == to {
            format!("issue #{number} is already {status}")
        } else {
            format!("issue #{number} is {status} and cannot become {to}")
        },
        if allowed.is_empty() {
            "the operator may reopen it".to_owned()
        } else {
            format!("it can become {}", names(allowed.iter().map(|s| s.name()), " or "))
        },
    ),
    Self::NoSuchText { text, is_empty: true, .. } => Unknown(
        "no_such_text",
        format!("no item has the text `{}`: the list is empty", short(text)),
        "the list is empty: add items first",
    ),
    Self::NoSuchText { text, nearest, .. } => Unknown(
        "no_such_text",
        format!(
            "no item has the text `{}`; the nearest are {}",
            short(text),
            quoted(nearest, ", ")
        ),
        if words::looks_like_an_id(text) {
            "items are addressed by their text, not by an id: pass the exact text"
        } else {
            "items are addressed by their text: pass the exact text of one"
        },
    ),
    Self::AmbiguousText { text, texts } => Conflict(
        "ambiguous_text",
        format!("`{}` could be {}", short(text), quoted(texts, " or ")),
        "give more of the text, or the short id of one",
    ),
    Self::SignOffNeedsSession { number } => Conflict(
        "unbound",
        format!("a sign-off of issue #{number} needs a session that is bound to it"),
        format!(
            "start one and bind it: `punch session start`, then `punch session bind {number} \
             --session ID`"
        ),
    ),
    Self::Unbound => Conflict(
        "unbound",
        "this session has no issue, so there is no checklist",
        "call session_bind with the number of an issue, or ask the operator to bind an issue to this session",
    ),
    Self::NoSession => Conflict(
        "unbound",
        "neither an issue nor a session is named, so no checklist is meant",
        "name the issue (--issue) or a session (--session, PUNCHLIST_SESSION), or ask the operator to bind an issue",
    ),
    Self::PausedByOperator { role } => Forbidden(
        "not_permitted",
        format!("the operator paused this session, and the role {role} may not resume it"),
        "wait: only the operator resumes it, with `punch session resume`",
    ),
    Self::UnknownSession { session } => Unknown(
        "unknown_session",
        format!("there is no session `{}` in this project", short(session)),
        "session_list shows the sessions",
    ),
    Self::SessionAmbiguous { sessions } => Conflict(
        "session_ambiguous",
        format!(
            "the host process runs {} sessions, and the call names none of them",
            sessions.len()
        ),
        "name the session with --session or PUNCHLIST_SESSION",
    ),
    Self::HostedRun { run, model } => Conflict(
        "hosted_run",
        format!(
            "run {} is executed by {}, not by punch",
            end(run),
            model.split_once(':').map_or(model.as_str(), |(_, host)| host)
        ),
        "continue the session in that host",
    ),
    Self::OtherIssue { number, bound: Some(bound) } => Conflict(
        "other_issue",
        format!("issue #{number} was named, but the session is bound to #{bound}"),
        "leave out --issue, or name a session of that issue with --session",
    ),
    Self::OtherIssue { number, bound: None } => Conflict(
        "other_issue",
        format!("issue #{number} was named, but the caller's session is not bound to it"),
        format!("bind a session to it: `punch session bind {number} --session ID`"),
    ),
    Self::SessionEnded { session, at } => Conflict(
        "session_ended",
        format!("session {} ended at {at}", end(session)),
        "start a new session",
    ),
    Self::IssueHeld { number, session, title, take_over } => Conflict(
        "issue_held",
        format!("issue #{number} is bound to session {} (`{title}`)", end(session)),
        if *take_over {
            "end that session, or take the issue over with `takeOver`"
        } else {
            "ask the operator to take it over"
        },
    ),
    Self::AlreadyBound { number } => Conflict(
        "already_bound",
        format!("the session is bound to issue #{number} already"),
        "unbind it first, or file an issue below it",
    ),
    Self::HasChecklist { number } => Conflict(
        "already_bound",
        format!("this session works on issue #{number}, which has a list of its own"),
        "keep its checklist with the tool todo",
    ),
    Self::UnknownRun { run } => Unknown(
        "unknown_run",
        format!("there is no run `{}` in this project", short(run)),
        "run_list shows the runs",
    ),
    Self::RunOver { run, reason } => Conflict(
        "run_over",
        format!("run {} has ended: {}", end(run), reason.words()),
        "say something in its chat, or begin another run",
    ),
    Self::NoModel { agent } => Conflict(
        "no_model",
        format!("no model is configured for {agent}"),
        format!(
            "name one: --model anthropic:NAME, or model = \"…\" under [agents.{agent}] in \
             punchlist.toml"
        ),
    ),
    Self::SessionListsOff => Conflict(
        "session_lists_off",
        "lists of sessions are switched off here (session_lists = false)",
        "work on an issue: its checklist is kept with the tool todo",
    ),
    Self::SelfLink { number } => Conflict(
        "self_link",
        format!("issue #{number} cannot be linked to itself"),
        "name another issue",
    ),
    Self::DuplicateCircle { number, of, via } => Conflict(
        "duplicate_circle",
        words::circle(*number, *of, via),
        format!("reopen #{of} first, if it is the one to keep"),
    ),
    Self::AlreadyLinked { number, kind, to } => Conflict(
        "already_linked",
        format!("issue #{number} is {} #{to} already", kind.name()),
        "there is nothing left to do",
    ),
    Self::NotLinked { number, kind, to } => Conflict(
        "not_linked",
        format!("issue #{number} is not {} #{to}", kind.name()),
        "issue_show shows the links there are",
    ),
    Self::OpenChildren { number, children } => Conflict(
        "open_children",
        format!(
            "issue #{number} has open children: {}",
            children.iter().map(|n| format!("#{n}")).collect::<Vec<_>>().join(", ")
        ),
        "give `confirm` to close it anyway",
    ),
    Self::OpenSubtasks { title, children, action, .. } => Conflict(
        "open_children",
        format!(
            "`{title}` has {} below it: {}",
            if children.len() == 1 { "an open task" } else { "open tasks" },
            children.join(", ")
        ),
        match action {
            Action::Take => "take one of those instead",
            _ => {
                "complete or cancel them first; the operator may complete all of them with \
                 --with-children"
            }
        },
    ),
    Self::StaleRevision { number, expected, revision, checklist } => Conflict(
        "stale_revision",
        words::newer(*number, (*expected, *revision), checklist.as_deref()),
        match checklist {
            Some(_) => "make your changes again on the newer text, with its revision",
            None => "look at the issue as it is now, and repeat the change with its revision",
        },
    ),
    Self::BadChecklist { faults } => Malformed(
        "bad_checklist",
        format!(
            "the checklist cannot be read: {}",
            faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        ),
        "nothing was changed: fix these lines and save again",
    ),
    Self::UnknownGate { gate } => Unknown(
        "unknown_gate",
        format!("there is no question `{}` in this project", short(gate)),
        "gate_list shows the questions that wait",
    ),
    Self::OtherQuestion { gate } => Unknown(
        "unknown_gate",
        format!("this question, asked by you, does not have the id `{}`", short(gate)),
        "repeat the call without the id: the question is found by its words",
    ),
    Self::UnknownPermission { permission } => Unknown(
        "unknown_permission",
        format!("there is no permission `{}` in this project", short(permission)),
        "permission_list shows the permissions",
    ),
    Self::AlreadyAnswered { gate, state, by, at, .. } => Conflict(
        "already_answered",
        words::answered(&end(gate), *state, by.as_deref().zip(*at)),
        "only the first answer counts; ask again if it is wrong",
    ),
    Self::NoPermission { gate } => Conflict(
        "no_permission",
        format!("the answer to {} gives no standing permission", end(gate)),
        "permission_list shows what is permitted",
    ),
    Self::BadForm { fault } => Malformed(
        "bad_form",
        format!("this form cannot be asked: {fault}"),
        "give a flat object of string, number, integer and boolean fields",
    ),
    Self::BadResponse { faults } => Malformed(
        "bad_response",
        format!("the response does not fit: {}", faults.join("; ")),
        "answer each field as the form says",
    ),
    Self::UnknownAnswer { expected } => Malformed(
        "bad_response",
        "the answer is not one that this question knows",
        format!("answer with {expected}"),
    ),
    Self::BadAgentType { name } => Malformed(
        "bad_agent_type",
        format!("`{}` is not a valid agent name", short(name)),
        "use letters, digits, - and _",
    ),
    Self::UnknownDelegation { delegation } => Unknown(
        "unknown_delegation",
        format!("there is no delegation `{}` in this project", short(delegation)),
        "delegation_list shows the delegations",
    ),
    Self::DelegationOver { delegation, state } => Conflict(
        "delegation_over",
        format!("delegation {} is {} already", end(delegation), state.name()),
        "delegate the work again",
    ),
    Self::DelegationTooDeep { limit } => Conflict(
        "delegation_too_deep",
        format!("delegations nest {limit} deep at most, and yours is at that depth"),
        "do the work yourself, or report what is missing",
    ),
    Self::NoProposal { delegation } => Conflict(
        "no_proposal",
        format!("delegation {} has no proposal", end(delegation)),
        "delegation_show shows its result",
    ),
    Self::ProposalSettled { delegation, .. } => Conflict(
        "proposal_settled",
        format!("the proposal of delegation {} was already decided", end(delegation)),
        "there is nothing left to decide",
    ),
    Self::ItemsRequired => Malformed(
        "items_required",
        "to modify a proposal, items are required",
        "give `items`, or accept the proposal as it is",
    ),
    Self::ItemsNotTaken { decision } => Malformed(
        "items_not_taken",
        format!("`items` cannot be given with the decision `{}`", decision.name()),
        "decide `modify` to store these items, or leave `items` out",
    ),
    Self::NoChecklist => Conflict(
        "no_checklist",
        "no issue was bound when this was delegated",
        "bind an issue before delegating",
    ),
    Self::BadPlan { fault } => Malformed(
        "bad_plan",
        format!("the plan cannot be read: {fault}"),
        "nothing was imported: fix the file and import it again",
    ),
    Self::NoBranch { plan_file } => Conflict(
        "no_branch",
        format!(
            "no branch is checked out here, so it is not clear which branch the plan \
             `{plan_file}` belongs to"
        ),
        "name the branch with --branch",
    ),
    Self::UnknownPlan { plan_file, branch } => Unknown(
        "unknown_plan",
        format!("there is no plan `{}` on {} here", short(plan_file), short(branch)),
        "plan_import makes a plan of its file",
    ),
    Self::PlanElsewhere { plan_file, branch, branches } => Unknown(
        "unknown_plan",
        format!(
            "there is no plan `{plan_file}` on branch {branch}; it is on {}",
            branches.join(", ")
        ),
        format!("name its branch: --branch {}", branches.join(" or ")),
    ),
    Self::Archived { at } => Conflict(
        "archived",
        format!("this plan was archived at {at}"),
        "import the plan again to bring it back",
    ),
    Self::OpenTasks { open } => Conflict(
        "open_tasks",
        match open {
            1 => "1 task of this plan is open".to_owned(),
            open => format!("{open} tasks of this plan are open"),
        },
        "settle them, or give `confirm` to archive it anyway",
    ),
    Self::Unconfirmed { plans, .. } if plans.is_empty() => Conflict(
        "unconfirmed",
        "nothing is old enough to be removed",
        "there is nothing to do",
    ),
    Self::Unconfirmed { plans, tasks } => Conflict(
        "unconfirmed",
        words::would_remove(plans, *tasks),
        "give `confirm` to remove them permanently; the log keeps who did what, and when",
    ),
    Self::BadTodoLine { file, line, fault } => Conflict(
        "bad_todo_line",
        format!("the line `{}` of {file} cannot be used: {fault}", short(line)),
        match fault {
            TodoLineFault::Gone => "the file was not touched: look for the line yourself",
            TodoLineFault::Ambiguous { .. } => {
                "the file was not touched: name the line by its number, or change one of them"
            }
            TodoLineFault::Ticked { .. } => "nothing is left to tick",
            TodoLineFault::Elsewhere { .. } => "the file was not touched: name that file",
        },
    ),
    Self::PlanExists { plan_file } => Conflict(
        "plan_exists",
        format!("the plan {plan_file} has tasks already"),
        "plan_tree shows it; give another planFile to open another plan",
    ),
    Self::NoTodoLine { plan_file } => Unknown(
        "no_todo_line",
        format!("the plan {plan_file} did not come from a line of a file"),
        "plan_from_todo opens a plan from a line",
    ),
    Self::UnknownAgent { agent } => Unknown(
        "unknown_agent",
        format!("there is no agent `{agent}` here"),
        "register it with agent_register",
    ),
    Self::EvidenceRequired { missing } => Conflict(
        "evidence_required",
        format!(
            "a claim here must carry evidence: {} is missing",
            names(missing.iter().map(|kind| kind.name()), ", ")
        ),
        format!(
            "give evidence of kind {}, e.g. test:cargo test",
            names(missing.iter().map(|kind| kind.name()), " and ")
        ),
    ),
    Self::UnknownMission { slug, known } => Unknown(
        "unknown_mission",
        format!("there is no mission `{}` in this project", short(slug)),
        there_are(known, "the operator makes one: punch mission init mission.json"),
    ),
    Self::UnknownPillar { mission, slug, known } => Unknown(
        "unknown_pillar",
        format!("mission `{mission}` has no pillar `{}`", short(slug)),
        there_are(known, "the mission has no pillars yet; the operator adds them to its file"),
    ),
    Self::UnknownMetric { mission, slug, known } => Unknown(
        "unknown_metric",
        format!("mission `{mission}` has no metric `{}`", short(slug)),
        there_are(known, "the mission has no metrics yet; the operator adds them to its file"),
    ),
    Self::UnknownTemplate { name, known } => Unknown(
        "unknown_template",
        format!("there is no template `{}`", short(name)),
        format!("there are: {}", known.join(", ")),
    ),
    Self::OtherMission { todo_id, mission } => Conflict(
        "other_mission",
        format!("todo {} belongs to mission `{mission}`", end(todo_id)),
        format!("name mission `{mission}`"),
    ),
    Self::MissionArchived { slug } => Conflict(
        "mission_archived",
        format!("`{slug}` is archived"),
        "the operator can resume it with `status` active in its file",
    ),
    Self::BadFigure { metric, found, expected } => Conflict(
        "bad_figure",
        format!("metric `{metric}` cannot be `{}`", short(found)),
        format!("give {expected}"),
    ),
    Self::NoCollector { metric } => Conflict(
        "no_collector",
        format!("metric `{metric}` has no collector"),
        "record a figure with metric_record, or let the operator add `collect` to the \
         mission's file",
    ),
    Self::AgentAtWork { agent, run, .. } => Later(
        "agent_at_work",
        format!(
            "{agent} is at work in this conversation, which is read-only until it is done"
        ),
        words::when_at_work(*run),
    ),
    Self::UnknownConversation { conversation } => Unknown(
        "unknown_conversation",
        format!("there is no conversation `{}` in this project", short(conversation)),
        "conversation_list shows the chats",
    ),
    Self::UnknownMessage { message } => Unknown(
        "unknown_message",
        format!("there is no message `{}` in this conversation", cut(message)),
        "conversation_show without after and before shows the messages with their ids",
    ),
    Self::UnknownProject { project, known } => Unknown(
        "unknown_project",
        format!("there is no project `{}` in this store", short(project)),
        there_are(known, "a project is made with the first write to it"),
    ),
    Self::ProjectTaken { project } => Conflict(
        "project_taken",
        format!("project `{project}` belongs to another repository or folder"),
        "repeat it: the project of this folder gets another name; or name one with --project",
    ),
    Self::ProjectMerged { project, into } => Conflict(
        "project_merged",
        format!("project `{project}` was merged into `{into}`, which has its work now"),
        format!(
            "name project `{into}` in --project or punchlist.toml; `punch log --project {project}` \
             shows what happened before, with the new numbers of its issues"
        ),
    ),
    Self::MergeConflict { from, into, conflicts } => Conflict(
        "merge_conflict",
        match from == into {
            true => format!("`{from}` cannot be merged into itself"),
            false => format!("`{from}` and `{into}` both have {}", words::some(conflicts, ", ")),
        },
        "nothing was merged: a project has each of these once, so these two stay apart",
    ),
    Self::ProjectBusy { project, at_work } => Later(
        "project_busy",
        format!("somebody works in `{project}`: {}", words::some(at_work, "; ")),
        "nothing was merged: let them finish, or release the items and stop the runs",
    ),
    Self::MergeUnconfirmed { from, into, issues, counts } => Conflict(
        "unconfirmed",
        words::would_merge(from, into, issues, counts),
        "give `confirm` to merge them; it cannot be undone",
    ),
}
