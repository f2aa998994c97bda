//! A server's address: from a URL, and from the variables that the server's own clients read.
//!
//! Method: all kinds of server share one URL parser; their differences are in [`Custom`].
//!
//! A password stays in memory: [`Secret`] never prints its text.

use hopcost_core::{Code, Reason};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Secret {
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a secret")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// As the server names its Unix socket: PostgreSQL by directory, MySQL by file.
    Unix(PathBuf),
    Host(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tls {
    Disable,
    /// If the server offers it.
    Prefer,
    /// Encrypted, without checking the certificate.
    Require,
    /// With a certificate of a trusted authority.
    VerifyCa,
    /// With a trusted certificate for this host name.
    VerifyFull,
}

/// How a client waits for an answer. The same in all variants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    #[default]
    Poll,
    Receive,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub scheme: &'static str,
    pub place: Place,
    /// Also part of the Unix socket's name.
    pub port: u16,
    pub user: String,
    pub password: Option<Secret>,
    pub database: String,
    pub tls: Tls,
    /// TLS without a request for it first: the ALPN protocol name.
    pub tls_at_once: Option<&'static str>,
    pub root_certificates: Option<PathBuf>,
    pub wait: Wait,
    /// Time limit for connecting and logging in.
    pub patience: Duration,
    pub own: BTreeMap<String, String>,
}

const DAY: Duration = Duration::from_hours(24);
pub const PATIENCE: Duration = Duration::from_secs(30);

pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

pub struct Custom {
    pub name: &'static str,
    pub port: u16,
    /// `(option, variable)`: where the server's own clients find an option that is not given.
    pub variables: &'static [(&'static str, &'static str)],
    /// The Unix socket used if no host is named.
    pub socket: fn() -> PathBuf,
    pub password: fn(&Address, Environment<'_>) -> Option<Secret>,
    pub tls_at_once: Option<&'static str>,
    /// Does the database default to the user's name?
    pub database_of_user: bool,
    pub own_option: fn(&str, &str) -> Result<bool, String>,
    /// Settings of a managed server that only hopcost may set.
    pub own_business: &'static [&'static str],
}

impl Custom {
    pub const PLAIN: Self = Self {
        name: "",
        port: 0,
        variables: &[],
        socket: PathBuf::new,
        password: |_, _| None,
        tls_at_once: None,
        database_of_user: false,
        own_option: |_, _| Ok(false),
        own_business: &[],
    };

    fn variable(&self, option: &str, environment: Environment<'_>) -> Option<String> {
        let (_, name) = self.variables.iter().find(|(of, _)| *of == option)?;
        environment(name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    Managed(Managed),
    Running(Box<Address>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Managed {
    /// A version or a prefix of one; `None` for the newest that is installed.
    pub version: Option<String>,
    /// The directory of its programs; `None` to search the usual ones.
    pub programs: Option<PathBuf>,
    pub settings: BTreeMap<String, String>,
    pub wait: Wait,
}

/// Does the part of a URL after the name mean an existing server, even if it is malformed?
pub fn is_of_running(rest: &str) -> bool {
    rest.starts_with("//")
}

pub fn read(custom: &Custom, rest: &str, environment: Environment<'_>) -> Result<Asked, Reason> {
    parse(custom, rest, environment).map_err(|words| Code::BadUrl.because(words))
}

fn parse(custom: &Custom, rest: &str, environment: Environment<'_>) -> Result<Asked, String> {
    let (front, options) = rest.split_once('?').unwrap_or((rest, ""));
    let options = options_of(options)?;
    match front.strip_prefix("//") {
        Some(place) => Ok(Asked::Running(Box::new(running(custom, place, options, environment)?))),
        None if front == "managed" || front.is_empty() => {
            managed(custom, options).map(Asked::Managed)
        }
        None => {
            let name = custom.name;
            Err(format!(
                "'{front}' names no server: write {name}:managed for one of hopcost's own, or \
                 {name}://user@host:port/database for one that runs"
            ))
        }
    }
}

fn managed(custom: &Custom, options: Vec<(String, String)>) -> Result<Managed, String> {
    let mut managed = Managed::default();
    for (key, value) in options {
        match key.as_str() {
            "version" => managed.version = Some(value),
            "programs" => managed.programs = Some(value.into()),
            "wait" => managed.wait = wait(&value)?,
            _ if custom.own_business.contains(&key.as_str()) => {
                return Err(format!("'{key}' is hopcost's own business with a managed server"));
            }
            _ if key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.') => {
                managed.settings.insert(key, value);
            }
            _ => return Err(format!("'{key}' is no setting of a server's")),
        }
    }
    Ok(managed)
}

fn running(
    custom: &Custom,
    place: &str,
    options: Vec<(String, String)>,
    environment: Environment<'_>,
) -> Result<Address, String> {
    let (place, database) = place.split_once('/').unwrap_or((place, ""));
    let (who, host) = place.rsplit_once('@').unwrap_or(("", place));
    let (user, password) = who.split_once(':').unwrap_or((who, ""));
    let (host, port) = host_and_port(host)?;
    let said = |option: &str| custom.variable(option, environment);
    let or = |given: String, option: &str| {
        Some(given).filter(|given| !given.is_empty()).or_else(|| said(option))
    };
    let name = custom.name;
    let user = or(decoded(user)?, "user").or_else(|| environment("USER"));
    let user =
        user.ok_or_else(|| format!("it names no user: write {name}://user@host/database"))?;
    let of_user = || if custom.database_of_user { user.clone() } else { String::new() };
    let database = or(decoded(database)?, "dbname").unwrap_or_else(of_user);
    let mut address = Address {
        scheme: name,
        place: Place::Host(String::new()),
        port: custom.port,
        password: or(decoded(password)?, "password").map(Secret),
        database,
        user,
        tls: tls(said("sslmode").as_deref().unwrap_or("prefer"))?,
        tls_at_once: negotiation(custom, &said("sslnegotiation").unwrap_or_default())?,
        root_certificates: said("sslrootcert").map(PathBuf::from),
        wait: Wait::default(),
        patience: said("connect_timeout").map_or(Ok(PATIENCE), |text| patience(&text))?,
        own: BTreeMap::new(),
    };
    let mut host = or(decoded(host)?, "host").unwrap_or_default();
    let mut port = or(port.to_owned(), "port").unwrap_or_default();
    for (key, value) in options {
        match key.as_str() {
            "host" => host = value,
            "port" => port = value,
            "user" => address.user = value,
            "password" => address.password = Some(Secret(value)),
            "dbname" => address.database = value,
            "sslmode" => address.tls = tls(&value)?,
            "sslnegotiation" => address.tls_at_once = negotiation(custom, &value)?,
            "sslrootcert" => address.root_certificates = Some(value.into()),
            "connect_timeout" => address.patience = patience(&value)?,
            "wait" => address.wait = wait(&value)?,
            _ if (custom.own_option)(&key, &value)? => drop(address.own.insert(key, value)),
            _ => {
                return Err(format!(
                    "'{key}' is not known; known: host, port, user, password, dbname, sslmode, \
                     sslnegotiation, sslrootcert, connect_timeout, wait"
                ));
            }
        }
    }
    if !port.is_empty() {
        address.port = port.parse().map_err(|_| format!("'{port}' is no port"))?;
    }
    if address.tls_at_once.is_some() && address.tls < Tls::Require {
        return Err(
            "sslnegotiation=direct starts with TLS: use it with sslmode=require or stricter"
                .to_owned(),
        );
    }
    address.place = match host.as_str() {
        "" => Place::Unix((custom.socket)()),
        host if host.starts_with('/') => Place::Unix(host.into()),
        host => Place::Host(host.to_owned()),
    };
    if address.password.is_none() {
        address.password = (custom.password)(&address, environment);
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

fn options_of(text: &str) -> Result<Vec<(String, String)>, String> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (key, value) =
            pair.split_once('=').ok_or_else(|| format!("'{pair}' has no '=': write key=value"))?;
        Ok((decoded(key)?, decoded(value)?))
    });
    pairs.collect()
}

/// Percent-decodes: `%40` is `@`.
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

const TLS_MODES: [(&str, Tls); 6] = [
    ("disable", Tls::Disable),
    ("prefer", Tls::Prefer),
    ("allow", Tls::Prefer),
    ("require", Tls::Require),
    ("verify-ca", Tls::VerifyCa),
    ("verify-full", Tls::VerifyFull),
];

fn tls(text: &str) -> Result<Tls, String> {
    let named = TLS_MODES.iter().find(|(name, _)| *name == text).map(|(_, tls)| *tls);
    named.ok_or_else(|| {
        format!("sslmode={text}: disable, prefer, require, verify-ca and verify-full are known")
    })
}

const AT_ONCE: &str = "direct";

fn negotiation(custom: &Custom, text: &str) -> Result<Option<&'static str>, String> {
    match (text, custom.tls_at_once) {
        ("" | "postgres", _) => Ok(None),
        (AT_ONCE, Some(protocol)) => Ok(Some(protocol)),
        (AT_ONCE, None) => Err(format!("{} has no TLS without asking for it first", custom.name)),
        _ => Err(format!("sslnegotiation={text}: postgres and direct are known")),
    }
}

fn patience(text: &str) -> Result<Duration, String> {
    let seconds: i64 =
        text.parse().map_err(|_| format!("connect_timeout={text}: write whole seconds"))?;
    // As in libpq, zero or less is no limit.
    Ok(u64::try_from(seconds).ok().filter(|s| *s > 0).map_or(DAY, Duration::from_secs))
}

fn wait(text: &str) -> Result<Wait, String> {
    match text {
        "poll" => Ok(Wait::Poll),
        "recv" => Ok(Wait::Receive),
        _ => Err(format!("wait={text}: poll and recv are known")),
    }
}

/// A URL without secrets.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, port, database) = (&self.user, self.port, &self.database);
        match &self.place {
            Place::Unix(socket) => {
                return write!(f, "//{user}@/{database}?host={}&port={port}", socket.display());
            }
            Place::Host(host) if host.contains(':') => {
                write!(f, "//{user}@[{host}]:{port}/{database}")?;
            }
            Place::Host(host) => write!(f, "//{user}@{host}:{port}/{database}")?,
        }
        // `hopcost restore` must check the same certificate.
        let mode = TLS_MODES.iter().find(|(_, tls)| *tls == self.tls && *tls != Tls::Prefer);
        let mode = mode.map(|(name, _)| format!("sslmode={name}"));
        let at_once = self.tls_at_once.map(|_| format!("sslnegotiation={AT_ONCE}"));
        let root = self.root_certificates.iter();
        let root = root.map(|file| format!("sslrootcert={}", file.display()));
        let own = self.own.iter().map(|(key, value)| format!("{key}={value}"));
        for (n, option) in mode.into_iter().chain(at_once).chain(root).chain(own).enumerate() {
            write!(f, "{}{option}", if n == 0 { '?' } else { '&' })?;
        }
        Ok(())
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
