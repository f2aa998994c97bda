//! Where a server is, and who asks: from a URL, the environment and the password file, as PostgreSQL's
//! own programs take them.
//!
//! A password is read from the URL, `PGPASSWORD` or the password file, is held in memory alone, and has
//! no way into words: [`Secret`] prints nothing of itself.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Something that must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// For whoever has to send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a secret")
    }
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The directory of its Unix socket.
    Directory(PathBuf),
    /// A host's name or number.
    Host(String),
}

/// How much TLS is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tls {
    /// None.
    Disable,
    /// Where the server has it.
    Prefer,
    /// Encrypted, to whomever.
    Require,
    /// To somebody with a certificate of a known authority.
    VerifyCa,
    /// To the very host that was named.
    VerifyFull,
}

/// How an answer is waited for. The same in all arms of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// `epoll` until something can be read, then `recv`.
    #[default]
    Poll,
    /// `recv` alone.
    Receive,
}

/// A server, a user, a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Where.
    pub place: Place,
    /// Its port; it is part of the Unix socket's name, too.
    pub port: u16,
    /// The user.
    pub user: String,
    /// The password, where one is known.
    pub password: Option<Secret>,
    /// The database.
    pub database: String,
    /// How much TLS is wanted.
    pub tls: Tls,
    /// The certificates of the authorities that are trusted.
    pub root_certificates: Option<PathBuf>,
    /// How answers are waited for.
    pub wait: Wait,
    /// How long it may take to be let in.
    pub patience: Duration,
}

const DAY: Duration = Duration::from_hours(24);
/// How long it may take to be let in, where nothing else is said.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The variables of an environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What `postgres:` is followed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A server of our own.
    Managed(Managed),
    /// One that runs.
    Running(Box<Address>),
}

/// What is asked of a server of our own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Managed {
    /// The version, or how it begins; the newest that is installed without it.
    pub version: Option<String>,
    /// The directory of its programs, where it is none of the usual.
    pub programs: Option<PathBuf>,
    /// Settings beyond ours, in the server's words.
    pub settings: BTreeMap<String, String>,
    /// How answers are waited for.
    pub wait: Wait,
}

const PORT: u16 = 5432;

/// Reads the part of a URL after `postgres:`.
pub fn read(rest: &str, environment: Environment<'_>) -> Result<Asked, String> {
    let (front, options) = rest.split_once('?').unwrap_or((rest, ""));
    let options = options_of(options)?;
    match front.strip_prefix("//") {
        Some(place) => Ok(Asked::Running(Box::new(running(place, options, environment)?))),
        None if front == "managed" || front.is_empty() => managed(options).map(Asked::Managed),
        None => Err(format!(
            "'{front}' names no server: write postgres:managed for one of hopcost's own, or \
             postgres://user@host:port/database for one that runs"
        )),
    }
}

fn managed(options: Vec<(String, String)>) -> Result<Managed, String> {
    let mut managed = Managed::default();
    for (key, value) in options {
        match key.as_str() {
            "version" => managed.version = Some(value),
            "programs" => managed.programs = Some(value.into()),
            "wait" => managed.wait = wait(&value)?,
            // What places or names the server is not for others to say.
            "data_directory" | "unix_socket_directories" | "listen_addresses" | "port" => {
                return Err(format!("'{key}' is hopcost's own business with a managed server"));
            }
            _ if key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.') => {
                managed.settings.insert(key, value);
            }
            _ => return Err(format!("'{key}' is no setting of PostgreSQL's")),
        }
    }
    Ok(managed)
}

fn running(
    place: &str,
    options: Vec<(String, String)>,
    environment: Environment<'_>,
) -> Result<Address, String> {
    let (place, database) = place.split_once('/').unwrap_or((place, ""));
    let (who, host) = place.rsplit_once('@').unwrap_or(("", place));
    let (user, password) = who.split_once(':').unwrap_or((who, ""));
    let (host, port) = host_and_port(host)?;
    let or = |given: String, variable: &str| {
        Some(given).filter(|given| !given.is_empty()).or_else(|| environment(variable))
    };
    let user = or(decoded(user)?, "PGUSER").or_else(|| environment("USER"));
    let user = user.ok_or("it names no user: write postgres://user@host/database")?;
    let database = or(decoded(database)?, "PGDATABASE").unwrap_or_else(|| user.clone());
    let mut address = Address {
        place: Place::Host(String::new()),
        port: PORT,
        user,
        password: or(decoded(password)?, "PGPASSWORD").map(Secret),
        database,
        tls: tls(environment("PGSSLMODE").as_deref().unwrap_or("prefer"))?,
        root_certificates: environment("PGSSLROOTCERT").map(PathBuf::from),
        wait: Wait::default(),
        patience: environment("PGCONNECT_TIMEOUT").map_or(Ok(PATIENCE), |text| patience(&text))?,
    };
    let mut host = or(decoded(host)?, "PGHOST").unwrap_or_default();
    let mut port = or(port.to_owned(), "PGPORT").unwrap_or_default();
    for (key, value) in options {
        match key.as_str() {
            "host" => host = value,
            "port" => port = value,
            "user" => address.user = value,
            "password" => address.password = Some(Secret(value)),
            "dbname" => address.database = value,
            "sslmode" => address.tls = tls(&value)?,
            "sslrootcert" => address.root_certificates = Some(value.into()),
            "connect_timeout" => address.patience = patience(&value)?,
            "wait" => address.wait = wait(&value)?,
            _ => {
                return Err(format!(
                    "'{key}' is not known; known: host, port, user, password, dbname, sslmode, \
                     sslrootcert, connect_timeout, wait"
                ));
            }
        }
    }
    if !port.is_empty() {
        address.port = port.parse().map_err(|_| format!("'{port}' is no port"))?;
    }
    address.place = match host.as_str() {
        "" => Place::Directory(default_directory()),
        host if host.starts_with('/') => Place::Directory(host.into()),
        host => Place::Host(host.to_owned()),
    };
    if address.password.is_none() {
        address.password = from_password_file(&address, environment);
    }
    Ok(address)
}

