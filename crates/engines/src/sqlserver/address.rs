//! Where a server is, and who asks, as SQL Server's own `sqlcmd` takes it: from a URL and the environment.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::super::server::address::{self, Address, Asked, Custom, Environment, Place, Secret};
use super::audit::Tracer;
use hopcost_core::{Code, Reason};

const USER: &str = "SQLCMDUSER";

/// What is SQL Server's own.
const CUSTOM: Custom = Custom {
    name: "sqlserver",
    port: 1433,
    variables: &[
        ("user", USER),
        ("password", "SQLCMDPASSWORD"),
        ("host", "SQLCMDSERVER"),
        ("dbname", "SQLCMDDBNAME"),
    ],
    socket: PathBuf::new,
    password: no_other_place,
    tls_at_once: Some("tds/8.0"),
    database_of_user: false,
    own_business: &[],
};

/// The ports that lead to nodes, where the administrator has mapped some.
pub type Ports = BTreeMap<u32, u16>;

/// What a URL says of this server alone: the ports that lead to nodes (`node0=1500`), and by what calls are traced
/// (`trace=sql-trace`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    pub ports: Ports,
    pub tracer: Tracer,
}

impl Own {
    /// As it was asked for.
    pub fn options(&self) -> Vec<String> {
        let ports = self.ports.iter().map(|(node, port)| format!("node{node}={port}"));
        let tracer = (self.tracer == Tracer::SqlTrace).then(|| format!("trace={SQL_TRACE}"));
        ports.chain(tracer).collect()
    }
}

const SQL_TRACE: &str = "sql-trace";

/// Reads the part of a URL after the name: where the server is, and what is its own.
pub fn read(rest: &str, environment: Environment<'_>) -> Result<(Address, Own), Reason> {
    let (front, options) = rest.split_once('?').unwrap_or((rest, ""));
    let mut own = Own::default();
    let mut others = Vec::new();
    for option in options.split('&').filter(|option| !option.is_empty()) {
        if let Some(tracer) = option.strip_prefix("trace=") {
            own.tracer = match tracer {
                "events" => Tracer::Events,
                SQL_TRACE => Tracer::SqlTrace,
                _ => {
                    let words = format!("{option}: events and {SQL_TRACE} are known");
                    return Err(Code::BadUrl.because(words));
                }
            };
            continue;
        }
        let node = option.strip_prefix("node").and_then(|rest| rest.split_once('='));
        match node.map(|(node, port)| (node.parse(), port.parse())) {
            Some((Ok(node), Ok(port))) => drop(own.ports.insert(node, port)),
            Some(_) => {
                let words = format!("'{option}' names no node and port: write node0=1500");
                return Err(Code::BadUrl.because(words));
            }
            None => others.push(option),
        }
    }
    let rest = match others.as_slice() {
        [] => front.to_owned(),
        others => format!("{front}?{}", others.join("&")),
    };
    // Who names no user is one of the system's, as to `sqlcmd`.
    let environment = |name: &str| match environment(name) {
        None if name == USER => Some(String::new()),
        found => found,
    };
    let Asked::Running(address) = address::read(&CUSTOM, &rest, &environment)? else {
        let words = "hopcost starts no SQL Server of its own: write sqlserver://user@host/ for one that runs";
        return Err(Code::BadUrl.because(words));
    };
    if address.user.is_empty() && address.password.is_some() {
        return Err(
            Code::BadUrl.because("it names a password and no user: write sqlserver://user@host/")
        );
    }
    let place = match address.place {
        Place::Unix(path) if path.as_os_str().is_empty() => Place::Host("localhost".to_owned()),
        Place::Unix(_) => {
            return Err(Code::BadUrl.because("SQL Server listens on no Unix socket: name a host"));
        }
        place @ Place::Host(_) => place,
    };
    Ok((Address { place, ..*address }, own))
}

fn no_other_place(_: &Address, _: Environment<'_>) -> Option<Secret> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_server_that_runs() {
        let environment = |name: &str| match name {
            "SQLCMDUSER" => Some("sa".to_owned()),
            "SQLCMDPASSWORD" => Some("x".to_owned()),
            _ => None,
        };
        let (address, own) = read("///?node0=1500&node1=1501", &environment).unwrap();
        assert_eq!(own.ports, Ports::from([(0, 1500), (1, 1501)]));
        assert_eq!((&address.place, address.port), (&Place::Host("localhost".to_owned()), 1433));
        assert_eq!((address.user.as_str(), address.database.as_str()), ("sa", ""));
        assert_eq!(address.password.as_ref().map(Secret::reveal), Some("x"));
        assert!(!format!("{address} {address:?}").contains('x'));
        let (address, _) = read("//h/", &|name| (name == "USER").then(|| "me".to_owned())).unwrap();
        assert_eq!((address.user.as_str(), address.password.is_none()), ("", true));
        for (wrong, words) in [
            ("managed", "no SQL Server of its own"),
            ("//u@/?host=/run", "socket"),
            ("//u@h/?node0=x", "node0=1500"),
            ("//u@h/?trace=all", "sql-trace"),
        ] {
            let said = read(wrong, &environment).unwrap_err();
            assert!(said.as_str().contains(words), "{said}");
        }
    }
}
