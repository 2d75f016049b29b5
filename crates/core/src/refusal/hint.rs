//! What to do next, for each refusal.

use super::{Misplaced, Refusal};
use crate::authority::{Denial, who_may};
use crate::gate::GateState;
use crate::plan::TodoLineFault;
use crate::{ListKind, Role, TodoId, TodoKind};

impl Refusal {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownTodo { list: Some(ListKind::Turn), .. } => {
                "call list_todo for the ids of this turn; other turns are out of reach".into()
            }
            Self::UnknownTodo { .. } => "list the items to see their ids".into(),
            Self::AlreadySettled { .. } => "settled is final; create a new item instead".into(),
            Self::WrongStatus { expected, .. } => {
                format!("it must be {}", names(expected.iter().map(|s| s.name()), " or "))
            }
            Self::NotPermitted { action, list, todo_kind, denial, .. } => {
                let may = who_may(*list, *todo_kind, *action);
                match denial {
                    Denial::NoSuchAct => "nobody can do this on this kind of list".into(),
                    Denial::NotYours => "ask its owner or the lead".into(),
                    Denial::Role if *todo_kind == TodoKind::Criterion => {
                        "criteria belong to the operator: claim one with done, or ask".into()
                    }
                    Denial::Role
                        if matches!(list, ListKind::Turn | ListKind::Issue)
                            && may.contains(&Role::Root) =>
                    {
                        "workers report back to the agent that delegated; it keeps the list".into()
                    }
                    Denial::Role => {
                        format!("this is for: {}", names(may.iter().map(|r| r.name()), ", "))
                    }
                }
            }
            Self::OneInProgress { .. } => "complete, cancel or release that one first".into(),
            Self::SeveralInProgress { .. } => {
                "leave one in_progress, give the others pending".into()
            }
            Self::ActiveFull { .. } => "complete or cancel an active item first".into(),
            Self::ListFull { .. } => {
                "complete or drop items first, or split the work into several issues".into()
            }
            Self::BacklogFull { .. } => "cancel or complete existing items first".into(),
            Self::OutcomeRequired => {
                "say in `outcome` what was done, or why it was cancelled".into()
            }
            Self::ReasonRequired { .. } => "give a `reason`".into(),
            Self::DuplicateText { .. } => "items are identified by their text: reword one".into(),
            Self::DuplicateId { .. } => "give every item an id of its own, or none".into(),
            Self::Held { .. } => "unhold it first".into(),
            Self::NoClaim { .. } => "wait until its maker claims it is done".into(),
            Self::AlreadyClaimed { .. } => "its reviewer accepts or returns it".into(),
            Self::AlreadyRatified { .. } => "nothing is left to do".into(),
            Self::CriterionNotStartable { .. } => "claim it with `done` when it holds".into(),
            Self::AlreadyTaken { .. } => "take another item, or wait until its lease ends".into(),
            Self::AssignedToAnother { .. } => {
                "take another item; root or the operator can assign this one again".into()
            }
            Self::StaleEpoch { holder: Some(_), .. } => {
                "stop working on it: somebody else holds it now".into()
            }
            Self::StaleEpoch { .. } => "take it again; the lease has ended".into(),
            Self::Deferred { .. } => "wait until then, or end the deferral first".into(),
            Self::ChangedSinceAsked { revision, .. } => {
                format!("look at it again; to accept it as it is now, expect revision {revision}")
            }
            Self::UnclaimedCriteria { .. } => {
                "wait for the claims, refuse the sign-off, or accept unclaimed criteria".into()
            }
            Self::MayNotChooseModel { .. } => {
                "leave the model out, or use `punch run --model` in this process".into()
            }
            Self::OutOfReach { .. } => "use a token that reaches there".into(),
            Self::NoOperatorToken => "make one first: punch token new --role operator".into(),
            Self::UnknownToken { .. } => "token_list shows the tokens".into(),
            Self::BadParent { .. } => "choose another parent in the same list".into(),
            Self::Waiting { .. } => "take another task, or settle those first".into(),
            Self::AfterItself { .. } => "leave one of them out; nothing was changed".into(),
            Self::PlanChanged { .. } => {
                "import the file first (`punch plan import FILE`); it was not changed".into()
            }
            Self::BadPlace { why, .. } => match why {
                Misplaced::BeforeItself => "name another item, or none to move it to the end",
                Misplaced::OtherList => "name an item of the same list",
                Misplaced::OtherKind => "move criteria among criteria, and steps among steps",
            }
            .into(),
            Self::UnknownIssue { .. } => "list the issues to see their numbers".into(),
            Self::LookAlike { number, .. } => {
                format!("work on #{number}, or give `forceNew` if this is another matter")
            }
            Self::WrongIssueStatus { allowed, .. } if allowed.is_empty() => {
                "the operator may reopen it".into()
            }
            Self::WrongIssueStatus { allowed, .. } => {
                format!("it can become {}", names(allowed.iter().map(|s| s.name()), " or "))
            }
            Self::IssueMoveNotPermitted { role: Role::Root, to, asked, .. } if to.is_closed() => {
                match asked {
                    Some(GateState::Open) => "the operator has not answered your sign-off yet",
                    Some(GateState::Refused) => {
                        "the sign-off was refused: rework it, then ask again with checkpoint"
                    }
                    Some(GateState::Resumed) => {
                        "it has changed since the sign-off: ask again with checkpoint"
                    }
                    _ => "ask for sign-off with checkpoint, purpose sign_off; the operator decides",
                }
                .into()
            }
            Self::IssueMoveNotPermitted { .. } => "ask the operator to move it".into(),
            Self::NoSuchText { is_empty: true, .. } => "the list is empty: add tasks first".into(),
            Self::NoSuchText { text, .. } if looks_like_an_id(text) => {
                "tasks are addressed by their text, not by an id: pass the exact text".into()
            }
            Self::NoSuchText { .. } => {
                "tasks are addressed by their text: pass the exact text of one".into()
            }
            Self::AmbiguousText { .. } => "give more of the text, or the short id of one".into(),
            Self::SignOffNeedsSession { number } => format!(
                "start one and bind it: `punch session start`, then `punch session bind {number} \
                 --session ID`"
            ),
            Self::Unbound => "ask the operator to bind an issue to this session".into(),
            Self::UnknownSession { .. } => "session_list shows the sessions".into(),
            Self::SessionAmbiguous { .. } => {
                "name the session with --session or PUNCHLIST_SESSION".into()
            }
            Self::HostedRun { .. } => "go on with the session in that host".into(),
            Self::OtherIssue { bound: Some(_), .. } => {
                "leave out --issue, or name a session of that issue with --session".into()
            }
            Self::OtherIssue { number, bound: None } => {
                format!("bind a session to it: `punch session bind {number} --session ID`")
            }
            Self::SessionEnded { .. } => "start a new session".into(),
            Self::IssueHeld { take_over: true, .. } => {
                "end that session, or take the issue over with `takeOver`".into()
            }
            Self::IssueHeld { .. } => "ask the operator to take it over".into(),
            Self::AlreadyBound { .. } => "unbind it first, or file an issue below it".into(),
            Self::HasChecklist { .. } => "keep its checklist with the tool todo".into(),
            Self::SessionListsOff => {
                "work on an issue: its checklist is kept with the tool todo".into()
            }
            Self::SelfLink { .. } => "name another issue".into(),
            Self::AlreadyLinked { .. } => "there is nothing left to do".into(),
            Self::NotLinked { .. } => "issue_show shows the links there are".into(),
            Self::OpenChildren { .. } => "give `confirm` to close it anyway".into(),
            Self::OpenSubtasks { .. } => {
                "complete or cancel them first; the operator may complete all of them with \
                 --with-children"
                    .into()
            }
            Self::StaleRevision { .. } => {
                "make your changes again on the newer text, with its revision".into()
            }
            Self::BadChecklist { .. } => {
                "nothing was changed: fix these lines and save again".into()
            }
            Self::MayNotAsk { .. } => "report back to the agent that delegated".into(),
            Self::MayNotAnswer { .. } => "gates are answered by the operator: wait".into(),
            Self::UnknownGate { .. } => "gate_list shows the gates".into(),
            Self::AlreadyAnswered { .. } => {
                "only the first answer counts; ask again if it is wrong".into()
            }
            Self::NoPermission { .. } => "permission_list shows what is permitted".into(),
            Self::BadForm { .. } => {
                "give a flat object of string, number, integer and boolean fields".into()
            }
            Self::BadResponse { .. } => "answer each field as the form says".into(),
            Self::MayNotDelegate { .. } => "ask the operator: your role may not do this".into(),
            Self::BadAgentType { .. } => "use letters, digits, - and _".into(),
            Self::UnknownDelegation { .. } => "delegation_list shows the delegations".into(),
            Self::DelegationOver { .. } => "delegate the work again".into(),
            Self::MayNotRun { .. } => "ask the operator: your role may not do this".into(),
            Self::NoModel { agent } => format!(
                "name one: --model anthropic:NAME, or model = \"…\" under [agents.{agent}] in \
                 punchlist.toml"
            ),
            Self::UnknownRun { .. } => "`punch log` shows runs as they begin".into(),
            Self::RunOver { .. } => "say something in its chat, or begin another run".into(),
            Self::StaleRun { .. } => "stop: somebody else executes it now".into(),
            Self::StaleDelegation { .. } => "stop: somebody else works on it now".into(),
            Self::NoProposal { .. } => "delegation_show shows what came back".into(),
            Self::ProposalSettled { .. } => "there is nothing left to decide".into(),
            Self::NotYourProposal { delegator } => format!("{delegator} decides on it"),
            Self::ItemsRequired => "give `items`, or accept the proposal as it is".into(),
            Self::NoChecklist => "bind an issue before delegating".into(),
            Self::BadPlan { .. } => "nothing was imported: fix the file and import it again".into(),
            Self::PlanElsewhere { branches, .. } => {
                format!("name its branch: --branch {}", branches.join(" or "))
            }
            Self::NoBranch { .. } => "name the branch with --branch".into(),
            Self::UnknownPlan { .. } => "plan_import makes a plan of its file".into(),
            Self::Archived { .. } => "import the plan again to bring it back".into(),
            Self::OpenTasks { .. } => "settle them, or give `confirm` to archive it anyway".into(),
            Self::Unconfirmed { plans, .. } if plans.is_empty() => "there is nothing to do".into(),
            Self::Unconfirmed { .. } => {
                "give `confirm` to remove them for good; the log keeps who did what, and when"
                    .into()
            }
            Self::BadTodoLine { fault, .. } => match fault {
                TodoLineFault::Gone => "the file was not touched: look for the line yourself",
                TodoLineFault::Ambiguous { .. } => {
                    "the file was not touched: name the line by its number, or change one of them"
                }
                TodoLineFault::Ticked { .. } => "nothing is left to tick",
                TodoLineFault::Elsewhere { .. } => "the file was not touched: name that file",
            }
            .into(),
            Self::PlanExists { .. } => {
                "plan_tree shows it; give another planFile to open another plan".into()
            }
            Self::NoTodoLine { .. } => "plan_from_todo opens a plan from a line".into(),
            Self::UnknownAgent { .. } => "register it with agent_register".into(),
            Self::NotYourself { .. } => "report only your own status".into(),
            Self::EvidenceRequired { missing } => {
                let kinds = names(missing.iter().map(|kind| kind.name()), " and ");
                format!("give evidence of kind {kinds}, e.g. test:cargo test")
            }
            Self::MayNotLead { .. } => "ask the operator".into(),
            Self::UnknownMission { known, .. } if known.is_empty() => {
                "the operator makes one: punch mission init mission.json".into()
            }
            Self::UnknownMission { known, .. } => format!("there are: {}", known.join(", ")),
            Self::UnknownPillar { known, .. } if known.is_empty() => {
                "the mission has no pillars yet; the operator adds them to its file".into()
            }
            Self::UnknownMetric { known, .. } if known.is_empty() => {
                "the mission has no metrics yet; the operator adds them to its file".into()
            }
            Self::UnknownPillar { known, .. }
            | Self::UnknownMetric { known, .. }
            | Self::UnknownTemplate { known, .. } => format!("there are: {}", known.join(", ")),
            Self::OtherMission { mission, .. } => format!("name mission `{mission}`"),
            Self::MissionArchived { .. } => {
                "the operator can resume it with `status` active in its file".into()
            }
            Self::BadFigure { expected, .. } => format!("give {expected}"),
            Self::NoCollector { .. } => {
                "record a figure with metric_record, or let the operator add `collect` to the \
                 mission's file"
                    .into()
            }
            Self::AgentAtWork { .. } => {
                "write when it is done, or cancel its delegation first".into()
            }
            Self::UnknownConversation { .. } => "conversation_list shows the chats".into(),
        }
    }
}

/// `task-3`, `#3`, `3`, a ULID: texts of a model that assumes items have ids.
fn looks_like_an_id(text: &str) -> bool {
    let numbered = text.rsplit(['-', '#', ' ', '_']).next().unwrap_or_default();
    let is_number = !numbered.is_empty() && numbered.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && text.split_whitespace().count() <= 2 && text.len() < 16)
        || TodoId::parse(text).is_some()
}

fn names<'a>(words: impl Iterator<Item = &'a str>, between: &str) -> String {
    words.collect::<Vec<_>>().join(between)
}
