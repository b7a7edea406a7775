//! `tyrion api-jar`: the library by which programs speak to the agent.

use crate::{
    files::OutputTarget,
    outcome::{CommandResult, Completion, tell},
};
use clap::Args;
use std::path::PathBuf;

/// The library; `tests/setup/api-jar.sh` makes it. A link, since a crate has nothing from
/// outside its folder.
const JAR: &[u8] = include_bytes!("../../tyrion-api.jar");

/// Where it goes.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tyrion api-jar
  mkdir -p lib && tyrion api-jar -o lib/tyrion-api.jar
  javac -cp $(tyrion api-jar -o /tmp/tyrion-api.jar && echo /tmp/tyrion-api.jar) Orders.java")]
pub struct ApiJarArgs {
    /// Where to write: a file, or - for stdout
    #[arg(short, long, value_name = "FILE", default_value = "tyrion-api.jar")]
    output: PathBuf,
}

/// Writes the library.
pub fn run(args: ApiJarArgs) -> CommandResult {
    let target = OutputTarget::of(&args.output);
    target.spare_logs()?;
    target.write(|out| out.write_all(JAR))?;
    if let OutputTarget::File(path) = &target {
        tell(&format!("wrote {}", path.display()));
    }
    Ok(Completion::Whole)
}
