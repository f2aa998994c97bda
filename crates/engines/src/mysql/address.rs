//! MySQL's and MariaDB's connection options: from the URL, the environment and the option file.

use std::path::{Path, PathBuf};

use super::super::server::address::{self, Address, Asked, Custom, Environment, Secret};
use hopcost_core::Reason;

pub const CUSTOM: Custom = Custom {
    name: "mysql",
    port: 3306,
    variables: &[("password", "MYSQL_PWD"), ("host", "MYSQL_HOST"), ("port", "MYSQL_TCP_PORT")],
    socket: default_socket,
    password: from_option_file,
    tls_at_once: None,
    database_of_user: false,
    own_business: &["datadir", "socket", "port", "bind_address", "pid_file", "skip_networking"],
    ..Custom::PLAIN
};

pub fn read(name: &'static str, rest: &str, environment: Environment<'_>) -> Result<Asked, Reason> {
    address::read(&Custom { name, ..CUSTOM }, rest, environment)
}

fn default_socket() -> PathBuf {
    let known = ["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock"].map(Path::new);
    known.into_iter().find(|path| path.exists()).unwrap_or(known[0]).to_owned()
}

/// `password=…` under `[client]` in the user's option file.
fn from_option_file(address: &Address, environment: Environment<'_>) -> Option<Secret> {
    let file = PathBuf::from(environment("HOME")?).join(".my.cnf");
    let text = std::fs::read_to_string(file).ok()?;
    let mut lines = text.lines().map(str::trim).skip_while(|line| *line != "[client]").skip(1);
    let mut options = lines.by_ref().take_while(|line| !line.starts_with('['));
    let mut password = None;
    // The password is used only when the section names no other user.
    let is_theirs = options.all(|line| {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let value = value.trim().trim_matches(['"', '\'']);
        if key.trim() == "password" {
            password = Some(Secret::from(value.to_owned()));
        }
        key.trim() != "user" || value == address.user
    });
    password.filter(|_| is_theirs)
}

#[cfg(test)]
mod tests {
    use super::super::super::server::address::Place;
    use super::*;

    fn with(rest: &str, home: &Path) -> Address {
        let home = home.display().to_string();
        match read("mariadb", rest, &|name| (name == "HOME").then(|| home.clone())).unwrap() {
            Asked::Running(address) => *address,
            Asked::Managed(_) => panic!("it runs"),
        }
    }

    #[test]
    fn a_password_is_found_in_the_option_file_of_its_user() {
        let dir = tempfile::tempdir().unwrap();
        let file =
            "[mysql]\npassword=other\n[client]\nuser = me\npassword = \"a=b\"\n[x]\nuser=you\n";
        std::fs::write(dir.path().join(".my.cnf"), file).unwrap();
        let password = |rest| with(rest, dir.path()).password;
        assert_eq!(password("//me@h/d").as_ref().map(Secret::reveal), Some("a=b"));
        assert_eq!(password("//you@h/d"), None);
        assert_eq!(password("//you:x@h/d").as_ref().map(Secret::reveal), Some("x"));
    }

    #[test]
    fn a_server_needs_no_database() {
        let address = with("//me@/?host=/run/x.sock", Path::new("/nowhere"));
        assert_eq!((address.port, address.database.as_str()), (3306, ""));
        assert_eq!(address.place, Place::Unix("/run/x.sock".into()));
        let wrong = read("mariadb", "managed?socket=/x", &|_| None).unwrap_err();
        assert!(wrong.as_str().contains("own business"), "{wrong}");
    }
}
