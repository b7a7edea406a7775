//! `tyrion.exe`, under Wine: it makes of the same files the same bytes as here, and says of
//! what needs Linux that it does.

use crate::{
    mcp::asked_of,
    support::{err, receiver::Receiver, root, skip, tyrion},
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use tempfile::TempDir;

/// What is compared for every input; `{}` stands for its name.
const COMMANDS: [&str; 15] = [
    "report {}",
    "report --json {}",
    "report --html -o {}.html {}",
    "report --color always --chart always {}",
    "convert --to all -o {}.all {}",
    "convert --to collapsed -o - {}",
    "info {}",
    "info --json {}",
    "dump {}",
    "dump --json {}",
    "whatif --json {}",
    "top --once {}",
    "top --once --json {}",
    "diff {} {}",
    "diff --json {} {}",
];

/// How often Wine may fail one after another.
const ATTEMPTS: usize = 5;

/// Where the program is, and what runs it.
struct Windows {
    home: PathBuf,
}

impl Windows {
    /// Wine and the program, or `None` after a message.
    fn find() -> Option<Windows> {
        let home = root().join("target/windows");
        for file in ["tyrion.exe", "prefix", "bcryptprimitives.dll"] {
            if !home.join(file).exists() {
                skip(&format!("{}: run tests/setup/windows.sh", home.join(file).display()));
                return None;
            }
        }
        crate::support::needs(&["wine"]).then_some(Windows { home })
    }

    /// The program, in a folder.
    fn tyrion(&self, folder: &Path) -> Command {
        let mut command = Command::new("wine");
        command.arg(self.home.join("tyrion.exe")).current_dir(folder);
        command.env("WINEPREFIX", self.home.join("prefix")).env("WINEDEBUG", "-all");
        command.env("WINEPATH", drive(&self.home)).env("LC_ALL", "C.UTF-8");
        command
    }
}

/// Runs a command, again if it was Wine that ended it: on a busy machine it kills a process
/// whose threads take a second to end, or does not start one, without a word.
fn output(command: &mut Command, mut input: impl FnMut() -> Stdio) -> Output {
    for _ in 0..ATTEMPTS {
        let output = command.stdin(input()).output().unwrap();
        let said_something = !(output.stdout.is_empty() && output.stderr.is_empty());
        match output.status.code() {
            None => {}
            Some(code) if code != 0 && !said_something => {}
            Some(_) => return output,
        }
    }
    panic!("{command:?}: Wine ends it again and again");
}

/// A path as Wine's programs have it.
fn drive(path: &Path) -> String {
    format!("Z:{}", path.display()).replace('/', "\\")
}

/// The same here.
fn linux(folder: &Path) -> Command {
    let mut command = tyrion();
    command.current_dir(folder);
    command
}

/// A folder for each, with the same files in it.
struct Both {
    windows: Windows,
    folders: [TempDir; 2],
}

impl Both {
    fn new() -> Option<Both> {
        let folders = [0, 1].map(|_| tempfile::tempdir().unwrap());
        Windows::find().map(|windows| Both { windows, folders })
    }

    fn copy(&self, from: &Path, name: &str) {
        for folder in &self.folders {
            let to = folder.path().join(name);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(from, to).unwrap();
        }
    }

    /// What each says to these words: first here, then there.
    fn say(&self, words: &[&str], input: Option<&str>) -> [Output; 2] {
        let [here, there] = &self.folders;
        [linux(here.path()), self.windows.tyrion(there.path())].map(|mut command| {
            output(command.args(words), || match input {
                Some(input) => File::open(here.path().join(input)).unwrap().into(),
                None => Stdio::null(),
            })
        })
    }

    /// Both must say the same: how they end.
    fn agree(&self, words: &[&str], input: Option<&str>) -> Option<i32> {
        let [here, there] = self.say(words, input);
        let told = |output: &Output| err(output).replace('\\', "/");
        assert_eq!(told(&there), told(&here), "{words:?}");
        assert_eq!(there.status.code(), here.status.code(), "{words:?}: {}", err(&there));
        let lens = (there.stdout.len(), here.stdout.len());
        assert!(there.stdout == here.stdout, "{words:?}: {lens:?} bytes on stdout");
        there.status.code()
    }

    /// The files of both must have the same names: how many they are.
    fn same_names(&self) -> usize {
        let [here, there] = self.folders.each_ref().map(|folder| files(folder.path()));
        assert_eq!(here.keys().collect::<Vec<_>>(), there.keys().collect::<Vec<_>>());
        here.len()
    }

    /// The files of both must be the same: how many they are.
    fn same_files(&self) -> usize {
        self.same_names();
        let [here, there] = self.folders.each_ref().map(|folder| files(folder.path()));
        for (name, bytes) in &here {
            assert!(there[name] == *bytes, "{}: other bytes", name.display());
        }
        here.len()
    }
}

/// All files in a folder and its folders.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => {
                    let name = path.strip_prefix(folder).unwrap().to_owned();
                    found.insert(name, fs::read(path).unwrap());
                }
            }
        }
    }
    found
}

