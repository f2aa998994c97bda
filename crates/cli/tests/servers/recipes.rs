//! Recipes of advice on real servers: `do`, `check` and `undo`, as their files have them.
//!
//! Steps without SQL are tried in guests, those that need more programs in `xtask/tests/newer`.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use hopcost_core::{CallError, Console, Rows};
use hopcost_data::advice::RECIPES;
use hopcost_method::advice::{Recipe, Step};
use hopcost_testkit::mariadb::{self, MariaDb};
use hopcost_testkit::postgresql::PostgreSql;
use hopcost_testkit::recipes::cases::{self, GUEST};
use hopcost_testkit::recipes::{Bench, Case, execute, has_sql, measured};
use rusqlite::Row;
use rusqlite::types::Value;

/// None is marked as measured that no test executes.
#[test]
fn what_is_called_measured_is_executed() {
    let of_engine = |engine: &str| -> Vec<&'static Case> {
        match engine {
            "postgres" => cases::POSTGRES.iter().collect(),
            "mariadb" => cases::MARIADB.iter().chain(cases::MARIADB_WITH_AUDIT).collect(),
            "mysql" => cases::MYSQL.iter().collect(),
            "sqlite" => cases::SQLITE.iter().collect(),
            _ => Vec::new(),
        }
    };
    for (name, step) in measured() {
        let is_named = |case: &&Case| case.recipe == name;
        if has_sql(&step) {
            assert!(!step.engine.is_empty(), "{name}: on which engine?");
            for engine in &step.engine {
                assert!(of_engine(engine).iter().any(is_named), "{name} on {engine}");
            }
        } else {
            assert!(GUEST.iter().any(|case| case.recipe == name), "{name} in a guest");
        }
    }
}

/// Parallel plans for the smallest table, and a trace that can be made smaller.
const SETTINGS: &str = "
    shared_preload_libraries = auto_explain
    auto_explain.log_analyze = on
    min_parallel_table_scan_size = 0
    parallel_setup_cost = 0
    parallel_tuple_cost = 0
";

#[test]
fn on_postgresql_recipes_do_and_undo_what_they_say() {
    let server = PostgreSql::start(&[]);
    let file = server.directory().join("data/postgresql.conf");
    OpenOptions::new().append(true).open(file).unwrap().write_all(SETTINGS.as_bytes()).unwrap();
    server.kill();
    server.start_again();
    execute(&server, cases::POSTGRES);
}

/// `xtask/tests/newer` executes the same on MySQL.
#[test]
fn on_mariadb_or_mysql_recipes_do_and_undo_what_they_say() {
    let (engine, _) = mariadb::chosen();
    let of_engine = if engine == "mysql" { cases::MYSQL } else { cases::MARIADB };
    let server = MariaDb::start(&["--general-log", "--log-bin=log", "--long-query-time=0.5"]);
    server.ask("CREATE DATABASE IF NOT EXISTS test");
    execute(&server, of_engine);
}

struct Lite(tempfile::TempDir);

struct Connection(rusqlite::Connection);

impl Console for Connection {
    fn version(&self) -> &'static str {
        "SQLite"
    }

    fn is_encrypted(&self) -> bool {
        false
    }

    fn rows(&mut self, sql: &str) -> Result<Rows, CallError> {
        let failed = |error: rusqlite::Error| CallError::Failed(error.to_string());
        let mut statement = self.0.prepare(sql).map_err(failed)?;
        let columns = statement.column_count();
        let text = |value: Value| match value {
            Value::Null => None,
            Value::Text(text) => Some(text),
            Value::Integer(number) => Some(number.to_string()),
            other => Some(format!("{other:?}")),
        };
        let row = |row: &Row<'_>| (0..columns).map(|at| Ok(text(row.get(at)?))).collect();
        statement.query_map([], row).map_err(failed)?.collect::<Result<_, _>>().map_err(failed)
    }
}

