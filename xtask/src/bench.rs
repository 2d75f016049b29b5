//! `cargo xtask bench [--quick]`: builds the programs in release and runs the measurements.
//!
//! The measurements are in the package `measure`, which links the product; this crate does not. A
//! missed target is an error, so that it is noticed. Benchmarks are not part of `test`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::postgres::{TestServer, URL_VARIABLE};
use crate::{browser, debian, process, repository};

pub(crate) fn run(args: &[String]) -> Result<()> {
    if args.iter().any(|arg| matches!(arg.as_str(), "--help" | "-h")) {
        print!("{}", crate::HELP);
        return Ok(());
    }
    let root = repository::root()?;
    let build = ["build", "--release", "--package", "punchlist-cli", "--package", "measure"];
    process::run_cargo(&root, &build, &[])?;
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), |folder| root.join(folder));
    let programs = target.join("release");
    require_position_independent(&programs.join("punch"))?;
    install("task", "taskwarrior")?;
    let server = TestServer::to_measure()?;
    install("curl", "curl")?;
    // The build's output is still being written to the disk, and would slow down the measured
    // commits.
    process::run(&mut std::process::Command::new("sync"), "sync")?;
    let mut measure = process::bound(programs.join("measure"));
    measure.arg("all").arg(&programs).args(args).env(URL_VARIABLE, server.url());
    browser::to_measure(&root, &programs.join("punch"), &mut measure)?;
    process::run(&mut measure, "measure")
}

/// Installs a program that we compare with from Debian's packages, if it is missing.
fn install(program: &str, package: &str) -> Result<()> {
    if process::succeeds(std::process::Command::new(program).arg("--version")) {
        return Ok(());
    }
    debian::install(&[package])
}

/// Fails unless the program can be loaded at any address (ADR 0020). Such a program has the ELF type
/// of a shared object; one with a fixed address has the type of an executable.
fn require_position_independent(program: &Path) -> Result<()> {
    const SHARED_OBJECT: u16 = 3;
    let mut head = [0; 18];
    File::open(program)
        .and_then(|mut file| file.read_exact(&mut head))
        .with_context(|| format!("cannot read {}", program.display()))?;
    let [0x7f, b'E', b'L', b'F', _, order, .., first, second] = head else {
        bail!("{} is not an ELF program", program.display());
    };
    let kind = if order == 1 { [first, second] } else { [second, first] };
    if u16::from_le_bytes(kind) != SHARED_OBJECT {
        bail!("{} is not position-independent (ADR 0020)", program.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_position_independent_program_is_measured() {
        let file = std::env::temp_dir().join(format!("xtask-elf-{}", std::process::id()));
        let check = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            require_position_independent(&file).map_err(|error| error.to_string())
        };
        let head = |order: u8, kind: [u8; 2]| {
            [&b"\x7fELF\x02"[..], &[order], &[0; 10], &kind, &[0; 40]].concat()
        };
        let checked = [
            check(&head(1, [3, 0])),
            check(&head(2, [0, 3])),
            check(&head(1, [2, 0])),
            check(&head(2, [0, 2])),
            check(&[b'x'; 64]),
            check(b"\x7fELF"),
        ];
        std::fs::remove_file(&file).unwrap();
        assert!(checked[..2].iter().all(Result::is_ok), "{checked:?}");
        for (refused, words) in checked[2..].iter().zip([
            "not position-independent",
            "not position-independent",
            "not an ELF program",
            "cannot read",
        ]) {
            assert!(refused.as_ref().unwrap_err().contains(words), "{checked:?}");
        }
        // This test itself is built like the product.
        require_position_independent(&std::env::current_exe().unwrap()).unwrap();
    }
}
