//! Same seed, same answers: all engines hold the same data and answer queries equally.
#![allow(clippy::print_stdout)] // digests are worth reading

use hopcost_core::{Answer, Dataset, Instance, Request, Setup};
use hopcost_testkit::everything::{self, Everything};
use hopcost_testkit::named::{self, answers, dataset, seat, shared_setup, workload};
use xtask::{libduckdb, newer_mysql};

use super::Test;

pub const TESTS: &[Test] =
    &[("same_answers::all_engines_hold_and_answer_the_same", all_engines_hold_and_answer_the_same)];

const ASKED: [(&str, &str, u64); 3] = [
    ("tran_stats", "reporting_p1", 20_000),
    ("tran_stats", "reporting_p2", 60_000),
    ("tpcc", "standard_oltp", 1),
];

fn engines() -> [(&'static str, String); 5] {
    let programs = newer_mysql::programs().unwrap();
    [
        ("sqlite", String::new()),
        ("postgres", "managed".to_owned()),
        ("mariadb", "managed".to_owned()),
        ("mysql", format!("managed?programs={}", programs.display())),
        ("duckdb", format!("lib={}", libduckdb::ensure().unwrap().display())),
    ]
}

fn opened<'a>(engine: &str, setup: &Setup<'a>) -> Box<dyn Instance + 'a> {
    let opened = named::open(engine, setup);
    opened.unwrap_or_else(|why| panic!("{engine}, {}: {why}", setup.workload.info().name))
}

fn tables(
    (engine, address): &(&str, String),
    dataset: &dyn Dataset,
    rows: u64,
) -> Vec<(&'static str, Answer)> {
    let (everything, _) = Everything::of(dataset, rows);
    let setup = shared_setup(dataset, &everything, rows, address);
    let instance = opened(engine, &setup);
    let mut session = instance.first_session(&seat()).unwrap();
    let statements = setup.spec().statements;
    let asked = statements.iter().enumerate().map(|(statement, table)| {
        let request = Request { statement, arguments: [0; 4] };
        (table.name, session.execute(&request).unwrap())
    });
    asked.collect()
}

fn digest(answers: impl IntoIterator<Item = Answer>) -> u64 {
    answers
        .into_iter()
        .fold(0, |all: u64, answer| all.rotate_left(7) ^ answer.digest.wrapping_add(answer.rows))
}

fn all_engines_hold_and_answer_the_same() {
    let engines = engines();
    for (data, rows) in everything::ALL {
        let of_each = engines.each_ref().map(|engine| tables(engine, dataset(data), rows));
        for (table, answer) in &of_each[0] {
            println!("table {table}: {} rows, {:016x}", answer.rows, answer.digest);
        }
        for (engine, of) in engines.iter().zip(&of_each) {
            assert_eq!(*of, of_each[0], "{}: {data}", engine.0);
        }
    }
    for (data, name, rows) in ASKED {
        let of_each = engines.each_ref().map(|(engine, address)| {
            let setup = shared_setup(dataset(data), workload(name), rows, address);
            answers(&*opened(engine, &setup), &setup, &seat())
        });
        for (engine, of) in engines.iter().zip(&of_each) {
            println!("{name} on {}: {} answers, {:016x}", engine.0, of.len(), digest(of.clone()));
        }
        for (engine, of) in engines.iter().zip(&of_each) {
            assert_eq!(*of, of_each[0], "{}: {name}", engine.0);
        }
    }
}
