//! Whether an outside tool may be called: decided by the configuration, or by a person's answer.

use punchlist_core::{AgentPath, Role};
use punchlist_engine::tools::{Guard, Verdict, Wanted};
use punchlist_testkit::{Backend, World, on_every_store};
use serde_json::{Value, json};

use crate::user_tools::toolbox;

const TOOLS: &str = "[tools.free]\ncommand = [\"x\"]\ndescription = \"x\"\npermission = \"allow\"\n\
                     [tools.never]\ncommand = [\"x\"]\ndescription = \"x\"\npermission = \"deny\"\n\
                     [tools.deploy]\ncommand = [\"./deploy.sh\"]\ndescription = \"x\"\n";

struct Desk {
    world: World,
    folder: tempfile::TempDir,
}

impl Desk {
    fn judge(&self, tools: &str, tool: &str, call: &str) -> Verdict {
        let boxed = toolbox(tools, self.folder.path());
        let guard = Guard { ops: &self.world.ops, tools: &boxed };
        let (agent, input) = (AgentPath::parse("coder").unwrap(), json!({ "to": "staging" }));
        let wanted = Wanted { agent: &agent, run: "r", call, tool, input: &input };
        guard.judge(&self.world.envelope(Role::System), &wanted).unwrap()
    }

    fn answer(&self, gate: &str, decision: &str, response: &Value) {
        let input = json!({ "gateId": gate, "decision": decision, "response": response });
        let operator = self.world.envelope(Role::Operator);
        self.world.call_in(&operator, "gate_answer", input).unwrap();
    }
}

fn asked(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Ask(gate) => gate.clone(),
        other => panic!("{other:?}"),
    }
}

fn the_file_or_the_person_says_whether(backend: Backend) {
    let desk = Desk { world: World::new(backend), folder: tempfile::tempdir().unwrap() };
    let judge = |tool: &str, call: &str| desk.judge(TOOLS, tool, call);
    assert_eq!(judge("free", "c"), Verdict::Allowed);
    let denied = Verdict::Denied("never is denied by the configuration".to_owned());
    assert_eq!(judge("never", "c"), denied);
    assert_eq!(judge("nothing", "c"), Verdict::Denied("there is no tool `nothing`".to_owned()));
    let first = asked(&judge("deploy", "c1"));
    assert_eq!(asked(&judge("deploy", "c1")), first, "the same call is the same question");
    desk.answer(&first, "refuse", &json!("not on a Friday"));
    let denied = Verdict::Denied("denied by the operator: not on a Friday".to_owned());
    assert_eq!(judge("deploy", "c1"), denied);
    let second = asked(&judge("deploy", "c2"));
    desk.answer(&second, "refuse", &Value::Null);
    assert_eq!(judge("deploy", "c2"), Verdict::Denied("denied by the operator".to_owned()));
    let third = asked(&judge("deploy", "c3"));
    desk.answer(&third, "resume", &json!("once"));
    assert_eq!(judge("deploy", "c3"), Verdict::Allowed);
    let fourth = asked(&judge("deploy", "c4"));
    desk.answer(&fourth, "resume", &json!("always"));
    assert_eq!(judge("deploy", "c5"), Verdict::Allowed);
    // After the tool's command is edited, the permission does not cover the new one.
    let edited = TOOLS.replace("./deploy.sh", "./steal.sh");
    asked(&desk.judge(&edited, "deploy", "c6"));
}

on_every_store!(the_file_or_the_person_says_whether);
