//! `cargo xtask bench`: the entry of the measurements. The measurements themselves are not here yet.

use anyhow::{Result, bail};

pub(crate) fn run(_args: &[String]) -> Result<()> {
    bail!("there are no measurements yet")
}
