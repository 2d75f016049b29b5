//! The processes this one descends from. A host's hooks, its MCP servers and the commands in its
//! shell have it as their ancestor, whatever folder they run in.
//!
//! A process is known by the machine's boot, its process namespace, its id and when it started, so
//! that an id that was given again is another process.

/// Programs that only start others.
const SHELLS: [&str; 14] = [
    "sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "env", "timeout", "nice",
    "nohup", "setsid", "sudo",
];

/// How far up is looked.
const ANCESTORS_MAX: usize = 32;

/// A process above this one.
struct Ancestor {
    key: String,
    is_shell: bool,
    /// It leads a session of a terminal: a person's own shell, or a host that has a terminal.
    leads_terminal: bool,
}

/// Every process above this one, the nearest first.
pub(crate) fn ancestors() -> Vec<String> {
    above().into_iter().map(|ancestor| ancestor.key).collect()
}

/// The processes a hook is fired from: the shells that started it, and the host, which is the first
/// that is no shell. A person's own shell is nobody's host.
pub(crate) fn fired_from() -> Vec<String> {
    chain(above())
}

fn chain(above: Vec<Ancestor>) -> Vec<String> {
    let mut keys = Vec::new();
    for ancestor in above {
        if ancestor.is_shell && ancestor.leads_terminal {
            break;
        }
        keys.push(ancestor.key);
        if !ancestor.is_shell {
            break;
        }
    }
    keys
}

fn is_shell(program: &str) -> bool {
    let name = program.trim_start_matches('-').rsplit('/').next().unwrap_or(program);
    SHELLS.contains(&name)
}

#[cfg(target_os = "linux")]
fn above() -> Vec<Ancestor> {
    use std::path::Path;

    let Some(boot) = read("/proc/sys/kernel/random/boot_id") else { return Vec::new() };
    let namespace = Path::new("/proc/self/ns/pid").read_link().unwrap_or_default();
    let machine = format!("{}/{}", boot.trim(), namespace.display());
    let mut found = Vec::new();
    let mut id = std::os::unix::process::parent_id();
    while id > 1 && found.len() < ANCESTORS_MAX {
        let Some(stat) = read(&format!("/proc/{id}/stat")) else { break };
        // The name stands in parentheses and may hold any character.
        let (Some(open), Some(close)) = (stat.find('('), stat.rfind(')')) else { break };
        let program = &stat[open + 1..close];
        // After the name: state, parent, group, session, terminal, …, and the start at place 19.
        let fields: Vec<&str> = stat[close + 1..].split_ascii_whitespace().take(20).collect();
        let field = |at: usize| fields.get(at).and_then(|field| field.parse::<i64>().ok());
        let (Some(parent), Some(session), Some(terminal), Some(start)) =
            (field(1), field(3), field(4), field(19))
        else {
            break;
        };
        found.push(Ancestor {
            key: format!("{machine}/{id}/{start}"),
            is_shell: is_shell(program),
            leads_terminal: session == i64::from(id) && terminal != 0,
        });
        let Ok(parent) = u32::try_from(parent) else { break };
        id = parent;
    }
    found
}

/// Reads a file of the kernel, which gives all of it at once. Every command of an agent reads
/// several, so the file is not examined first as files of people are.
#[cfg(target_os = "linux")]
fn read(path: &str) -> Option<String> {
    use std::io::Read;

    const PROC_MAX: usize = 4 << 10;
    let mut buffer = [0; PROC_MAX];
    let length = std::fs::File::open(path).and_then(|mut file| file.read(&mut buffer)).ok()?;
    std::str::from_utf8(&buffer[..length]).ok().map(str::to_owned)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn above() -> Vec<Ancestor> {
    let ps = |id: u32| {
        let mut command = std::process::Command::new("ps");
        command.args(["-o", "ppid=,sess=,tty=,lstart=,comm=", "-p", &id.to_string()]);
        let said = command.stderr(std::process::Stdio::null()).output().ok()?;
        String::from_utf8(said.stdout).ok().filter(|said| !said.trim().is_empty())
    };
    let mut found = Vec::new();
    let mut id = std::os::unix::process::parent_id();
    while id > 1 && found.len() < ANCESTORS_MAX {
        let Some(line) = ps(id) else { break };
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(parent), Some(terminal), Some(start), Some(program)) =
            (words.first(), words.get(2), words.get(3..8), words.get(8..))
        else {
            break;
        };
        let program = program.join(" ");
        found.push(Ancestor {
            key: format!("{id}/{}", start.join(" ")),
            is_shell: is_shell(&program),
            leads_terminal: program.starts_with('-') && !terminal.starts_with('?'),
        });
        let Ok(parent) = parent.parse() else { break };
        id = parent;
    }
    found
}

#[cfg(not(unix))]
fn above() -> Vec<Ancestor> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ancestor(key: &str, is_shell: bool, leads_terminal: bool) -> Ancestor {
        Ancestor { key: key.to_owned(), is_shell, leads_terminal }
    }

    #[test]
    fn a_hook_is_fired_from_the_first_process_that_is_no_shell() {
        let claude = || ancestor("claude", false, false);
        let persons = || ancestor("bash", true, true);
        assert_eq!(chain(vec![claude(), persons()]), ["claude"]);
        assert_eq!(chain(vec![ancestor("sh", true, false), claude()]), ["sh", "claude"]);
        assert_eq!(chain(vec![ancestor("claude", false, true), persons()]), ["claude"]);
        assert!(chain(vec![persons(), ancestor("sshd", false, false)]).is_empty());
    }

    #[test]
    fn a_shell_is_known_by_its_name() {
        for shell in ["bash", "-zsh", "/bin/sh"] {
            assert!(is_shell(shell), "{shell}");
        }
        assert!(!is_shell("node"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn every_process_has_ancestors_that_differ() {
        let found = ancestors();
        assert!(!found.is_empty());
        let mut keys = found.clone();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), found.len());
        assert_eq!(found, ancestors(), "the same process has the same key");
    }
}
