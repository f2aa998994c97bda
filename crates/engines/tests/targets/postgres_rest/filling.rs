//! Workloads that fill: the data set's rows, all counted, and a missing one noticed.

use hopcost_core::{Counted, Instance, Metric, Request, Session, Setup, Shape, Stream, Workload};

use hopcost_testkit::named::open;

use super::super::{seat, setup};
use hopcost_testkit::named::{dataset, workload};
use hopcost_testkit::postgresql::PostgreSql;

fn of<'a>(workload: &'a dyn Workload, address: &'a str) -> Setup<'a> {
    setup(dataset("big_table_im"), workload, 1_000, address)
}

fn streams<'a>(
    instance: &dyn Instance,
    workload: &'a dyn Workload,
) -> Vec<(Box<dyn Session>, Asks<'a>)> {
    let shape = Shape { rows: 1_000, sliced: true };
    let stream = |number| {
        let session = instance.session(&seat(), seat().of_stream(number, 0)).unwrap();
        let mut requests = workload.requests(shape, Stream { number, of: 2, seed: 0 });
        let ask = move |session: &mut dyn Session, calls: usize| {
            for _ in 0..calls {
                let request: Request = requests.next();
                let answer = session.execute(&request).unwrap();
                workload.check(shape, &request, &answer).unwrap();
            }
        };
        (session, Box::new(ask) as Asks<'a>)
    };
    (0..2).map(stream).collect()
}

type Asks<'a> = Box<dyn FnMut(&mut dyn Session, usize) + 'a>;

fn rows(counted: &Counted) -> Option<[u64; 2]> {
    counted.proved.get(&Metric::RowsCounted).copied()
}

#[test]
fn rows_of_all_streams_are_counted_once_and_one_that_is_gone_is_missed() {
    let server = PostgreSql::start(&[]);
    let (workload, url) = (workload("memory_insert"), server.url("postgres"));
    let instance = open("postgres", &of(workload, &url)).unwrap();
    let made = "SELECT t.relpersistence::text || amname FROM pg_index, pg_class AS i, pg_class AS t, pg_am AS a \
                WHERE i.oid = indexrelid AND t.oid = indrelid AND a.oid = i.relam \
                AND t.relname = 'big_table_im'";
    // The table is unlogged, and its key is a hash index.
    assert_eq!(server.ask(made), "uhash");
    let mut streams = streams(&*instance, workload);
    for (session, ask) in &mut streams {
        session.begin_counting();
        ask(&mut **session, 30);
    }
    assert_eq!(rows(&streams[0].0.counted()), None, "they are counted for all at once");
    assert_eq!(rows(&instance.leave_variant(&seat())), Some([60, 60]));
    let wrong = "SELECT count(*) FROM hopcost.big_table_im WHERE length(digits) <> 17 \
                 OR to_1000 NOT BETWEEN 0 AND 1000 OR to_10000 NOT BETWEEN 0 AND 10000 \
                 OR to_100000 NOT BETWEEN 0 AND 100000";
    assert_eq!(server.ask(wrong), "0");
    let (session, ask) = &mut streams[1];
    ask(&mut **session, 10);
    server.ask("DELETE FROM hopcost.big_table_im WHERE digits = (SELECT min(digits) FROM hopcost.big_table_im)");
    assert_eq!(rows(&instance.leave_variant(&seat())), Some([9, 10]));
    // A full table is emptied.
    let (session, ask) = &mut streams[0];
    ask(&mut **session, 1_000);
    assert_eq!(rows(&instance.leave_variant(&seat())), Some([1_000, 1_000]));
    assert_eq!(server.ask("SELECT count(*) FROM hopcost.big_table_im"), "0");
}

#[test]
fn a_load_is_of_the_rows_that_inserts_make_into_a_table_of_its_own() {
    let server = PostgreSql::start(&[]);
    let url = server.url("postgres");
    let [by_row, by_load] = ["memory_insert", "bulk_load"].map(workload);
    let first = |table: &str| {
        server.ask(&format!("SELECT t::text FROM hopcost.{table} AS t ORDER BY at LIMIT 1"))
    };
    let instance = open("postgres", &of(by_row, &url)).unwrap();
    let mut streams_of_rows = streams(&*instance, by_row);
    let (session, ask) = &mut streams_of_rows[0];
    ask(&mut **session, 1);
    let inserted = first("big_table_im");
    drop(streams_of_rows);
    instance.close().unwrap();
    let instance = open("postgres", &of(by_load, &url)).unwrap();
    let mut streams = streams(&*instance, by_load);
    for (n, (session, ask)) in streams.iter_mut().enumerate() {
        ask(&mut **session, n + 1);
    }
    let jobs =
        "SELECT string_agg(relname, ' ' ORDER BY oid) FROM pg_class WHERE relname LIKE 'job%'";
    let jobs = server.ask(jobs);
    let tables: Vec<&str> = jobs.split(' ').collect();
    assert_eq!((tables.len(), first(tables[0])), (2, inserted));
    for (n, (session, _)) in streams.iter_mut().enumerate() {
        let asked = 5_000 * (n as u64 + 1);
        assert_eq!(rows(&session.counted()), Some([asked, asked]));
        assert_eq!(server.ask(&format!("SELECT count(*) FROM hopcost.{}", tables[n])), "0");
    }
}

#[test]
fn sqlite_has_a_database_for_each_stream() {
    for (name, rows_a_call) in [("memory_insert", 1), ("bulk_load", 5_000)] {
        let workload = workload(name);
        let instance = open("sqlite", &of(workload, "")).unwrap();
        assert!(instance.identity().contains("for each stream"), "{}", instance.identity());
        let mut streams = streams(&*instance, workload);
        for (n, (session, ask)) in streams.iter_mut().enumerate() {
            session.begin_counting();
            ask(&mut **session, n + 3);
        }
        for (n, (session, _)) in streams.iter_mut().enumerate() {
            let asked = rows_a_call * (n as u64 + 3);
            assert_eq!(rows(&session.counted()), Some([asked, asked]), "{name}");
        }
    }
}
