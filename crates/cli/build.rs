//! Links `punch` for a quick start on Linux (ADR 0020): at a fixed address, and without a library that
//! would be loaded only for unwinding. A command that lives for four milliseconds should not spend one
//! of them on moving thirty thousand pointers and on reading libraries.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bin=punch=-no-pie");
        if has_unwinder() {
            println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
        }
    }
}

/// Does the compiler that links have its unwinder as an archive, too? It answers with the bare name
/// where it knows of none.
fn has_unwinder() -> bool {
    let native = std::env::var("HOST").ok() == std::env::var("TARGET").ok();
    let asked = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    native
        && asked.is_ok_and(|said| {
            let path = String::from_utf8_lossy(&said.stdout);
            Path::new(path.trim()).is_absolute()
        })
}