/// Files of each kind that is read, and some that are refused.
fn inputs() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["testdata/logs", "testdata/inputs", "testdata/inputs/dumps", "testdata/jfr"] {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        found.extend(entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()));
    }
    found.sort();
    found
}

/// Of a part of the inputs, everything.
fn everything_is_the_same(part: usize) {
    let Some(both) = Both::new() else { return };
    let inputs = inputs();
    let mut read = 0;
    for input in inputs.iter().skip(part).step_by(PARTS) {
        let name = input.file_name().unwrap().to_str().unwrap();
        both.copy(input, name);
        for command in COMMANDS {
            let words: Vec<String> =
                command.split(' ').map(|word| word.replace("{}", name)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            read += usize::from(both.agree(&words, None) == Some(0));
        }
    }
    let files = both.same_files();
    eprintln!("part {part}: {read} commands read something, and made {files} files");
    assert!(read > 100 && files > 200, "{read} commands, {files} files");
}

const PARTS: usize = 3;

#[test]
#[ignore = "make test-everywhere runs it"]
fn first_third_of_the_inputs_is_read_alike() {
    everything_is_the_same(0);
}

#[test]
#[ignore = "make test-everywhere runs it"]
fn second_third_of_the_inputs_is_read_alike() {
    everything_is_the_same(1);
}

#[test]
#[ignore = "make test-everywhere runs it"]
fn last_third_of_the_inputs_is_read_alike() {
    everything_is_the_same(2);
}

#[test]
#[ignore = "make test-everywhere runs it"]
fn names_and_paths_are_those_of_the_user() {
    let Some(both) = Both::new() else { return };
    let log = root().join("testdata/logs/v1-small.log");
    for name in ["two words.log", "Grüße 鎖.log", "it's.log", "in a folder/b.log"] {
        both.copy(&log, name);
        // But for words of shells, which are others there.
        for words in [&["report", "--json"][..], &["info", "--json"], &["dump"]] {
            assert_eq!(both.agree(&[words, &[name]].concat(), None), Some(0));
        }
    }
    both.agree(&["convert", "--to", "all", "-o", "été 鎖", "Grüße 鎖.log"], None);
    // What is there is replaced.
    both.agree(&["convert", "--to", "all", "-o", "été 鎖", "Grüße 鎖.log"], None);
    both.agree(&["report", "--html", "-o", "in a folder/page.html", "it's.log"], None);
    // A folder is all of its logs, and one that is named twice counts once.
    both.agree(&["report", "in a folder"], None);
    both.agree(&["report", "in a folder/b.log", "in a folder/../in a folder/b.log"], None);
    assert!(both.same_files() > 20);
    // Its own separator, an absolute path, and the drive that a program is on.
    let [here, there] = &both.folders;
    let expected = output(linux(here.path()).args(["dump", "in a folder/b.log"]), Stdio::null);
    let absolute = drive(&there.path().join("in a folder/b.log"));
    for path in ["in a folder\\b.log", ".\\in a folder\\b.log", &absolute] {
        let mut dump = both.windows.tyrion(there.path());
        let output = output(dump.args(["dump", path]), Stdio::null);
        assert_eq!(output.status.code(), Some(0), "{path}: {}", err(&output));
        assert!(output.stdout == expected.stdout, "{path}");
    }
}

#[test]
#[ignore = "make test-everywhere runs it"]
fn bytes_pass_through_stdin_and_stdout_as_they_are() {
    let Some(both) = Both::new() else { return };
    for name in ["logs/v1-small.log", "jfr/jdk25.jfr.gz", "inputs/go-mutex.pb.gz"] {
        let file = name.rsplit('/').next().unwrap();
        both.copy(&root().join("testdata").join(name), file);
        for words in [
            &["report", "-"][..],
            &["report", "--html", "-o", "-", "-"],
            &["convert", "--to", "pprof", "-o", "-", "-"],
            &["convert", "--to", "jfr", "-o", "-", file],
            &["info", "-"],
        ] {
            assert_eq!(both.agree(words, Some(file)), Some(0), "{words:?}");
        }
    }
    // Through pipes, which cannot be mapped.
    let [here, there] = &both.folders;
    let through_a_pipe = |mut command: Command| {
        let mut cats = Vec::new();
        let output = output(command.args(["dump", "-"]), || {
            let mut cat = Command::new("cat");
            let cat = cat.arg(here.path().join("v1-small.log")).stdout(Stdio::piped());
            cats.push(cat.spawn().unwrap());
            cats.last_mut().unwrap().stdout.take().unwrap().into()
        });
        cats.iter_mut().for_each(|cat| drop(cat.wait()));
        output
    };
    let (here, there) =
        (through_a_pipe(linux(here.path())), through_a_pipe(both.windows.tyrion(there.path())));
    assert_eq!((here.status.code(), there.status.code()), (Some(0), Some(0)), "{}", err(&there));
    assert!(here.stdout == there.stdout && here.stdout.contains(&b'\n'));
    assert!(!there.stdout.contains(&b'\r'));
    // Who has read enough may go.
    let [_, folder] = &both.folders;
    let mut dump = both.windows.tyrion(folder.path());
    let dump = dump.args(["dump", "v1-small.log"]).stdout(Stdio::piped());
    let mut dump = dump.stderr(Stdio::piped()).spawn().unwrap();
    drop(dump.stdout.take());
    let output = dump.wait_with_output().unwrap();
    assert_eq!((err(&output).contains("stdout"), output.status.code()), (false, Some(0)));
}

#[test]
#[ignore = "make test-everywhere runs it"]
fn other_commands_say_the_same() {
    let Some(both) = Both::new() else { return };
    both.copy(&root().join("testdata/logs/v1-killed.log"), "a.log");
    both.copy(&root().join("testdata/logs/v1-trace.log"), "b.log");
    for words in [
        &["diff", "a.log", "b.log"][..],
        &["diff", "--to", "flamegraph", "-o", "difference.svg", "a.log", "b.log"],
        &["report", "--fail-if", "wait_ns > 1ns", "a.log"],
        &["report", "--junit", "junit.xml", "--fail-if", "wait_ns > 1ns", "a.log"],
        &["whatif", "--lock", ".", "--free", "b.log"],
        &["report", "--last", "1s", "a.log"],
        &["report", "a.log", "b.log"],
        &["schema"],
        &["schema", "report"],
        &["schema", "list"],
        &["schema", "status"],
        &["api-jar", "-o", "library.jar"],
        &["--version"],
        &["report", "-o", "a.log", "b.log"],
        &["convert", "--to", "nothing", "a.log"],
        &["report", "--thread", "(", "a.log"],
    ] {
        both.agree(words, None);
    }
    assert_eq!(both.same_files(), 5);
    // What they print of their own options is of fewer, and whole.
    for words in [&["man"][..], &["completions", "powershell"], &["--help"], &["report", "--help"]]
    {
        let [here, there] = both.say(words, None);
        assert_eq!((here.status.code(), there.status.code()), (Some(0), Some(0)), "{words:?}");
        assert!(there.stdout.len() * 2 > here.stdout.len(), "{words:?}");
    }
}

#[test]
#[ignore = "make test-everywhere runs it"]
fn what_is_wrong_is_said_in_one_line() {
    let Some(both) = Both::new() else { return };
    let [_, there] = &both.folders;
    let say = |words: &[&str]| output(both.windows.tyrion(there.path()).args(words), Stdio::null);
    let missing = say(&["report", "no such.log"]);
    assert_eq!(missing.status.code(), Some(1));
    let told = err(&missing);
    assert!(told.starts_with("tyrion: no such.log: ") && told.trim_end().lines().count() == 1);
    assert!(!told.contains("os error"), "{told}");
    for words in [
        "profile 4711",
        "record -o a.log -- java -version",
        "metrics a.log --listen 127.0.0.1:0",
        "list --json",
        "attach 1",
        "attach --mode trace 1",
        "sample 1 --duration 5s",
        "dump-threads 1",
        "stop 1",
        "status --json 1",
        "agent-path --libc musl",
        "top 4711",
        "top --once com.acme.Main",
    ] {
        let output = say(&words.split(' ').collect::<Vec<_>>());
        let told = err(&output);
        let what = if words.starts_with("top") { "top of a JVM" } else { words };
        let what = if what == words { words.split(' ').next().unwrap() } else { what };
        assert_eq!(output.status.code(), Some(1), "{words}: {told}");
        assert_eq!(told.trim_end().lines().count(), 1, "{words}: {told}");
        assert!(told.starts_with(&format!("tyrion: {what} needs Linux: ")), "{words}: {told}");
        assert!(told.contains("tyrion report"), "{words}: {told}");
        assert!(output.stdout.is_empty(), "{words}");
    }
    let help = say(&["attach", "--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&help.stdout).contains("Needs Linux"));
    assert!(files(there.path()).is_empty(), "nothing is left behind");
}

#[test]
#[ignore = "make test-everywhere runs it"]
fn push_sends_the_same() {
    let Some(both) = Both::new() else { return };
    both.copy(&root().join("testdata/logs/v1-small.log"), "a.log");
    let [here, there] = &both.folders;
    let mut taken = Vec::new();
    for mut command in [linux(here.path()), both.windows.tyrion(there.path())] {
        let receiver = Receiver::start(&[]);
        let words = ["push", "--once", "--kind", "all", "--otlp", &receiver.url, "a.log"];
        command.args(words);
        // What was sent is noted, and not sent again.
        for _ in 0..2 {
            let output = output(&mut command, Stdio::null);
            assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        }
        taken.push(receiver.taken());
    }
    assert!(!taken[0].is_empty());
    assert_eq!(format!("{:?}", taken[0]), format!("{:?}", taken[1]));
    assert_eq!(both.same_names(), 3, "the log, what was sent, and its lock");
}

#[test]
#[ignore = "make test-everywhere runs it"]
fn assistants_are_told_the_same() {
    let Some(both) = Both::new() else { return };
    both.copy(&root().join("testdata/logs/v1-trace.log"), "a.log");
    let calls = json!([
        ["verdict", {"logs": ["a.log"]}],
        ["locks", {"logs": ["a.log"], "top": 2}],
        ["what_if", {"logs": ["a.log"]}],
        ["verdict", {"logs": ["../a.log"]}],
        ["verdict", {"logs": [r"\\127.0.0.1\shared\a.log"]}],
        ["verdict", {"logs": ["//127.0.0.1/shared/a.log"]}],
        ["verdict", {"logs": [r"\??\UNC\127.0.0.1\shared\a.log"]}],
    ]);
    let [here, there] = &both.folders;
    let script = there.path().join("tyrion");
    let wine = format!(
        "#!/bin/sh\nexport WINEPREFIX='{}' WINEDEBUG=-all WINEPATH='{}' LC_ALL=C.UTF-8\n\
         exec wine '{}' \"$@\"\n",
        both.windows.home.join("prefix").display(),
        drive(&both.windows.home),
        both.windows.home.join("tyrion.exe").display()
    );
    fs::write(&script, wine).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let program = tyrion().get_program().to_owned();
    // What commands print, but for the words of shells and the system's own.
    let ask = |program: &Path, folder: &Path| {
        let answered = asked_of(program, folder, &[], &calls)?;
        let results = answered["results"].as_array().unwrap().iter();
        let printed =
            results.map(|it| (it["isError"].clone(), it["structuredContent"]["result"].clone()));
        let text = format!("{:?}", printed.collect::<Vec<_>>()).replace("Z:", "");
        let told = answered["results"].to_string().matches("only what is in").count();
        Some((text.replace("\\\\", "/").replace(folder.to_str().unwrap(), "DIR"), told))
    };
    let Some((expected, _)) = ask(Path::new(&program), here.path()) else { return };
    let (told, refused) = ask(&script, there.path()).unwrap();
    assert!(expected.contains("DIR/a.log") && expected.contains("(Bool(true), Null)"));
    assert!(told == expected, "{told}");
    assert_eq!(refused, 3, "what is of another machine is not looked at");
}
