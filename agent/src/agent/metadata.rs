//! What the log's header says about the process.

use crate::{
    clock,
    jvm::Ti,
    options::{Options, Parks},
};

/// Keys and values, in the order in which they are shown.
pub fn collect(
    ti: Ti,
    options: &Options,
    (parks, threshold_origin, no_owners): (Parks, &str, Option<&str>),
    attached: bool,
) -> Vec<(String, String)> {
    let command = ti.property("sun.java.command");
    let (program, arguments) = split_command(&command);
    let jvm = format!("{} {}", ti.property("java.vm.name"), ti.property("java.vm.version"));
    let flags = jvm_flags().join(" ");
    let host = host();
    let has_collections = ti.capabilities().can_generate_garbage_collection_events();
    let mut pairs = vec![
        ("tyrion", env!("CARGO_PKG_VERSION")),
        ("program", program),
        ("jvm", &jvm),
        ("jvm-flags", &flags),
        ("host", &host),
        ("clock", clock::NAME),
        ("loaded", if attached { "attached" } else { "at start" }),
        ("collections", if has_collections { "true" } else { "false" }),
        ("monitor-owners", no_owners.unwrap_or("true")),
    ];
    let processors = ti.processors().map(|count| count.to_string());
    pairs.extend(processors.iter().map(|count| ("processors", count.as_str())));
    let in_force = options.in_force();
    pairs.extend(in_force.iter().map(|(key, value)| match *key {
        // The header has the threshold; this is how it came about.
        "threshold" => (*key, threshold_origin),
        // How they are seen in fact.
        "parks" => (
            *key,
            match parks {
                Parks::Auto => "natives+probes",
                parks => parks.name(),
            },
        ),
        _ => (*key, value.as_str()),
    }));
    if options.args {
        pairs.push(("args", arguments));
    }
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Main class or jar, and the program's arguments.
fn split_command(command: &str) -> (&str, &str) {
    // A jar's path may hold spaces.
    let end = match command.find(".jar ") {
        Some(at) if !command[..at].contains(' ') || command[..at].contains('/') => at + 4,
        _ => command.find(' ').unwrap_or(command.len()),
    };
    (&command[..end], command[end..].trim_start())
}

fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

fn jvm_flags() -> Vec<String> {
    let command_line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let arguments = command_line
        .split(|&byte| byte == 0)
        .map(|argument| String::from_utf8_lossy(argument).into_owned());
    flags_of(arguments.skip(1))
}

/// The JVM's flags among the arguments of `java`, up to the main class. Values
/// of system properties stay out: they hold passwords.
fn flags_of(arguments: impl Iterator<Item = String>) -> Vec<String> {
    const WITH_VALUE: [&str; 9] = [
        "-cp",
        "-classpath",
        "--class-path",
        "-p",
        "--module-path",
        "--add-modules",
        "--add-opens",
        "--add-exports",
        "--add-reads",
    ];
    let mut flags = Vec::new();
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        if !argument.starts_with('-') || argument == "-jar" || argument == "-m" {
            break;
        }
        if WITH_VALUE.contains(&argument.as_str()) {
            arguments.next();
        } else if argument.starts_with("-D") {
            flags.push(argument.split('=').next().unwrap_or_default().to_owned());
        } else if !argument.starts_with("-agentpath") && !argument.starts_with("-javaagent") {
            flags.push(argument);
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_from_arguments() {
        assert_eq!(split_command("com.acme.Main a b"), ("com.acme.Main", "a b"));
        assert_eq!(split_command("com.acme.Main"), ("com.acme.Main", ""));
        assert_eq!(split_command("/opt/my app/x.jar --port 1"), ("/opt/my app/x.jar", "--port 1"));
        assert_eq!(split_command("Main x.jar y"), ("Main", "x.jar y"));
        assert_eq!(split_command(""), ("", ""));
    }

    #[test]
    fn flags_end_at_the_main_class_and_hide_values() {
        let line = "-Xmx1g -Dpw=secret -cp a:b -XX:+UseZGC -agentpath:x=y -jar app.jar -Xss1m";
        let flags = flags_of(line.split(' ').map(str::to_owned));
        assert_eq!(flags, ["-Xmx1g", "-Dpw", "-XX:+UseZGC"]);
    }
}
