//! Checks third-party packages: their licences, their sources, and the banned ones.
//!
//! It reads the output of `cargo metadata` for all platforms, not only for this machine's.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};

use crate::process;

const ALLOWED: [&str; 15] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    // The same terms in an older form, used by the tables of the markdown renderer.
    "Unicode-DFS-2016",
    "0BSD",
    "CC0-1.0",
    "MIT-0",
    "Unlicense",
    "BSL-1.0",
    // For data, not code: the list of certificate authorities that browsers trust.
    "CDLA-Permissive-2.0",
];

/// Packages that must not be used, directly or indirectly, whatever their licence.
const BANNED: [&str; 2] = ["openssl-sys", "beads_rust"];

pub(crate) fn check(root: &Path) -> Result<()> {
    let args = ["metadata", "--format-version", "1", "--locked"];
    let text = process::output(&mut process::cargo(root, &args), "cargo metadata --locked")?;
    let metadata: Value = serde_json::from_slice(&text).context("cargo metadata is not JSON")?;
    let (checked, offences) = offences(&metadata)?;
    for offence in &offences {
        println!("{offence}");
    }
    if !offences.is_empty() {
        bail!("{} third-party packages may not be used", offences.len());
    }
    println!("{checked} third-party packages have an allowed licence");
    Ok(())
}

/// The number of third-party packages, and one line for each package that may not be used.
fn offences(metadata: &Value) -> Result<(usize, Vec<String>)> {
    let members = metadata["workspace_members"].as_array().context("no workspace_members")?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let allowed = ALLOWED
        .iter()
        .map(|text| Licensee::parse(text).with_context(|| format!("bad allow list: {text}")))
        .collect::<Result<Vec<_>>>()?;
    let mut checked = 0;
    let mut offences = Vec::new();
    for package in packages.iter().filter(|package| !members.contains(&package["id"])) {
        checked += 1;
        let faults = faults(package, &allowed);
        if !faults.is_empty() {
            let name = package["name"].as_str().unwrap_or("?");
            let version = package["version"].as_str().unwrap_or("?");
            offences.push(format!("{name} {version}: {}", faults.join("; ")));
        }
    }
    Ok((checked, offences))
}

fn faults(package: &Value, allowed: &[Licensee]) -> Vec<String> {
    let mut faults = Vec::new();
    if package["name"].as_str().is_some_and(|name| BANNED.contains(&name)) {
        faults.push("is banned".to_owned());
    }
    match package["source"].as_str() {
        Some(source) if source.starts_with("registry+") => {}
        Some(source) => faults.push(format!("does not come from the registry but from {source}")),
        None => faults.push("is a path outside the workspace".to_owned()),
    }
    match package["license"].as_str() {
        None => faults.push("has no licence expression".to_owned()),
        Some(text) => faults.extend(licence_fault(text, allowed)),
    }
    faults
}

/// Why a licence expression is not satisfied by the allowed licences; `None` when it is.
fn licence_fault(text: &str, allowed: &[Licensee]) -> Option<String> {
    // Lax, because old packages write `MIT/Apache-2.0`.
    match Expression::parse_mode(text, ParseMode::LAX) {
        Err(error) => Some(format!("has an unreadable licence {text:?} ({})", error.reason)),
        Ok(expression) => {
            let fits = expression.evaluate(|need| allowed.iter().any(|have| have.satisfies(need)));
            (!fits).then(|| format!("has the licence {text:?}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const REGISTRY: &str = "registry+https://example.org/index";

    fn fault_of(licence: &str) -> Option<String> {
        let allowed: Vec<_> = ALLOWED.iter().map(|text| Licensee::parse(text).unwrap()).collect();
        licence_fault(licence, &allowed)
    }

    #[test]
    fn permissive_expressions_pass() {
        for licence in [
            "MIT",
            "MIT/Apache-2.0",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
            "Unlicense/MIT",
            "0BSD OR MIT OR Apache-2.0",
        ] {
            assert_eq!(fault_of(licence), None, "{licence}");
        }
    }

    #[test]
    fn other_expressions_are_named() {
        for licence in ["GPL-3.0-only", "MIT AND MPL-2.0", "Apache-2.0 WITH Swift-exception"] {
            assert_eq!(fault_of(licence), Some(format!("has the licence {licence:?}")));
        }
        assert!(fault_of("MIT OR OR").unwrap().contains("unreadable"));
    }

    #[test]
    fn every_offender_is_named_with_every_fault() {
        let metadata = json!({
            "workspace_members": ["ours"],
            "packages": [
                {"id": "ours", "name": "ours", "version": "0.1.0", "source": null},
                {"id": "a", "name": "a", "version": "1.0.0", "license": "MIT", "source": REGISTRY},
                {"id": "b", "name": "openssl-sys", "version": "0.9.1", "license": "MIT",
                 "source": "git+https://example.org/b"},
                {"id": "c", "name": "c", "version": "2.0.0", "license": null, "source": null},
            ],
        });
        let (checked, offences) = offences(&metadata).unwrap();
        assert_eq!(checked, 3);
        assert_eq!(
            offences,
            [
                "openssl-sys 0.9.1: is banned; does not come from the registry but from \
                 git+https://example.org/b",
                "c 2.0.0: is a path outside the workspace; has no licence expression",
            ]
        );
    }
}
