//! Where in a command line the JVM's options go.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// Programs that run the command in their arguments as it stands.
const WRAPPERS: &[&str] = &[
    "chrt", "env", "ionice", "nice", "nohup", "numactl", "perf", "setsid", "stdbuf", "strace",
    "taskset", "time", "timeout", "xvfb-run",
];

/// The command with the option for the agent in it, right behind `java`; or
/// `None` when `java` is started by something else, a script perhaps. `find`
/// gives the full path of a program: whatever else is on the PATH later, it is
/// this `java` that was meant.
pub fn with_agent(
    command: &[OsString],
    agent_option: &OsStr,
    find: impl Fn(&OsStr) -> Option<PathBuf>,
) -> Option<Vec<OsString>> {
    let java = place_of_java(command)?;
    let mut command = command.to_vec();
    if let Some(path) = find(&command[java]) {
        command[java] = path.into();
    }
    command.insert(java + 1, agent_option.into());
    Some(command)
}

/// The `java` of a command, as it is named there; `None` as [`with_agent`].
pub fn java_of(command: &[OsString]) -> Option<&OsStr> {
    place_of_java(command).map(|place| command[place].as_os_str())
}

fn place_of_java(command: &[OsString]) -> Option<usize> {
    let first = command.first()?;
    if is_java(first) {
        return Some(0);
    }
    if !is_any(first, WRAPPERS) {
        return None;
    }
    let java = command.iter().position(|argument| is_java(argument))?;
    command[1..java].iter().all(|argument| belongs_to_wrapper(argument)).then_some(java)
}

/// Whether an argument before `java` is surely the wrapper's own: an option, a
/// setting, a number or a list of them, another wrapper. Else `java` might be
/// anything, a word to print perhaps.
fn belongs_to_wrapper(argument: &OsStr) -> bool {
    let text = argument.to_string_lossy();
    let numeric = text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || ",.-:".contains(c));
    text.starts_with('-') || text.contains('=') || numeric || is_any(argument, WRAPPERS)
}

/// The full path of a program that is on the PATH; `None` for one that is not,
/// or that is named by its path already.
pub fn find_on_path(program: &OsStr) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return None;
    }
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join(program));
    found.filter_map(|file| std::path::absolute(file).ok()).find(|file| file.is_file())
}

fn is_java(argument: &OsStr) -> bool {
    is_any(argument, &["java"])
}

fn is_any(argument: &OsStr, names: &[&str]) -> bool {
    let name = Path::new(argument).file_name();
    name.and_then(OsStr::to_str).is_some_and(|name| names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(command: &str) -> Option<String> {
        let command: Vec<OsString> = command.split(' ').map(OsString::from).collect();
        let joined = with_agent(&command, OsStr::new("-AGENT"), |_| None)?.join(OsStr::new(" "));
        joined.into_string().ok()
    }

    #[test]
    fn the_agent_goes_right_behind_java() {
        for (command, expected) in [
            ("java -cp a Main x", Some("java -AGENT -cp a Main x")),
            ("/opt/jdk/bin/java Main", Some("/opt/jdk/bin/java -AGENT Main")),
            ("taskset -c 0 java Main", Some("taskset -c 0 java -AGENT Main")),
            ("env A=b nice java Main java", Some("env A=b nice java -AGENT Main java")),
            ("timeout 30s java Main", Some("timeout 30s java -AGENT Main")),
            ("env echo java hello", None),
            ("nice ./run.sh --lang java x", None),
            ("sh run.sh java", None),
            ("mvn test", None),
            ("taskset -c 0 ./run.sh", None),
        ] {
            assert_eq!(place(command).as_deref(), expected, "{command}");
        }
    }
}
