//! What `run`, `worker` and `serve` do to their own process before they start programs of others:
//! collectors, tools and MCP servers. How a program is started is in the engine.

use crate::output;

/// Makes this process ready to start programs.
pub(super) fn prepare() {
    keep_our_environment();
    end_strays();
}

/// Our environment may hold a token. What this process starts gets none of it, and must not read it
/// from our process either.
fn keep_our_environment() {
    #[cfg(target_os = "linux")]
    if let Err(error) = nix::sys::prctl::set_dumpable(false) {
        output::warn(&format!("collectors may be able to read our environment: {error}"));
    }
}

/// Ends the programs that an earlier `punch` left when it was killed, and keeps those of this one
/// together.
fn end_strays() {
    #[cfg(unix)]
    match punchlist_engine::strays::take_charge() {
        0 => {}
        1 => output::warn("ended 1 program that an earlier punch had left running"),
        left => {
            output::warn(&format!("ended {left} programs that an earlier punch had left running"));
        }
    }
}
