//! pgbench's built-in scripts, statement by statement.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    pub name: &'static str,
    pub about: &'static str,
    pub text: &'static str,
}

macro_rules! aid {
    () => {
        "\\set aid random(1, 100000 * :scale)\n"
    };
}

macro_rules! numbers {
    () => {
        concat!(
            aid!(),
            "\\set bid random(1, 1 * :scale)\n",
            "\\set tid random(1, 10 * :scale)\n",
            "\\set delta random(-5000, 5000)\n",
        )
    };
}

macro_rules! account {
    () => {
        concat!(
            "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n",
            "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
        )
    };
}

macro_rules! history {
    () => {
        concat!(
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) ",
            "VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n",
        )
    };
}

pub static BUILTINS: [Builtin; 3] = [
    Builtin {
        name: "tpcb-like",
        about: "seven statements after TPC-B: moves money at an account, a teller and a branch",
        text: concat!(
            numbers!(),
            "BEGIN;\n",
            account!(),
            "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n",
            "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n",
            history!(),
            "END;\n",
        ),
    },
    Builtin {
        name: "simple-update",
        about: "the same without tellers and branches, at whose few rows clients would queue",
        text: concat!(numbers!(), "BEGIN;\n", account!(), history!(), "END;\n"),
    },
    Builtin {
        name: "select-only",
        about: "looks up the balance of one account",
        text: concat!(aid!(), "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"),
    },
];

/// By unique prefix; `None` if no name or several match.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    let mut found = BUILTINS.iter().filter(|builtin| builtin.name.starts_with(name));
    found.next().filter(|_| found.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::super::Script;
    use super::*;

    const UPDATE: &str = "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2;";
    const SELECT: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = $1;";
    const HISTORY: &str = "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
                           VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP);";

    #[test]
    fn they_send_pgbenchs_statements() {
        let sent = |name| {
            let script = Script::read(name, builtin(name).unwrap().text).unwrap();
            script.commands().map(str::to_owned).collect::<Vec<_>>()
        };
        let tellers = "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2;";
        let branches = "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2;";
        assert_eq!(
            sent("tpcb-like"),
            ["BEGIN;", UPDATE, SELECT, tellers, branches, HISTORY, "END;"]
        );
        assert_eq!(sent("simple-update"), ["BEGIN;", UPDATE, SELECT, HISTORY, "END;"]);
        assert_eq!(sent("select-only"), [SELECT]);
    }

    #[test]
    fn a_beginning_is_enough_where_it_is_the_only_one() {
        let found = |name| builtin(name).map(|builtin| builtin.name);
        assert_eq!(found("tpcb-like"), Some("tpcb-like"));
        assert_eq!(found("t"), Some("tpcb-like"));
        assert_eq!(found("si"), Some("simple-update"));
        assert_eq!(found("se"), Some("select-only"));
        assert_eq!(found("s"), None);
        assert_eq!(found(""), None);
        assert_eq!(found("tpcb-like2"), None);
    }
}
