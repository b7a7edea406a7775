//! Finds the agents that the crate carries where it is installed with `cargo install`.
//! In the repository there are none: there the agent is beside the program.

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    // Of a folder that is not there Cargo would say that it has changed, each time.
    let watched = if Path::new("agents").exists() { "agents" } else { "build.rs" };
    println!("cargo::rerun-if-changed={watched}");
    let of = |name: &str| env::var(name).map_err(|error| format!("{name}: {error}"));
    let (crate_folder, arch) = (of("CARGO_MANIFEST_DIR")?, of("CARGO_CFG_TARGET_ARCH")?);
    if env::var_os("CARGO_CFG_WINDOWS").is_some() {
        // As much of a stack as Linux gives.
        println!("cargo::rustc-link-arg-bins=-Wl,--stack,8388608");
    }
    let mut agents = String::new();
    for libc in ["glibc", "musl"] {
        let file = Path::new(&crate_folder).join(format!("agents/{arch}/{libc}.gz"));
        if !file.exists() {
            continue;
        }
        let bytes = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let build = format!("{}-{:016x}", of("CARGO_PKG_VERSION")?, hash(&bytes));
        agents += &format!(
            "PackedAgent {{ libc: {libc:?}, build: {build:?}, gzip: include_bytes!({file:?}) }},\n"
        );
    }
    let written = format!("static AGENTS: &[PackedAgent] = &[{agents}];\n");
    Ok(fs::write(Path::new(&of("OUT_DIR")?).join("agents.rs"), written)?)
}

/// FNV-1a: tells builds apart, no more is needed.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