/// `host`, `host:port`, `[::1]:port`.
fn host_and_port(text: &str) -> Result<(&str, &str), String> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or("a '[' without its ']'")?;
        return Ok((host, rest.strip_prefix(':').unwrap_or("")));
    }
    Ok(text.split_once(':').unwrap_or((text, "")))
}

/// Debian's, or that of PostgreSQL as it comes.
fn default_directory() -> PathBuf {
    let debian = Path::new("/var/run/postgresql");
    if debian.is_dir() { debian } else { Path::new("/tmp") }.to_owned()
}

fn options_of(text: &str) -> Result<Vec<(String, String)>, String> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (key, value) =
            pair.split_once('=').ok_or_else(|| format!("'{pair}' has no '=': write key=value"))?;
        Ok((decoded(key)?, decoded(value)?))
    });
    pairs.collect()
}

/// `%40` is `@`.
fn decoded(text: &str) -> Result<String, String> {
    let wrong = || "a '%' that two hexadecimal digits do not follow".to_owned();
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first == b'%' {
            let (digits, tail) = rest.split_at_checked(2).ok_or_else(wrong)?;
            let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
            bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
            rest = tail;
        } else {
            bytes.push(first);
        }
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

fn tls(text: &str) -> Result<Tls, String> {
    Ok(match text {
        "disable" => Tls::Disable,
        "allow" | "prefer" => Tls::Prefer,
        "require" => Tls::Require,
        "verify-ca" => Tls::VerifyCa,
        "verify-full" => Tls::VerifyFull,
        _ => {
            return Err(format!(
                "sslmode={text}: disable, prefer, require, verify-ca and verify-full are known"
            ));
        }
    })
}

fn patience(text: &str) -> Result<Duration, String> {
    let seconds: i64 =
        text.parse().map_err(|_| format!("connect_timeout={text}: write whole seconds"))?;
    // To PostgreSQL's own programs nothing, and less, is no limit.
    Ok(u64::try_from(seconds).ok().filter(|s| *s > 0).map_or(DAY, Duration::from_secs))
}

fn wait(text: &str) -> Result<Wait, String> {
    match text {
        "poll" => Ok(Wait::Poll),
        "recv" => Ok(Wait::Receive),
        _ => Err(format!("wait={text}: poll and recv are known")),
    }
}

/// `host:port:database:user:password`, line by line; `*` stands for anything, `\` before a character
/// for that character.
fn from_password_file(address: &Address, environment: Environment<'_>) -> Option<Secret> {
    let file = environment("PGPASSFILE").map(PathBuf::from);
    let file = file.or_else(|| Some(PathBuf::from(environment("HOME")?).join(".pgpass")))?;
    let text = std::fs::read_to_string(file).ok()?;
    let host = match &address.place {
        Place::Host(host) => host.clone(),
        Place::Directory(directory) if *directory == default_directory() => "localhost".to_owned(),
        Place::Directory(directory) => directory.display().to_string(),
    };
    let wanted = [host, address.port.to_string(), address.database.clone(), address.user.clone()];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let is_meant = fields.len() == 5
            && fields.iter().zip(&wanted).all(|(field, wanted)| field == "*" || field == wanted);
        is_meant.then(|| Secret(fields[4].clone()))
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

/// A URL that says where, and nothing secret.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, port, database) = (&self.user, self.port, &self.database);
        match &self.place {
            Place::Directory(directory) => {
                write!(f, "//{user}@/{database}?host={}&port={port}", directory.display())
            }
            Place::Host(host) if host.contains(':') => {
                write!(f, "//{user}@[{host}]:{port}/{database}")
            }
            Place::Host(host) => write!(f, "//{user}@{host}:{port}/{database}"),
        }
    }
}

impl fmt::Display for Managed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("managed")?;
        let version = self.version.iter().map(|version| ("version", version.clone()));
        let programs = self.programs.iter().map(|dir| ("programs", dir.display().to_string()));
        let wait = (self.wait == Wait::Receive).then(|| ("wait", "recv".to_owned()));
        let settings = self.settings.iter().map(|(key, value)| (key.as_str(), value.clone()));
        let all = version.chain(programs).chain(wait).chain(settings);
        for (n, (key, value)) in all.enumerate() {
            write!(f, "{}{key}={value}", if n == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Managed(managed) => managed.fmt(f),
            Self::Running(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(rest: &str, environment: &[(&str, &str)]) -> Result<Address, String> {
        let of = |name: &str| {
            environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        match read(rest, &of)? {
            Asked::Running(address) => Ok(*address),
            Asked::Managed(_) => Err("managed".to_owned()),
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
        assert_eq!(address.to_string(), "//me@db.example:6000/shop");
        assert_eq!(address.patience, PATIENCE);
        assert!(!format!("{address:?}").contains("p@ss"));
    }

    #[test]
    fn what_it_does_not_say_the_environment_does() {
        let environment =
            [("PGUSER", "me"), ("PGHOST", "/run/x"), ("PGPORT", "7000"), ("PGPASSWORD", "x")];
        let address = with("//", &environment).unwrap();
        assert_eq!(address.place, Place::Directory("/run/x".into()));
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
            assert!(error.contains(words), "{rest}: {error}");
        }
    }
}
