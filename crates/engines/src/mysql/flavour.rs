//! MySQL or MariaDB, and the settings that all connections of a run share.

use std::time::Duration;

use hopcost_core::Dataset;

use super::super::server::dialect::Profile;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    MySql,
    MariaDb,
}

impl Flavour {
    pub const fn name(self) -> &'static str {
        self.profile().name
    }

    pub const fn scheme(self) -> &'static str {
        self.profile().scheme
    }

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

pub struct MySqlDialect {
    pub flavour: Flavour,
    pub dataset: Option<&'static dyn Dataset>,
    /// With emulated nodes (sets of CPUs), all pages are on one real node.
    pub is_emulated: bool,
}
