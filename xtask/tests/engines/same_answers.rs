//! Same seed, same answers: what each engine holds and says to the same questions, side by side.
#![allow(clippy::print_stdout)] // digests are worth reading

use hopcost_core::{
    Answer, Dataset, Instance, Request, Setup, Shape, Stream, VariantSettings, Workload,
};
use hopcost_testkit::everything::{self, Everything};
use hopcost_testkit::kept::kept;
use hopcost_testkit::named::{self, dataset, home, workload};
use xtask::{libduckdb, newer_mysql};

use super::Test;

pub const TESTS: &[Test] =
    &[("same_answers::all_engines_hold_and_answer_the_same", all_engines_hold_and_answer_the_same)];

/// Data, what is asked of it, how large it is.
const ASKED: [(&str, &str, u64); 3] = [
    ("tran_stats", "reporting_p1", 20_000),
    ("tran_stats", "reporting_p2", 60_000),
    ("tpcc", "standard_oltp", 1),
];
const QUESTIONS: usize = 40;

/// Each engine, and its address.
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

fn opened(
    (engine, address): &(&str, String),
    dataset: &dyn Dataset,
    workload: &dyn Workload,
    rows: u64,
) -> Box<dyn Instance> {
    let cache = kept();
    let setup = Setup { sessions: 1, ..named::setup(dataset, workload, rows, address, cache) };
    let opened = named::open(engine, &setup);
    opened.unwrap_or_else(|why| panic!("{engine}, {}: {why}", workload.info().name))
}

fn seat() -> VariantSettings {
    VariantSettings { home: Some(home()), at: Some(home()), ..VariantSettings::default() }
}

/// What is answered to the first questions of a stream.
fn answers(
    engine: &(&str, String),
    dataset: &dyn Dataset,
    workload: &dyn Workload,
    rows: u64,
) -> Vec<Answer> {
    let instance = opened(engine, dataset, workload, rows);
    let mut session = instance.first_session(&seat()).unwrap();
    let shape = Shape { rows, sliced: true };
    let mut requests = workload.requests(shape, Stream { number: 0, of: 1, seed: 7 });
    let answers = (0..QUESTIONS).map(|_| session.execute(&requests.next()).unwrap()).collect();
    drop(session);
    instance.close().unwrap();
    answers
}

/// What each table holds.
fn tables(
    engine: &(&str, String),
    dataset: &dyn Dataset,
    rows: u64,
) -> Vec<(&'static str, Answer)> {
    let (everything, _) = Everything::of(dataset, rows);
    let instance = opened(engine, dataset, &everything, rows);
    let mut session = instance.first_session(&seat()).unwrap();
    let statements = everything.spec(Shape { rows, sliced: true }).statements;
    let asked = statements.iter().enumerate().map(|(statement, table)| {
        let request = Request { statement, arguments: [0; 4] };
        (table.name, session.execute(&request).unwrap())
    });
    asked.collect()
}

/// One number for all of them.
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
        let of_each =
            engines.each_ref().map(|engine| answers(engine, dataset(data), workload(name), rows));
        for (engine, of) in engines.iter().zip(&of_each) {
            println!("{name} on {}: {QUESTIONS} answers, {:016x}", engine.0, digest(of.clone()));
        }
        for (engine, of) in engines.iter().zip(&of_each) {
            assert_eq!(*of, of_each[0], "{}: {name}", engine.0);
        }
    }
}
