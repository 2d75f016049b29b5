//! A home, a project that `punch init` has set up, an issue that waits for the client, and the
//! client itself.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fake::Fake;
use crate::served;

/// The folder with the installed clients; `cargo xtask test --clients` sets it.
const FOLDER: &str = "PUNCHLIST_CLIENTS";

pub(crate) const PUNCH: &str = env!("CARGO_BIN_EXE_punch");

/// The path of an installed file.
pub(crate) fn installed(path: &str) -> PathBuf {
    let folder = std::env::var_os(FOLDER)
        .unwrap_or_else(|| panic!("{FOLDER} is not set: run `cargo xtask test --clients`"));
    let path = Path::new(&folder).join(path);
    assert!(path.exists(), "{} is not installed", path.display());
    path
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    Claude,
    /// Claude Code, set up by a plugin instead of settings.
    ClaudePlugin,
    Codex,
    Opencode,
}

impl Client {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Claude | Self::ClaudePlugin => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
        }
    }
}

/// What a person has done with `/hooks` in Codex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Review {
    /// Codex was started with the flag that skips the review.
    Bypassed,
    None,
    /// The hooks were reviewed, and have changed since.
    Wrong,
    Right,
}

pub(crate) struct Desk {
    client: Client,
    home: TempDir,
    /// The files of the project before `punch init`.
    pub(crate) before: BTreeMap<PathBuf, Vec<u8>>,
}

impl Desk {
    /// A desk whose client gets an issue with two steps.
    pub(crate) fn new(client: Client) -> Self {
        let desk = Self::unbound(client);
        desk.punch(&["issue", "new", "Two things", "--json"]);
        for step in ["One", "Two"] {
            desk.punch(&["todo", "add", step, "--issue", "1", "--json"]);
        }
        desk.punch(&["issue", "send", "1", "--to", client.name(), "--json"]);
        desk
    }

    /// A desk whose client gets no issue.
    pub(crate) fn unbound(client: Client) -> Self {
        // Codex refuses a home below the temporary folder.
        let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut desk = Self { client, home, before: BTreeMap::new() };
        std::fs::create_dir_all(desk.project()).unwrap();
        let git = Command::new("git").args(["init", "-q"]).current_dir(desk.project()).status();
        assert!(git.unwrap().success());
        std::fs::write(desk.project().join("README.md"), "# Project\n").unwrap();
        desk.before = desk.files();
        desk.punch(&[&["init", "--host", client.name(), "--json"], desk.flags()].concat());
        desk
    }

