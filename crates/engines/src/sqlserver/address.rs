//! SQL Server's connection options, named as for `sqlcmd`: from the URL and the environment.

use hopcost_core::{Code, NodeId, Reason};

use super::super::server::address::{self, Address, Asked, Custom, Environment, Place};

const USER: &str = "SQLCMDUSER";
const TRACE: &str = "trace";
const SQL_TRACE: &str = "sql-trace";
/// Prefix of an option that maps a node to a port: `node0=1500`.
const NODE: &str = "node";

const CUSTOM: Custom = Custom {
    name: "sqlserver",
    port: 1433,
    variables: &[
        ("user", USER),
        ("password", "SQLCMDPASSWORD"),
        ("host", "SQLCMDSERVER"),
        ("dbname", "SQLCMDDBNAME"),
    ],
    tls_at_once: Some("tds/8.0"),
    own_option,
    ..Custom::PLAIN
};

/// `nodeN=PORT` is a port that the administrator has mapped to a node.
fn own_option(key: &str, value: &str) -> Result<bool, String> {
    if key == TRACE && !["events", SQL_TRACE].contains(&value) {
        return Err(format!("{TRACE}={value}: events and {SQL_TRACE} are known"));
    }
    let Some(node) = key.strip_prefix(NODE) else { return Ok(key == TRACE) };
    if node.parse::<u32>().is_ok() && value.parse::<u16>().is_ok() {
        return Ok(true);
    }
    Err(format!("'{key}={value}' names no node and port: write node0=1500"))
}

pub fn port_of(address: &Address, node: NodeId) -> Option<u16> {
    address.own.get(&format!("{NODE}{node}"))?.parse().ok()
}

pub fn is_by_sql_trace(address: &Address) -> bool {
    address.own.get(TRACE).is_some_and(|tracer| tracer == SQL_TRACE)
}

pub fn read(rest: &str, environment: Environment<'_>) -> Result<Asked, Reason> {
    // Without a user, Kerberos is used, as in `sqlcmd`.
    let environment = |name: &str| environment(name).or_else(|| (name == USER).then(String::new));
    let mut asked = address::read(&CUSTOM, rest, &environment)?;
    let Asked::Running(address) = &mut asked else { return Ok(asked) };
    let refused = |words: &'static str| Err(Code::BadUrl.because(words));
    if address.user.is_empty() && address.password.is_some() {
        return refused("it names a password and no user: write sqlserver://user@host/");
    }
    match &address.place {
        Place::Unix(path) if path.as_os_str().is_empty() => {
            address.place = Place::Host("localhost".to_owned());
        }
        Place::Unix(_) => return refused("SQL Server listens on no Unix socket: name a host"),
        Place::Host(_) => {}
    }
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::super::super::server::address::Secret;
    use super::*;

    #[test]
    fn a_url_names_a_server_that_runs() {
        let environment = |name: &str| match name {
            "SQLCMDUSER" => Some("sa".to_owned()),
            "SQLCMDPASSWORD" => Some("x".to_owned()),
            _ => None,
        };
        let running = |rest: &str, environment: Environment<'_>| match read(rest, environment) {
            Ok(Asked::Running(address)) => Ok(*address),
            Ok(Asked::Managed(_)) => panic!("{rest} names a server that runs"),
            Err(reason) => Err(reason),
        };
        let address = running("///?node0=1500&node1=1501", &environment).unwrap();
        let ports = [0, 1, 2].map(|node| port_of(&address, NodeId(node)));
        assert_eq!(ports, [Some(1500), Some(1501), None]);
        assert_eq!((&address.place, address.port), (&Place::Host("localhost".to_owned()), 1433));
        assert_eq!((address.user.as_str(), address.database.as_str()), ("sa", ""));
        assert_eq!(address.password.as_ref().map(Secret::reveal), Some("x"));
        assert!(!format!("{address} {address:?}").contains('x'));
        let of_system = |name: &str| (name == "USER").then(|| "me".to_owned());
        let address = running("//h/", &of_system).unwrap();
        assert_eq!((address.user.as_str(), address.password.is_none()), ("", true));
        for (wrong, words) in [
            ("//u@/?host=/run", "socket"),
            ("//u@h/?node0=x", "node0=1500"),
            ("//u@h/?trace=all", "sql-trace"),
        ] {
            let said = running(wrong, &environment).unwrap_err();
            assert!(said.as_str().contains(words), "{said}");
        }
    }
}
