//! Parquet tables, asked by a database that knows nothing of Tyrion.

#[path = "support/golden.rs"]
mod golden;

use crate::support::{info, root, skip, stdout_of, text, tyrion};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Python with DuckDB; `None` after a message where the package is missing.
fn python() -> Option<Command> {
    let package = root().join("target/wheels");
    if !package.join("duckdb").is_dir() {
        skip("DuckDB for Python: run tests/setup/wheels.sh");
        return None;
    }
    let mut python = Command::new("python3");
    python.env("PYTHONPATH", package);
    Some(python)
}

fn tables(folder: &Path, logs: &[PathBuf]) -> PathBuf {
    let tables = folder.join("tables");
    let arguments = ["convert", "--to", "parquet", "--kind", "all", "-o", text(&tables)];
    stdout_of(tyrion().args(arguments).args(logs));
    tables
}

fn frozen(name: &str) -> PathBuf {
    root().join("testdata/logs").join(name)
}

#[test]
fn answers_are_those_of_the_document() {
    let Some(mut python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let tables = tables(folder.path(), &[frozen("v1-small.log")]);
    let document = root().join("docs/sql.md");
    python.arg(root().join("tests/support/sql.py")).arg(&document).arg(&tables);
    golden::compare(document.parent().unwrap(), "sql.md", &stdout_of(&mut python));
}

#[test]
fn totals_are_those_of_info() {
    let recorded = root().join("testdata/jfr/jdk25.jfr.gz");
    let profile = root().join("testdata/inputs/go-mutex.pb.gz");
    let alone = ["v1-small.log", "v1-tiny.log", "v1-holds.log", "v1-wakers.log", "v1-sample.log"]
        .map(|log| vec![frozen(log)]);
    for logs in alone.into_iter().chain([vec![recorded], vec![profile]]) {
        let Some(mut python) = python() else { return };
        let folder = tempfile::tempdir().unwrap();
        let tables = tables(folder.path(), &logs);
        let program = "import duckdb, sys\n\
            table = lambda name: f\"'{sys.argv[1]}/{name}.parquet'\"\n\
            print(*duckdb.sql(f\"SELECT sum(n)::BIGINT, coalesce(sum(ns), 0)::BIGINT FROM (\
            SELECT count(*) AS n, sum(wait_ns) AS ns FROM {table('waits')} UNION ALL \
            SELECT coalesce(sum(count), 0), sum(wait_ns) FROM {table('cells')})\").fetchone())";
        let told = stdout_of(python.args(["-c", program, text(&tables)]));
        let kinds = info(&logs[0])["kinds"].as_object().unwrap().clone();
        let sum =
            |key: &str| kinds.values().map(|kind| kind[key].as_u64().unwrap_or(0)).sum::<u64>();
        let expected = format!("{} {}", sum("count"), sum("wait_ns"));
        assert_eq!(told.trim(), expected, "{logs:?}");
    }
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