    /// Flags for `punch init`.
    fn flags(&self) -> &'static [&'static str] {
        if self.client == Client::ClaudePlugin { &["--plugin"] } else { &[] }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.home.path().join("project")
    }

    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let home = self.home.path();
        command.env_clear().current_dir(self.project());
        for (name, value) in
            [("HOME", ""), ("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "config")]
        {
            command.env(name, home.join(value));
        }
        command.env("XDG_CACHE_HOME", home.join("cache")).env("XDG_STATE_HOME", home.join("state"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        // The machine is busy while tests run, so hooks get more time.
        command.env("PUNCHLIST_HOOK_TIMEOUT_MS", "15000");
        command
    }

    pub(crate) fn punch(&self, words: &[&str]) -> Value {
        let output = self.command(Path::new(PUNCH)).args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words:?}: {said}{errors}");
        serde_json::from_str(&said).unwrap_or_else(|_| panic!("{words:?}: {said}{errors}"))
    }

    /// The doctor's report about this client.
    pub(crate) fn standing(&self) -> Value {
        let hosts = self.punch(&["doctor", "--json"])["hosts"].clone();
        let hosts = hosts.as_array().unwrap().clone();
        hosts.into_iter().find(|host| host["host"] == self.client.name()).unwrap()
    }

    pub(crate) fn lose_store(&self) {
        std::fs::remove_dir_all(self.home.path().join("data/punchlist")).unwrap();
    }

    /// Every file of the project except git's, with its bytes.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.project()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.ends_with(".git") {
                    folders.push(path);
                } else if path.is_file() {
                    found.insert(path.clone(), std::fs::read(&path).unwrap());
                }
            }
        }
        found
    }

    /// Does what a person does who trusts the folder in Claude Code.
    fn trust(&self) {
        let folder = self.project().canonicalize().unwrap();
        let trusted = json!({ "hasTrustDialogAccepted": true });
        let state = json!({ "projects": { folder.to_str().unwrap(): trusted } });
        std::fs::write(self.home.path().join(".claude.json"), state.to_string()).unwrap();
    }

    /// Runs the client with one prompt until it ends. Returns its output.
    pub(crate) fn run(&self, fake: &Fake, prompt: &str) -> String {
        let program = installed(&format!("node_modules/.bin/{}", self.client.name()));
        let mut command = self.command(&program);
        match self.client {
            Client::Claude | Client::ClaudePlugin => {
                command.args(["-p", prompt, "--dangerously-skip-permissions"]);
                if self.client == Client::Claude {
                    command.arg("--mcp-config").arg(self.project().join(".mcp.json"));
                } else {
                    self.trust();
                }
                command
                    .env("ANTHROPIC_BASE_URL", &fake.address)
                    .env("ANTHROPIC_API_KEY", "sk-none")
                    .env("MCP_CONNECTION_NONBLOCKING", "false")
                    .env("IS_SANDBOX", "1")
                    .env("DISABLE_AUTOUPDATER", "1")
                    .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
            }
            Client::Codex => return self.run_codex(fake, Review::Bypassed, prompt),
            Client::Opencode => {
                self.configure_opencode(fake);
                command.args(["run", "--print-logs", "--log-level", "INFO", prompt]);
                command.env("OPENCODE_DISABLE_MODELS_FETCH", "1");
            }
        }
        outputs(&command)
    }

    /// Runs the client with one prompt until nothing is left to do or its run has ended.
    pub(crate) fn drive(&self, fake: &Fake, prompt: &str) -> String {
        match self.client {
            Client::Opencode => served::drive(self, fake, prompt),
            _ => self.run(fake, prompt),
        }
    }

    /// Points opencode at the fake model.
    pub(crate) fn configure_opencode(&self, fake: &Fake) {
        let folder = self.home.path().join("config/opencode");
        std::fs::create_dir_all(&folder).unwrap();
        let config = json!({
            "model": "fake/fake",
            "small_model": "fake/fake",
            "autoupdate": false,
            "share": "disabled",
            "permission": { "*": "allow" },
            "provider": { "fake": {
                "npm": "@ai-sdk/openai-compatible",
                "options": { "baseURL": format!("{}/v1", fake.address), "apiKey": "none" },
                "models": { "fake": { "name": "fake", "tool_call": true } },
            } },
        });
        std::fs::write(folder.join("opencode.json"), config.to_string()).unwrap();
    }

    /// Runs Codex with one prompt.
    pub(crate) fn run_codex(&self, fake: &Fake, review: Review, prompt: &str) -> String {
        let home = self.home.path().join(".codex");
        std::fs::create_dir_all(&home).unwrap();
        let folder = self.project().canonicalize().unwrap();
        let config = format!(
            "model = \"fake\"\nmodel_provider = \"fake\"\n\n[model_providers.fake]\n\
             name = \"fake\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\n\n\
             [projects.\"{}\"]\ntrust_level = \"trusted\"\n",
            fake.address,
            folder.display()
        );
        std::fs::write(home.join("config.toml"), &config).unwrap();
        let reviewed = match review {
            Review::Bypassed | Review::None => String::new(),
            Review::Wrong => self.reviewed(&folder, |_| "sha256:00".to_owned()),
            Review::Right => self.reviewed(&folder, str::to_owned),
        };
        std::fs::write(home.join("config.toml"), config + &reviewed).unwrap();
        let mut command = self.codex();
        command.args(["exec", "--json", "--dangerously-bypass-approvals-and-sandbox"]);
        if review == Review::Bypassed {
            command.arg("--dangerously-bypass-hook-trust");
        }
        command.arg(prompt);
        outputs(&command)
    }

    fn codex(&self) -> Command {
        let mut command = self.command(&installed("node_modules/.bin/codex"));
        command.env("CODEX_HOME", self.home.path().join(".codex"));
        command
    }

    /// What Codex writes when a person reviews the hooks, by the hashes that it names itself.
    fn reviewed(&self, folder: &Path, hash: impl Fn(&str) -> String) -> String {
        let mut server = self.codex();
        server.arg("app-server").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = server.stderr(Stdio::null()).spawn().unwrap();
        let client = json!({ "clientInfo": { "name": "test", "version": "1" } });
        let asked = [
            json!({ "id": 1, "method": "initialize", "params": client }),
            json!({ "method": "initialized" }),
            json!({ "id": 2, "method": "hooks/list", "params": { "cwds": [folder] } }),
        ];
        let mut stdin = server.stdin.take().unwrap();
        for message in asked {
            writeln!(stdin, "{message}").unwrap();
        }
        let lines = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
        let answers = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
        let answer = { answers }.find(|answer| answer["id"] == 2).unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
        let hooks = answer["result"]["data"][0]["hooks"].as_array().unwrap();
        assert!(hooks.len() >= 6, "{answer}");
        let state = |hook: &Value| {
            let (key, own) = (hook["key"].as_str().unwrap(), hook["currentHash"].as_str().unwrap());
            format!("\n[hooks.state.\"{key}\"]\ntrusted_hash = \"{}\"\n", hash(own))
        };
        hooks.iter().map(state).collect()
    }
}

/// Runs a command to its end, and returns what it printed.
fn outputs(command: &Command) -> String {
    let limited = limited(command);
    let said = String::from_utf8_lossy(&limited.stdout).into_owned();
    format!("{said}\n{}", String::from_utf8_lossy(&limited.stderr))
}

/// Runs a command with a time limit. A client that hangs is killed, and its output so far is shown.
fn limited(command: &Command) -> std::process::Output {
    let mut bounded = Command::new("timeout");
    bounded.args(["--kill-after=5", "300"]).arg(command.get_program()).args(command.get_args());
    bounded.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    bounded.current_dir(command.get_current_dir().unwrap());
    bounded.stdin(Stdio::null()).output().unwrap()
}
