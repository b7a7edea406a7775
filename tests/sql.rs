//! Parquet tables, asked by databases that know nothing of Tyrion.

#[path = "support/golden.rs"]
mod golden;

use crate::support::{
    Jdk, Program, Report, info, list, number, on_jdks, root, skip, stdout_of, text, text_of, tyrion,
};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

on_jdks!(totals_do_not_depend_on_the_threshold: everywhere one);

/// A database, as a Python package.
#[derive(Clone, Copy, Debug)]
enum Engine {
    Duckdb,
    /// ClickHouse in a process.
    Chdb,
    Spark,
}

impl Engine {
    /// What the scripts call it.
    fn name(self) -> &'static str {
        match self {
            Engine::Duckdb => "duckdb",
            Engine::Chdb => "chdb",
            Engine::Spark => "spark",
        }
    }

    /// Python with this package; `None` after a message where it is missing.
    fn python(self) -> Option<Command> {
        let (folder, package, script) = match self {
            Engine::Duckdb => ("target/wheels", "duckdb", "wheels.sh"),
            Engine::Chdb => ("target/chdb", "chdb", "wheels.sh"),
            Engine::Spark => ("target/spark", "pyspark", "spark.sh"),
        };
        let folder = root().join(folder);
        if !folder.join(package).is_dir() {
            skip(&format!("{package} for Python: run tests/setup/{script}"));
            return None;
        }
        let mut python = Command::new("python3");
        python.arg("-B").env("PYTHONPATH", folder);
        if let Engine::Spark = self {
            let java = Jdk::find("jdk17")?.java().canonicalize().unwrap();
            python.env("JAVA_HOME", java.ancestors().nth(2).unwrap());
            python.env("SPARK_LOCAL_IP", "127.0.0.1");
        }
        Some(python)
    }

    /// The document with the answers about these tables.
    fn answered(self, document: &Path, tables: &Path) -> Option<String> {
        let script = root().join("tests/support/sql.py");
        let mut python = self.python()?;
        Some(stdout_of(python.arg(script).arg(self.name()).arg(document).arg(tables)))
    }
}

fn tables(folder: &Path, logs: &[&Path]) -> PathBuf {
    let tables = folder.join("tables");
    let arguments = ["convert", "--to", "parquet", "--kind", "all", "-o", text(&tables)];
    stdout_of(tyrion().args(arguments).args(logs));
    tables
}

fn frozen(name: &str) -> PathBuf {
    root().join("testdata/logs").join(name)
}

/// Any engine must give the answers that the document has, to the byte.
fn check_document(engine: Engine) {
    let folder = tempfile::tempdir().unwrap();
    let tables = tables(folder.path(), &[&frozen("v1-small.log")]);
    let document = root().join("docs/sql.md");
    let Some(answered) = engine.answered(&document, &tables) else { return };
    golden::compare(document.parent().unwrap(), "sql.md", &answered);
}

#[test]
fn answers_are_those_of_the_document() {
    check_document(Engine::Duckdb);
}

/// chDB is half a gigabyte, and takes a while to get.
#[test]
#[ignore = "make test-everywhere runs it"]
fn answers_of_clickhouse_are_the_same() {
    check_document(Engine::Chdb);
    check_report(Engine::Chdb);
    check_totals(Engine::Chdb);
}

#[test]
#[ignore = "make test-everywhere runs it"]
fn answers_of_spark_are_the_same() {
    check_document(Engine::Spark);
    check_report(Engine::Spark);
    check_total(Engine::Spark, &frozen("v1-wakers.log"));
}

/// What questions of our own have for an answer: a line for each row, without the header.
fn ask(engine: Engine, tables: &Path, question: &str) -> Option<Vec<Vec<String>>> {
    let view = std::fs::read_to_string(root().join("docs/sql.md")).unwrap();
    let begin = view.find("```sql view").unwrap();
    let end = begin + view[begin + 3..].find("```\n").unwrap() + 7;
    let asked = tables.parent().unwrap().join("questions.md");
    std::fs::write(&asked, format!("{}```sql\n{question};\n```\n", &view[begin..end])).unwrap();
    let said = engine.answered(&asked, tables)?;
    let answer = said.split("```answer\n").nth(1).unwrap().trim_end_matches("```\n");
    Some(answer.lines().skip(1).map(cells).collect())
}

/// Columns are two spaces apart, or more.
fn cells(line: &str) -> Vec<String> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
}

const TOTAL: &str =
    "SELECT coalesce(sum(count), 0) AS waits, coalesce(sum(wait_ns), 0) AS wait_ns FROM sums";

/// Compares the total of both tables with that of `info`.
fn check_total(engine: Engine, log: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let Some(rows) = ask(engine, &tables(folder.path(), &[log]), TOTAL) else { return };
    let kinds = info(log)["kinds"].as_object().unwrap().clone();
    let sum = |key: &str| kinds.values().map(|kind| kind[key].as_u64().unwrap_or(0)).sum::<u64>();
    let expected = [sum("count"), sum("wait_ns")].map(|sum| sum.to_string());
    assert_eq!(rows, [expected], "{engine:?}, {}", log.display());
}

#[test]
fn totals_are_those_of_info() {
    check_totals(Engine::Duckdb);
}

