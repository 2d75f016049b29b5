//! Links `punch` at a fixed address on Linux (ADR 0020): a command that lives for four milliseconds
//! should not spend half of one on moving thirty thousand pointers.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bin=punch=-no-pie");
    }
}
