//! Tests on newer servers, a Kerberos realm and a plugin from packages that are not installed.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod kerberos;
mod mysql_9;
mod postgres_18;
mod recipes;
mod server_audit;

use std::path::Path;
use std::process::Command;

use xtask::test::program;

const TARGETS: &str = "hopcost-engines/targets";

fn tried(binary: &str, modules: &[&str], skipped: &[&str], variable: &str, programs: &Path) {
    let tests = || -> Command {
        let mut tests = program(binary).unwrap();
        tests.args(modules).args(skipped.iter().flat_map(|path| ["--skip", path]));
        tests.env(variable, programs);
        tests
    };
    let said = |command: &mut Command| {
        let output = command.output().unwrap();
        let [said, errors] =
            [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
        assert!(output.status.success(), "{said}\n{errors}");
        said
    };
    let listed = said(tests().args(["--list", "--format", "terse"]));
    let count = listed.lines().filter(|line| line.ends_with(": test")).count();
    let said = said(&mut tests());
    assert!(count > 0 && said.contains(&format!("test result: ok. {count} passed")), "{said}");
}
