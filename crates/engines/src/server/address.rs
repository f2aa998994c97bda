//! Where a server is, and who asks: from a URL, and from what its own programs look at beside.
//!
//! Method: the URL is read the same way for every kind of server; what differs from one to another stands
//! in its [`Custom`].
//!
//! A password is held in memory alone, and has no way into words: [`Secret`] prints nothing of itself.

use hopcost_core::{Code, Reason};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Something that must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

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
    /// What it calls its Unix socket by: PostgreSQL's directory, MySQL's file.
    Unix(PathBuf),
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
    /// The name that its URL begins with.
    pub scheme: &'static str,
    /// Where.
    pub place: Place,
    /// Its port; it is part of the Unix socket's name, too.
    pub port: u16,
    pub user: String,
    /// The password, where one is known.
    pub password: Option<Secret>,
    pub database: String,
    /// How much TLS is wanted.
    pub tls: Tls,
    /// Is it spoken from the first byte on, without asking? The protocol's name there.
    pub tls_at_once: Option<&'static str>,
    /// The certificates of the authorities that are trusted.
    pub root_certificates: Option<PathBuf>,
    /// How answers are waited for.
    pub wait: Wait,
    /// How long it may take to be let in.
    pub patience: Duration,
    /// Options of this kind's own.
    pub own: BTreeMap<String, String>,
}

const DAY: Duration = Duration::from_hours(24);
/// How long it may take to be let in, where nothing else is said.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The variables of an environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What differs from one kind of server to another.
pub struct Custom {
    /// Its name in URLs.
    pub name: &'static str,
    /// Where it listens, unless told otherwise.
    pub port: u16,
    /// The variables in which its own programs find what a URL does not say, by the option that does.
    pub variables: &'static [(&'static str, &'static str)],
    /// The Unix socket that its own programs try where no host is named.
    pub socket: fn() -> PathBuf,
    /// The password of whoever is meant, from where its own programs have it.
    pub password: fn(&Address, Environment<'_>) -> Option<Secret>,
    /// What its protocol is called where TLS is spoken from the first byte on, if it can be.
    pub tls_at_once: Option<&'static str>,
    /// Is the database called like the user, where none is named?
    pub database_of_user: bool,
    /// Is this an option of its own, and a value that it takes?
    pub own_option: fn(&str, &str) -> Result<bool, String>,
    /// Settings by which a server of ours is placed or named.
    pub own_business: &'static [&'static str],
}

impl Custom {
    /// Of what listens on a port, and has nothing of its own.
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

/// What its name is followed by.
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

/// Does the part of a URL after the name, right or wrong, name a server that runs?
pub fn is_of_running(rest: &str) -> bool {
    rest.starts_with("//")
}

/// Reads the part of a URL after the name.
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
            // What places or names the server is not for others to say.
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
            "sslnegotiation=direct asks nobody: say sslmode=require or more, too".to_owned()
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

/// What each is called in a URL.
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

/// What TLS at once is called in a URL, by PostgreSQL's own word for it.
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

/// A URL that says where, and nothing secret.
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
        // Who comes again is to look at the same certificate.
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
