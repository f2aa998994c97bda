//! Which of the two servers it is, and what is the same for all connections of a run.

use std::time::Duration;

use hopcost_core::Dataset;

use super::super::server::dialect::Profile;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    MySql,
    MariaDb,
}

impl Flavour {
    /// In words.
    pub const fn name(self) -> &'static str {
        self.profile().name
    }

    /// In URLs.
    pub const fn scheme(self) -> &'static str {
        self.profile().scheme
    }

    /// The server's program.
    pub const fn program(self) -> &'static str {
        self.profile().processes[0]
    }

    pub const fn profile(self) -> &'static Profile {
        match self {
            Self::MySql => &MYSQL,
            Self::MariaDb => &MARIADB,
        }
    }
}

const MYSQL: Profile = Profile {
    name: "MySQL",
    scheme: "mysql",
    processes: &["mysqld", "mariadbd"],
    waits: Some(
        "SELECT coalesce(nullif(STATE, ''), 'none') FROM information_schema.PROCESSLIST \
         WHERE COMMAND IN ('Query', 'Execute') AND ID <> CONNECTION_ID()",
    ),
    patience: Some(Duration::from_secs(2)),
};
const MARIADB: Profile =
    Profile { name: "MariaDB", scheme: "mariadb", processes: &["mariadbd", "mysqld"], ..MYSQL };

/// What a run says to its servers, and what of.
pub struct MySqlDialect {
    pub flavour: Flavour,
    pub dataset: Option<&'static dyn Dataset>,
    /// Are nodes sets of CPUs, whose pages are all in one place?
    pub is_emulated: bool,
}
