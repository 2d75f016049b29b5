//! Tells the linker what makes a program load faster, if this system can load it (ADR 0020). A
//! program that is built for another system is linked as usual.
//!
//! *Packed relocations.* A position-independent program has a list of the addresses that the loader
//! corrects at every start. Packed, this list takes 10 instead of 820 kB. The C library of GNU reads
//! it since version 2.36. The linker adds that requirement to the program, so an older library
//! refuses to start it and says why.
//!
//! *One library less.* What unwinds the stack after a panic is otherwise a library of its own, which
//! the loader opens, maps and searches at every start, and which asks the processor what it can do
//! when it is loaded.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if !is_built_for_this_system() || c_library().is_none_or(|version| version < (2, 36)) {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if let Some(folder) = folder_of("libgcc_eh.a").filter(|_| is_release) {
        println!("cargo::rustc-link-search=native={}", folder.display());
        // Not bundled: the linker takes from it what is used, before it looks into the library.
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}

fn is_built_for_this_system() -> bool {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_native = env::var_os("HOST").is_some_and(|host| env::var_os("TARGET") == Some(host));
    is_native && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu")
}

/// The version of the C library, from a line such as `glibc 2.36`.
fn c_library() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Where the C compiler, which also links, has one of its libraries. It repeats the name of a file
/// that it does not have.
fn folder_of(library: &str) -> Option<PathBuf> {
    let output = Command::new("cc").arg(format!("-print-file-name={library}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.is_absolute().then(|| path.parent().map(PathBuf::from)).flatten()
}