impl Bench for Lite {
    fn engine(&self) -> &'static str {
        "sqlite"
    }

    fn connect(&self) -> Box<dyn Console> {
        Box::new(Connection(rusqlite::Connection::open(self.0.path().join("file")).unwrap()))
    }

    fn state(&self) -> Vec<String> {
        let mut session = self.connect();
        let all = ["SELECT sql FROM sqlite_schema ORDER BY name", "PRAGMA journal_mode"];
        let rows = all.into_iter().flat_map(|sql| session.rows(sql).unwrap());
        rows.flatten().flatten().collect()
    }

    fn restart(&self, _: &Path) {
        panic!("it has no server");
    }

    fn shell(&self, line: &str) -> Command {
        panic!("{line}: there is nothing to connect to");
    }

    fn directory(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}

#[test]
fn in_sqlite_recipes_do_and_undo_what_they_say() {
    let lite = Lite(tempfile::tempdir().unwrap());
    execute(&lite, cases::SQLITE);
}

/// What systemd says about this drop-in of a unit.
fn said_of_drop_in(lines: &[String]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let unit = dir.path().join("recipe.service");
    std::fs::write(&unit, "[Service]\nExecStart=/bin/true\n").unwrap();
    let drop_in = dir.path().join("recipe.service.d/50-recipe.conf");
    std::fs::create_dir(drop_in.parent().unwrap()).unwrap();
    std::fs::write(&drop_in, lines.join("\n") + "\n").unwrap();
    let mut verify = Command::new("systemd-analyze");
    // The colon at its end: then where units are otherwise.
    verify.env("SYSTEMD_UNIT_PATH", format!("{}:", dir.path().display()));
    let output = verify.arg("verify").arg(&unit).output();
    let output = output.expect("this test needs systemd-analyze: apt-get install systemd");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    said.lines().filter(|line| line.contains("50-recipe.conf")).collect::<Vec<_>>().join("\n")
}

/// What the step puts into a unit: its file, what it prints into one, or what it sets.
fn drop_ins(step: &Step) -> Vec<Vec<String>> {
    const VALUES: [(&str, &str); 7] = [
        ("{node}", "0"),
        ("{cpus}", "0-1"),
        ("{cpus_one_per_core}", "0,2"),
        ("CPUS_OF_ONE_CACHE", "0-1"),
        ("ALL_CPUS", "0-3"),
        ("ALL_NODES", "0-1"),
        ("\\n", "\n"),
    ];
    let is_file = step.file.as_ref().is_some_and(|file| file.contains(".service.d/"));
    let of_file = is_file.then(|| step.lines.join("\n"));
    let printed = step.then.iter().filter(|line| line.contains(".service.d/"));
    let printed = printed
        .filter_map(|line| Some(line.strip_prefix("printf '")?.split_once('\'')?.0.to_owned()));
    let set = step.lines.iter().chain(&step.undo).filter_map(|line| {
        let of_unit = line.strip_prefix("systemctl set-property ")?;
        let settings: Vec<&str> = of_unit.split(' ').filter(|word| word.contains('=')).collect();
        Some(format!("[Service]\n{}", settings.join("\n")))
    });
    let filled = |text: String| {
        let text = VALUES.into_iter().fold(text, |text, (name, value)| text.replace(name, value));
        text.lines().map(str::to_owned).collect()
    };
    of_file.into_iter().chain(printed).chain(set).map(filled).collect()
}

#[test]
fn systemd_knows_what_recipes_put_into_a_unit() {
    let mut tried = BTreeSet::new();
    for (name, text) in RECIPES {
        let recipe = Recipe::read(text).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        for lines in recipe.steps.iter().flat_map(drop_ins) {
            assert_eq!(said_of_drop_in(&lines), "", "{name}: {lines:?}");
            tried.insert(lines);
        }
    }
    // Each line counts: a wrong one would be told.
    for lines in &tried {
        for wrong in (0..lines.len()).filter(|at| lines[*at].contains('=')) {
            let mut lines = lines.clone();
            lines[wrong] = format!("Not{}", lines[wrong]);
            assert!(said_of_drop_in(&lines).contains("Unknown key"), "{lines:?}");
        }
    }
    assert!(tried.len() > 5, "{tried:?}");
}