fn check_totals(engine: Engine) {
    let logs = ["v1-small.log", "v1-tiny.log", "v1-holds.log", "v1-wakers.log", "v1-sample.log"];
    let others = ["testdata/jfr/jdk25.jfr.gz", "testdata/inputs/go-mutex.pb.gz"];
    for log in logs.map(frozen).into_iter().chain(others.map(|log| root().join(log))) {
        check_total(engine, &log);
    }
}

/// Whatever is above the threshold, and is a row of `waits`, or below it and in `cells`.
fn totals_do_not_depend_on_the_threshold(jdk: &Jdk) {
    for threshold in ["0", "auto", "1ms", "1h"] {
        let program = Program::truth(jdk, "storm 1 monitor");
        let recording = program.option(&format!("--threshold={threshold}")).record();
        check_total(Engine::Duckdb, &recording.log);
    }
}

#[test]
fn answers_are_those_of_the_report() {
    check_report(Engine::Duckdb);
}

fn check_report(engine: Engine) {
    let log = frozen("v1-small.log");
    let folder = tempfile::tempdir().unwrap();
    let tables = tables(folder.path(), &[&log]);
    let report = Report::of(&log);
    check_locks(engine, &tables, &report);
    check_threads(engine, &tables, &report);
}

/// Contention alone, as in the report.
const CONTENTION: &str = "kind IN ('monitor', 'lock', 'lock-read', 'lock-write', 'semaphore')";

fn check_locks(engine: Engine, tables: &Path, report: &Report) {
    let question = format!(
        "SELECT called, kind, sum(count) AS waits, sum(wait_ns) AS wait_ns, \
         max(longest_ns) AS longest_ns FROM sums JOIN 'locks.parquet' AS locks USING (lock) \
         WHERE {CONTENTION} GROUP BY called, kind ORDER BY wait_ns DESC, called, kind"
    );
    let Some(rows) = ask(engine, tables, &question) else { return };
    let told = |lock: &Value| {
        let name = text_of(&lock["lock"], "name");
        let called = if name.is_empty() { text_of(&lock["lock"], "class") } else { name };
        let [waits, wait_ns, longest_ns] =
            ["contended", "wait_ns", "max_wait_ns"].map(|key| number(lock, key).to_string());
        vec![called.to_owned(), text_of(lock, "kind").to_owned(), waits, wait_ns, longest_ns]
    };
    let expected: Vec<_> = list(report.section("contended"), "locks").iter().map(told).collect();
    assert_eq!(rows, expected, "{engine:?}");
}

/// Those who wait most, and the total. The report's section has delays from the threshold on.
fn check_threads(engine: Engine, tables: &Path, report: &Report) {
    let question = format!(
        "SELECT name, count(*) AS waits, sum(wait_ns) AS wait_ns FROM 'waits.parquet' AS waits \
         JOIN 'threads.parquet' AS threads USING (run, thread) WHERE {CONTENTION} \
         GROUP BY name ORDER BY wait_ns DESC, name"
    );
    let Some(rows) = ask(engine, tables, &question) else { return };
    let delays = report.section("delays");
    let told = |thread: &Value| {
        let [waits, wait_ns] = ["delays", "wait_ns"].map(|key| number(thread, key).to_string());
        vec![text_of(thread, "thread").to_owned(), waits, wait_ns]
    };
    let expected: Vec<_> = list(delays, "threads").iter().map(told).collect();
    assert_eq!(rows, expected, "{engine:?}");
    let question = format!("{TOTAL} WHERE {CONTENTION}");
    let Some(rows) = ask(engine, tables, &question) else { return };
    let kinds = list(report.section("overview"), "kinds");
    let sum = |key: &str| kinds.iter().map(|kind| number(kind, key)).sum::<u64>().to_string();
    assert_eq!(rows, [[sum("count"), sum("wait_ns")]], "{engine:?}");
}

/// Two days of a small fleet, asked by a master and workers of Spark and by DuckDB.
#[test]
#[ignore = "make test-everywhere runs it"]
fn a_fleet_is_asked_by_a_cluster() {
    if Engine::Spark.python().is_none() || Engine::Duckdb.python().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_tyrion"));
    // `cargo test` without a name of a test builds it.
    let repeat = binary.with_file_name("examples").join("repeat");
    if !repeat.is_file() {
        skip("the example `repeat`: cargo build --release -p tyrion-formats --example repeat");
        return;
    }
    let mut fleet = Command::new("python3");
    fleet.arg("-B").arg(root().join("tests/fleet/main.py")).arg("--small");
    fleet.arg("--folder").arg(folder.path().join("fleet"));
    fleet.arg("--tyrion").arg(binary).arg("--repeat").arg(repeat);
    // It compares all answers itself.
    println!("{}", stdout_of(&mut fleet));
}

#[test]
fn a_stream_takes_no_folder() {
    for target in ["-", "/dev/null", text(&frozen("v1-tiny.log"))] {
        let said = tyrion()
            .args(["convert", "--to", "parquet", "-o", target])
            .arg(frozen("v1-tiny.log"))
            .output()
            .unwrap();
        assert_eq!(said.status.code(), Some(2), "{target}");
        assert!(String::from_utf8_lossy(&said.stderr).contains("folder"), "{said:?}");
    }
}
