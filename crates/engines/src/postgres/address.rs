//! PostgreSQL's connection options, as libpq reads them: from the URL, the environment and the
//! password file.

use std::path::{Path, PathBuf};

use super::super::server::address::{self, Address, Asked, Custom, Environment, Place, Secret};
use hopcost_core::Reason;

const CUSTOM: Custom = Custom {
    name: "postgres",
    port: 5432,
    variables: &[
        ("user", "PGUSER"),
        ("password", "PGPASSWORD"),
        ("dbname", "PGDATABASE"),
        ("host", "PGHOST"),
        ("port", "PGPORT"),
        ("sslmode", "PGSSLMODE"),
        ("sslnegotiation", "PGSSLNEGOTIATION"),
        ("sslrootcert", "PGSSLROOTCERT"),
        ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ],
    socket: default_directory,
    password: from_password_file,
    tls_at_once: Some("postgresql"),
    database_of_user: true,
    own_business: &["data_directory", "unix_socket_directories", "listen_addresses", "port"],
    ..Custom::PLAIN
};

pub fn read(rest: &str, environment: Environment<'_>) -> Result<Asked, Reason> {
    address::read(&CUSTOM, rest, environment)
}

fn default_directory() -> PathBuf {
    let debian = Path::new("/var/run/postgresql");
    if debian.is_dir() { debian } else { Path::new("/tmp") }.to_owned()
}

/// `host:port:database:user:password` on each line; `*` matches anything, `\` escapes a character.
fn from_password_file(address: &Address, environment: Environment<'_>) -> Option<Secret> {
    let file = environment("PGPASSFILE").map(PathBuf::from);
    let file = file.or_else(|| Some(PathBuf::from(environment("HOME")?).join(".pgpass")))?;
    let text = std::fs::read_to_string(file).ok()?;
    let host = match &address.place {
        Place::Host(host) => host.clone(),
        Place::Unix(directory) if *directory == default_directory() => "localhost".to_owned(),
        Place::Unix(directory) => directory.display().to_string(),
    };
    let wanted = [host, address.port.to_string(), address.database.clone(), address.user.clone()];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let is_meant = fields.len() == 5
            && fields.iter().zip(&wanted).all(|(field, wanted)| field == "*" || field == wanted);
        is_meant.then(|| Secret::from(fields[4].clone()))
    })
}

fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let last = fields.len() - 1;
        match character {
            ':' if last < 4 => fields.push(String::new()),
            '\\' => fields[last].extend(characters.next()),
            _ => fields[last].push(character),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use hopcost_core::Code;

    use super::*;
    use crate::server::address::{PATIENCE, Tls, Wait};

    fn with(rest: &str, environment: &[(&str, &str)]) -> Result<Address, Reason> {
        let of = |name: &str| {
            environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        match read(rest, &of)? {
            Asked::Running(address) => Ok(*address),
            Asked::Managed(_) => Err(Code::BadUrl.because("managed")),
        }
    }

    #[test]
    fn a_url_says_everything() {
        let rest = "//me:p%40ss@db.example:6000/shop?sslmode=verify-full&wait=recv";
        let address = with(rest, &[("PGUSER", "other")]).unwrap();
        assert_eq!(address.place, Place::Host("db.example".to_owned()));
        assert_eq!((address.port, address.user.as_str()), (6000, "me"));
        assert_eq!(address.password.as_ref().map(Secret::reveal), Some("p@ss"));
        assert_eq!((address.tls, address.wait), (Tls::VerifyFull, Wait::Receive));
        assert_eq!(address.to_string(), "//me@db.example:6000/shop?sslmode=verify-full");
        assert_eq!(address.patience, PATIENCE);
        assert!(!format!("{address:?}").contains("p@ss"));
    }

    #[test]
    fn what_it_does_not_say_the_environment_does() {
        let environment =
            [("PGUSER", "me"), ("PGHOST", "/run/x"), ("PGPORT", "7000"), ("PGPASSWORD", "x")];
        let address = with("//", &environment).unwrap();
        assert_eq!(address.place, Place::Unix("/run/x".into()));
        assert_eq!((address.port, address.database.as_str()), (7000, "me"));
        assert_eq!(address.password.as_ref().map(Secret::reveal), Some("x"));
        let address = with("//[::1]:7001/d", &environment).unwrap();
        assert_eq!((address.place, address.port), (Place::Host("::1".to_owned()), 7001));
    }

    #[test]
    fn a_password_file_is_read_line_by_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("passwords");
        std::fs::write(&file, "# none\nh:1:d:u:wrong\n*:5432:d:u:a\\:b:c\n").unwrap();
        let environment = [("PGPASSFILE", file.to_str().unwrap())];
        let found = with("//u@h/d", &environment).unwrap().password;
        assert_eq!(found.as_ref().map(Secret::reveal), Some("a:b:c"));
        assert_eq!(with("//v@h/d", &environment).unwrap().password, None);
    }

    #[test]
    fn a_managed_server_takes_a_version_and_settings() {
        let Ok(Asked::Managed(managed)) = read("managed?version=15&jit=on", &|_| None) else {
            panic!("it is one")
        };
        assert_eq!(managed.version.as_deref(), Some("15"));
        assert_eq!(managed.settings["jit"], "on");
        assert_eq!(managed.to_string(), "managed?version=15&jit=on");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (rest, words) in [
            ("manged", "names no server"),
            ("managed?port=1", "own business"),
            ("managed?a-b=1", "no setting"),
            ("managed?version", "no '='"),
            ("//h/d", "names no user"),
            ("//u@h:port/d", "no port"),
            ("//u@h/d?connect_timeout=1s", "whole seconds"),
            ("//u@h/d?sslmode=on", "verify-ca"),
            ("//u@h/d?bad=1", "not known"),
            ("//u:%4@h/d", "hexadecimal"),
            ("//u@[::1/d", "']'"),
        ] {
            let error = read(rest, &|_| None).unwrap_err();
            assert!(error.as_str().contains(words), "{rest}: {error}");
        }
    }
}
