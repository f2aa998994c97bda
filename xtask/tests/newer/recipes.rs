//! Recipes of advice on MySQL, and on MariaDB with its audit plugin.

use hopcost_testkit::mariadb::MariaDb;
use hopcost_testkit::recipes::{cases, execute};
use xtask::{apt, newer_mysql};

#[test]
fn on_mysql_recipes_do_and_undo_what_they_say() {
    let programs = newer_mysql::programs().unwrap();
    let modules = ["recipes::on_mariadb_or_mysql"];
    super::tried("hopcost/servers", &modules, &[], "HOPCOST_TEST_MYSQL", &programs);
}

#[test]
fn on_mariadb_an_audit_is_made_smaller_and_as_it_was() {
    let root = apt::unpacked("server-audit", &["mariadb-server"]).unwrap();
    let plugins = format!("--plugin-dir={}", root.join("usr/lib/mysql/plugin").display());
    let options = [&plugins, "--plugin-load-add=server_audit", "--server-audit-events=QUERY"];
    let server = MariaDb::start(&[&options[..], &["--general-log"]].concat());
    execute(&server, cases::MARIADB_WITH_AUDIT);
}
