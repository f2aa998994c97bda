//! Engine tests that need a process of their own: DuckDB's server is this binary, re-executed.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod duckdb;
mod same_answers;
mod sqlserver;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

type Test = (&'static str, fn());

fn main() -> ExitCode {
    if let Some(code) = hopcost_engines::hosted_process() {
        return code;
    }
    let arguments = Arguments::from_args();
    let trial = |(path, test): &Test| {
        let test = *test;
        Trial::test(*path, move || {
            test();
            Ok(())
        })
    };
    let here = duckdb::TESTS.iter().chain(same_answers::TESTS).map(trial);
    // Without a server its tests are reported as ignored.
    let is_left_out = !arguments.list && !sqlserver::is_there();
    let elsewhere = sqlserver::TESTS.iter().map(|test| trial(test).with_ignored_flag(is_left_out));
    let all = here.chain(elsewhere).collect();
    libtest_mimic::run(&arguments, all).exit_code()
}
