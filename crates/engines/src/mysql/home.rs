//! Existing MySQL and MariaDB servers: hopcost's tables are in a database `hopcost`.

use hopcost_core::{Code, Setup, TargetError};

use super::super::server::attached::{Home, Left, Mark, OURS};
use super::super::server::{DATABASE, FOREIGN, version::numbers};
use super::flavour::{Flavour, MySqlDialect};
use super::wire::Wire;
use crate::server::address::Address;
use crate::server::copy::ServerCopy;
use crate::server::wire::{Wire as _, WireError};

const MARK: &str = "made_by_hopcost";

/// Without the privilege PROCESS this counts 0: replicas stay unnoticed.
const FOLLOWERS: &str = "\
    SELECT count(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'";

impl Home for MySqlDialect {
    const KIND: &'static str = "database";
    const FOREIGN: &'static str = FOREIGN;

    fn fit(&self, wire: &mut Wire, setup: &Setup<'_>) -> Result<(), TargetError> {
        let not_here = |code: Code, words: String| Err(TargetError::NotHere(code.because(words)));
        let wanted = self.flavour;
        if wire.is_mariadb() != (wanted == Flavour::MariaDb) {
            let is = if wire.is_mariadb() { Flavour::MariaDb } else { Flavour::MySql };
            let (is, scheme, wanted) = (is.name(), is.scheme(), wanted.name());
            let words = format!("this server is {is}, and not {wanted}: write {scheme}://…");
            return not_here(Code::WrongServer, words);
        }
        let (oldest, words): (&[u32], _) =
            if wire.is_mariadb() { (&[10, 6], "10.6") } else { (&[8], "8") };
        if numbers(wire.version()).as_slice() < oldest {
            let words = format!("{} {} is older than {words}", wanted.name(), wire.version());
            return not_here(Code::WrongVersion, words);
        }
        if is_on(wire, "read_only")? {
            let words = "this server takes no data (read_only): it may follow another one; go to its primary";
            return not_here(Code::ReadOnly, words.to_owned());
        }
        let followers = wire.value(FOLLOWERS)?.unwrap_or_default();
        if followers != "0" && !setup.allow_server_changes {
            let words = format!(
                "{followers} servers follow this one, and what is written here goes to them: choose another, or \
                 say --allow-server-changes"
            );
            return not_here(Code::ReadOnly, words);
        }
        Ok(())
    }

    /// Waits 5 s, because the server may release the lock of an ended run late.
    fn lock(&self, wire: &mut Wire) -> Result<(), TargetError> {
        if wire.value(&format!("SELECT GET_LOCK('{DATABASE}', 5)"))?.as_deref() == Some("1") {
            return Ok(());
        }
        let who = wire.value(&format!("SELECT IS_USED_LOCK('{DATABASE}')")).ok().flatten();
        let who = who.unwrap_or_default();
        Err(TargetError::NotHere(Code::ServerInUse.because(format!(
            "another hopcost is at work on this server (its connection {who}): wait until it is through; where it \
             is gone, 'KILL {who}' ends what is left"
        ))))
    }

    fn log_bytes(&self, wire: &mut Wire) -> Result<Option<u64>, WireError> {
        let rows = wire.query("SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'")?;
        let bytes = rows.into_iter().next().and_then(|row| row.into_iter().nth(1)).flatten();
        Ok(Some(bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)))
    }

    fn mark(&self, wire: &mut Wire) -> Result<Mark, WireError> {
        let database =
            format!("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{DATABASE}'");
        if wire.value(&database)?.is_none() {
            return Ok(Mark::None);
        }
        let table = format!(
            "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{DATABASE}' AND TABLE_NAME = '{MARK}'"
        );
        if wire.value(&table)?.is_none() {
            return Ok(Mark::Foreign);
        }
        let contents = wire.query(&format!("SELECT content FROM `{DATABASE}`.`{MARK}`"))?;
        Ok(Mark::Ours(contents.into_iter().flatten().flatten().collect()))
    }

    fn takes_rows(&self, wire: &mut Wire) -> Result<(), TargetError> {
        if is_on(wire, "local_infile")? {
            return Ok(());
        }
        let words = "this server takes no rows from its clients (local_infile = OFF), and hopcost brings its data \
                     so: let an administrator SET GLOBAL local_infile = ON, and back afterwards; or load once \
                     meanwhile: hopcost load TARGET DATASET";
        Err(TargetError::NotHere(Code::ReadOnly.because(words)))
    }

    fn make_home(&self, wire: &mut Wire, _: &Setup<'_>) -> Result<(), TargetError> {
        for sql in [
            drop_database(),
            format!("CREATE DATABASE `{DATABASE}`"),
            // Created at once, to mark the database; rows are added when the data is complete.
            format!("CREATE TABLE `{DATABASE}`.`{MARK}` (content VARCHAR(200)) COMMENT '{OURS}'"),
        ] {
            wire.query(&sql)?;
        }
        Ok(())
    }

    fn write_contents(&self, wire: &mut Wire, contents: &[String]) -> Result<(), WireError> {
        contents.iter().try_for_each(|content| {
            let insert = format!("INSERT INTO `{DATABASE}`.`{MARK}` VALUES ('{content}')");
            wire.query(&insert).map(drop)
        })
    }

    fn ours(&self, address: &Address) -> Address {
        Address { database: DATABASE.to_owned(), ..address.clone() }
    }

    fn admin(&self, mut locked: Wire, to: &Address) -> Result<(Wire, Option<Wire>), WireError> {
        if to.database == DATABASE {
            locked.query(&format!("USE `{DATABASE}`"))?;
        }
        Ok((locked, None))
    }

    fn identity(&self, copy: &ServerCopy<Self>) -> String {
        let pool = copy.value("SELECT @@innodb_buffer_pool_size DIV 1048576").unwrap_or_default();
        let host = copy.value("SELECT @@hostname").unwrap_or_default();
        let (name, version) = (self.flavour.name(), copy.admin().version().to_owned());
        format!("{name} {version}, attached on {host}, {pool} MiB of buffer pool")
    }

    fn end_stragglers(&self, wire: &mut Wire) -> Result<(), WireError> {
        wire.kill(&format!("DB = '{DATABASE}' AND ID <> CONNECTION_ID()"))
    }

    fn leave(&self, wire: &mut Wire, keep: bool) -> Result<Left, WireError> {
        if !keep {
            wire.query(&drop_database())?;
        }
        Ok(Left::default())
    }
}

fn drop_database() -> String {
    format!("DROP DATABASE IF EXISTS `{DATABASE}`")
}

/// Old servers answer with a number, newer ones with a word.
fn is_on(wire: &mut Wire, variable: &str) -> Result<bool, TargetError> {
    let value = wire.value(&format!("SELECT @@{variable}"))?;
    Ok(!["0", "OFF"].contains(&value.unwrap_or_default().as_str()))
}
