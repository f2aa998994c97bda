//! `hopcost` on MariaDB: a killed server, and a password.

use crate::at_work::alone;
use crate::faults::{self, SECRET};
use crate::on_mariadb::bench;

#[test]
fn a_run_ends_clean_and_its_store_holds_no_password() {
    let bench = bench();
    bench.server.ask(&format!("CREATE USER me@'127.0.0.1' IDENTIFIED BY '{SECRET}'"));
    bench.server.ask("GRANT ALL ON *.* TO me@'127.0.0.1'");
    let url = format!("mariadb:{}", bench.server.url_of(&format!("me:{SECRET}")));
    faults::a_run_keeps_no_password(&bench, &url);
}

#[test]
fn a_server_that_dies_ends_the_run_with_words_and_what_was_finished_stays() {
    let _alone = alone();
    faults::a_server_dies_in_a_run(
        &bench(),
        &["closed the connection", "the connection was reset"],
    );
}
