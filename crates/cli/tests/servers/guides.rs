//! Each line of the guides that begins with `hopcost` can be typed, in the order of its guide.
//!
//! Method: what measures gets less to measure. Lines that need another machine are left out, by rules
//! that each name the reason.

use std::fs;

use hopcost_testkit::postgresql::PostgreSql;

use crate::bench::{Bench, SURVEY, stderr};

macro_rules! guide {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../docs/guide/", $name, ".md")))
    };
}

const GUIDES: [(&str, &str); 11] = [
    guide!("busy-host"),
    guide!("ci"),
    guide!("compare-machines"),
    guide!("duckdb"),
    guide!("first-steps"),
    guide!("measure-a-real-host"),
    guide!("mysql-mariadb"),
    guide!("own-sql"),
    guide!("postgresql"),
    guide!("sqlite"),
    guide!("write-an-experiment"),
];

/// What a line left out contains, and why.
const LEFT_OUT: [(&str, &str); 5] = [
    ("cpus:", "it names more CPUs than a small machine has"),
    ("://", "it names a server that is not here"),
    ("mysql:managed", "Debian 12 has no MySQL; the group mysql-9 runs it"),
    ("duckdb:", "the library is somewhere else on each machine; the group duckdb-rest runs it"),
    ("plugin_load_add", "the group server-audit runs it"),
];

/// What another machine or an hour would have left.
const BEFORE: [(&str, &str); 5] = [
    ("hopcost compare old.db new.db", "cp old.db new.db"),
    ("hopcost compare 1 2", "cp survey.db old.db"),
    ("hopcost report log-distance", "cp survey.db hopcost.db"),
    (
        "hopcost compare host.json hopcost.db",
        "hopcost report access-cost --store survey.db --format share=host.json; cp host.db hopcost.db",
    ),
    (
        "hopcost completions",
        "mkdir -p ~/.local/share/bash-completion/completions ~/.zfunc ~/.config/fish/completions",
    ),
];

/// The server of the guides' reader, and the one that the test has.
const THEIRS: [&str; 3] =
    ["'postgres://me@/shop?host=/run/postgresql'", "postgres://me@db1/shop", "postgres://me@/shop"];
const SHOP: &str = "CREATE TABLE article AS
    SELECT n AS id, 'article ' || n AS name, n * 0.5 AS price FROM generate_series(1, 100000) AS n";

/// With the database that the guide's script asks.
fn shop() -> PostgreSql {
    let server = PostgreSql::start(&[]);
    server.ask("CREATE DATABASE shop");
    let create = server.client("psql", &["--dbname", "shop", "-qc", SHOP]).status();
    assert!(create.unwrap().success());
    server
}

fn on(server: &PostgreSql, line: &str) -> String {
    match THEIRS.iter().find(|theirs| line.contains(**theirs)) {
        Some(theirs) => line.replace(theirs, &format!("'postgres:{}'", server.url("shop"))),
        None => line.to_owned(),
    }
}

/// The text of each fenced block, with its language.
fn blocks(guide: &str) -> impl Iterator<Item = (&str, &str)> {
    let fenced = guide.split("\n```").skip(1).step_by(2);
    fenced.filter_map(|block| block.split_once('\n'))
}

fn lines(guide: &str) -> impl Iterator<Item = &str> {
    let plain = blocks(guide).filter(|(language, _)| language.is_empty());
    let lines = plain.flat_map(|(_, text)| text.lines());
    lines.filter(|line| *line == "hopcost" || line.starts_with("hopcost "))
}

const LITTLE: &str =
    "--quick --starts 1 --budget 2s --set units=8 --set window=40ms --set guard=10ms";

fn shortened(line: &str) -> String {
    let line = line.replace("--budget 20m", "").replace("--quick", "");
    let line = line.replace("--duration 30s", "--duration 1s");
    let line = line.split(" | ").next().unwrap_or_default();
    let with = |command: &str, options: &str| {
        line.replacen(&format!("hopcost {command}"), &format!("hopcost {command} {options}"), 1)
    };
    match line.split(' ').nth(1) {
        Some("survey") if line.contains("--allow-load") => with("survey", "--budget 10s"),
        Some("survey") => with("survey", "--budget 10s --allow-load"),
        Some("probe") => with("probe", "--quick --budget 2s"),
        Some("run") if line.contains("access-cost") => with("run", "--quick --budget 2s"),
        // On two nodes, even if the machine has one.
        Some("run") if line.contains("remote-memory") && !line.contains("--emulate") => {
            with("run", &format!("{LITTLE} --emulate nodes=2,remote_ns=800 --scale 50000"))
        }
        Some("run") if line.contains("server-score") => with("run", &format!("{LITTLE} --scale 1")),
        Some("run") => with("run", LITTLE),
        _ => line.to_owned(),
    }
}

/// Whatever was found; but not for a wrong use.
fn may_end_with(line: &str) -> &'static [i32] {
    match line.split(' ').nth(1) {
        Some("run" | "survey" | "probe") => &[0, 1, 3, 4, 5],
        Some("report") if line.contains("--fail-if") => &[0, 1, 3, 4],
        Some("doctor") => &[0, 1],
        // Nothing may be there, or the two have nothing in common.
        Some("where" | "compare" | "plan") => &[0, 3],
        _ => &[0],
    }
}

#[test]
fn what_guides_say_can_be_typed() {
    let server = shop();
    let mut left_out = [0; LEFT_OUT.len()];
    let mut typed = 0;
    for (name, guide) in GUIDES {
        let bench = Bench::with(&[]);
        fs::copy(SURVEY, bench.path("survey.db")).unwrap();
        let whole = |(_, text): &(&str, &str)| text.contains("[measure]");
        if let Some((_, experiment)) = blocks(guide).find(whole) {
            fs::write(bench.path("mine.toml"), experiment).unwrap();
        }
        if let Some((_, script)) = blocks(guide).find(|(_, text)| text.starts_with("\\set ")) {
            fs::write(bench.path("shop.sql"), script).unwrap();
        }
        for asked in lines(guide) {
            let line = &on(&server, asked);
            if let Some(rule) =
                LEFT_OUT.iter().position(|(part, _)| line.contains(part) && line == asked)
            {
                left_out[rule] += 1;
                continue;
            }
            for (_, script) in BEFORE.iter().filter(|(begin, _)| line.starts_with(begin)) {
                assert!(bench.shell(script).status.success(), "{script}");
            }
            let output = bench.shell(&shortened(line));
            let code = output.status.code().unwrap();
            assert!(
                may_end_with(line).contains(&code),
                "{name}: {line} ended with {code}: {}",
                stderr(&output)
            );
            typed += 1;
        }
    }
    assert!(typed > 45, "{typed}");
    for ((part, why), lines) in LEFT_OUT.iter().zip(left_out) {
        assert!(lines > 0, "no line has '{part}' any more ({why})");
    }
}
