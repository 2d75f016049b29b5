//! Runs Schemathesis against a server, to check that the server does what its OpenAPI document
//! says.
//!
//! The Python tool is installed into the target folder on first use.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process::{bound, run, run_cargo, succeeds};

const TOOL: &str = "schemathesis==4.32.5";

/// Checks the server on a SQLite file, and on a PostgreSQL server if there is one.
pub(crate) fn check(root: &Path, postgres: &str) -> Result<()> {
    run_cargo(root, &["build", "--package", "punchlist-cli"], &[])?;
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), |folder| root.join(folder));
    let tool = installed(&target)?;
    let folder = target.join("openapi-check");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("store.db").display().to_string();
    for store in [file.as_str(), postgres] {
        let served = Served::start(&target.join("debug/punch"), store, &folder)?;
        let mut command = Command::new(&tool);
        command.args(["--config-file"]).arg(root.join("xtask/schemathesis.toml")).arg("run");
        command.arg(format!("{}/openapi.json", served.url)).args(["--url", &served.url]);
        command.args(["--header", &format!("Authorization: Bearer {}", served.token)]);
        command.args(["--exclude-path", "/v1/events", "--phases", "examples,coverage,fuzzing"]);
        command.args(["--max-examples", "10", "--generation-allow-x00", "false"]);
        command.args(["--suppress-health-check", "all", "--request-timeout", "20"]);
        command.current_dir(&folder).stdin(Stdio::null());
        run(&mut command, "schemathesis")?;
    }
    Ok(())
}

fn installed(target: &Path) -> Result<PathBuf> {
    let folder = target.join("schemathesis");
    let tool = folder.join("bin/st");
    if !succeeds(Command::new(&tool).arg("--version")) {
        println!("schemathesis is not on this machine: installing it into {}", folder.display());
        let mut make = Command::new("python3");
        run(make.args(["-m", "venv"]).arg(&folder), "python3 -m venv")?;
        let mut install = Command::new(folder.join("bin/pip"));
        run(install.args(["install", "--quiet", TOOL]), "pip install")?;
    }
    Ok(tool)
}

/// A server with an operator.
struct Served {
    child: Child,
    url: String,
    token: String,
}

impl Served {
    fn start(punch: &Path, store: &str, home: &Path) -> Result<Self> {
        let command = |words: &[&str]| {
            let mut command = bound(punch);
            command.args(words).args(["--json", "--db", store]);
            // A variable, because `token new` would treat the flag as an attempt to narrow the
            // token.
            command
                .env("PUNCHLIST_PROJECT", "demo")
                .env("HOME", home)
                .env_remove("PUNCHLIST_TOKEN")
                .stdin(Stdio::null());
            command.current_dir(home).stderr(Stdio::null());
            command
        };
        let made = command(&["token", "new", "--role", "operator"]).output()?;
        ensure!(made.status.success(), "no operator's token on {store}");
        let made: Value = serde_json::from_slice(&made.stdout)?;
        let token = made["token"].as_str().context("a token")?.to_owned();
        let mut serve =
            command(&["serve", "--listen", "127.0.0.1:0", "--jobs", "0", "--rate", "0"]);
        serve.args(["--project", "demo"]);
        serve.env("PUNCHLIST_TOKEN", &token).stdout(Stdio::piped());
        let mut child = serve.spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("its output")?).read_line(&mut line)?;
        let ready: Value = serde_json::from_str(&line).context("the server starts")?;
        let url = ready["url"].as_str().context("a url")?.to_owned();
        Ok(Self { child, url, token })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
