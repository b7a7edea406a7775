//! What a JVM runs, as its command line says.

use super::file_name;

/// Options of `java` whose value is the next word.
const WITH_VALUE: &[&str] = &[
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--limit-modules",
    "--add-exports",
    "--add-opens",
    "--add-reads",
    "--patch-module",
    "--enable-native-access",
    "--source",
];

/// A command line, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// What the process was started as, `/usr/bin/java`.
    launcher: String,
    /// The main class, the path of a jar, or `module/class`; empty where no word
    /// says it.
    main: String,
    /// What the program gets; of another launcher than `java`, all words.
    arguments: Vec<String>,
}

impl CommandLine {
    /// Takes the words of `/proc/PID/cmdline`, each of which ends with a zero byte.
    pub(super) fn parse(bytes: &[u8]) -> CommandLine {
        let text = String::from_utf8_lossy(bytes.strip_suffix(b"\0").unwrap_or(bytes));
        let mut words = text.split('\0').map(str::to_owned);
        let launcher = words.next().unwrap_or_default();
        let mut line = CommandLine { launcher, ..CommandLine::default() };
        if line.is_of_java() {
            line.main = main(&mut words);
        }
        line.arguments = words.collect();
        line
    }

    /// Whether the process was started as `java`.
    pub(super) fn is_of_java(&self) -> bool {
        file_name(&self.launcher) == "java"
    }

    /// What it runs: the main class or jar, else what it was started as.
    pub(super) fn program(&self) -> &str {
        if self.main.is_empty() { file_name(&self.launcher) } else { &self.main }
    }

    /// The program and its arguments.
    pub(super) fn text(&self) -> String {
        let words = std::iter::once(self.program());
        words.chain(self.arguments.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
    }

    /// Whether the program has this name: that of its main class, with or without
    /// its package, or that of its jar, with or without folder and ending.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let program = self.program();
        let file = file_name(program);
        let stem = file.strip_suffix(".jar");
        let class = program.rsplit(['.', '/']).next().filter(|_| stem.is_none());
        [Some(program), Some(file), stem, class].contains(&Some(name))
    }

    /// Whether this text is in the name of the program or in an argument.
    pub(super) fn has(&self, text: &str) -> bool {
        self.program().contains(text) || self.arguments.iter().any(|word| word.contains(text))
    }
}

/// The first word that is no option of `java`'s: what it runs.
fn main(words: &mut impl Iterator<Item = String>) -> String {
    while let Some(word) = words.next() {
        match word.as_str() {
            "-jar" | "-m" | "--module" => return words.next().unwrap_or_default(),
            option if WITH_VALUE.contains(&option) => {
                words.next();
            }
            option if option.starts_with("--module=") => return option[9..].to_owned(),
            // A file of options, which may name the main class: then the first of
            // the program's arguments is taken for it.
            option if option.starts_with(['-', '@']) => {}
            _ => return word,
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> CommandLine {
        CommandLine::parse(format!("{line} ").replace(' ', "\0").as_bytes())
    }

    #[test]
    fn the_main_class_is_behind_the_options() {
        for (line, program, text) in [
            ("java Main", "Main", "Main"),
            (
                "/opt/jdk/bin/java -Xmx1g -cp a:b com.acme.Main x y",
                "com.acme.Main",
                "com.acme.Main x y",
            ),
            ("java --class-path a --add-opens b -ea Main -cp", "Main", "Main -cp"),
            ("java -jar lib/app.jar -jar", "lib/app.jar", "lib/app.jar -jar"),
            ("java -p mods -m acme/com.acme.Main x", "acme/com.acme.Main", "acme/com.acme.Main x"),
            ("java --module=acme x", "acme", "acme x"),
            ("java @options Main", "Main", "Main"),
            ("java -version", "java", "java"),
            ("java -jar", "java", "java"),
            ("/opt/app/bin/app -v x", "app", "app -v x"),
            ("", "", ""),
        ] {
            let parsed = parsed(line);
            assert_eq!((parsed.program(), parsed.text().as_str()), (program, text), "{line}");
        }
    }

    #[test]
    fn names_with_and_without_packages_and_folders() {
        for (line, name) in [
            ("java com.acme.Main", "com.acme.Main"),
            ("java com.acme.Main", "Main"),
            ("java -m acme/com.acme.Main", "Main"),
            ("java -m acme/com.acme.Main", "com.acme.Main"),
            ("java -jar lib/app.jar", "lib/app.jar"),
            ("java -jar lib/app.jar", "app.jar"),
            ("java -jar lib/app-1.2.jar", "app-1.2"),
            ("/opt/app/bin/app x", "app"),
        ] {
            assert!(parsed(line).is_called(name), "{line}: {name}");
        }
        for name in ["", "ain", "acme", "x", "jar"] {
            assert!(!parsed("java com.acme.Main x").is_called(name), "{name}");
            assert!(!parsed("java -jar app.jar").is_called(name), "{name}");
        }
        assert!(parsed("java com.acme.Main x").has("ain") && !parsed("java a.B").has("c"));
    }
}
