//! Where an existing server is. Between hopcost and one on another host is a network, which is part
//! of each call and not measured.

use std::net::{IpAddr, TcpListener, ToSocketAddrs};

use hopcost_host::service;
use hopcost_sys::Root;

/// The systemd unit of an existing server on this host.
pub fn unit(url: &str) -> Option<String> {
    let (kind, _) = url.split_once("://")?;
    if unmeasured(url).is_some() {
        return None;
    }
    let port = address_of(url).and_then(|(_, port)| port);
    service::unit(&Root::live(), kind, port)
}

/// `None` if the server of this URL is on this host.
pub fn unmeasured(url: &str) -> Option<String> {
    let (host, _) = address_of(url)?;
    // Only an address of this host can be listened on.
    let is_ours = |address: IpAddr| TcpListener::bind((address, 0)).is_ok();
    let mut addresses = (host, 0).to_socket_addrs().ok().into_iter().flatten();
    let is_here = addresses.any(|address| is_ours(address.ip()));
    (!is_here).then(|| {
        format!(
            "the network between this host and {host} was not measured; it is part of each response time"
        )
    })
}

/// Host and port of `postgres://user@host:5432/database`; `None` for a Unix socket.
fn address_of(url: &str) -> Option<(&str, Option<u16>)> {
    let place = url.split_once("://")?.1.split(['/', '?']).next()?;
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    let (host, port) = match place.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?,
        None => place.split_at(place.rfind(':').unwrap_or(place.len())),
    };
    let port = port.strip_prefix(':').and_then(|port| port.parse().ok());
    (!host.is_empty()).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_in_a_url_is_found() {
        for (url, address) in [
            ("postgres://me@db2:5432/test", Some(("db2", Some(5432)))),
            ("mysql://me@10.0.0.5:3306/test?sslmode=require", Some(("10.0.0.5", Some(3306)))),
            ("postgres://me@[fe80::1]:5432/test", Some(("fe80::1", Some(5432)))),
            ("mariadb://db2/test", Some(("db2", None))),
            ("postgres://me@/test?host=/run/postgresql", None),
            ("postgres:managed", None),
            ("sqlite:", None),
        ] {
            assert_eq!(address_of(url), address, "{url}");
        }
    }

    #[test]
    fn the_network_is_named_only_of_a_server_elsewhere() {
        for here in ["postgres://me@localhost:1/d", "postgres://me@127.0.0.1:1/d", "sqlite:"] {
            assert_eq!(unmeasured(here), None, "{here}");
        }
        // Reserved for documentation: no host has it.
        let told = unmeasured("postgres://me@192.0.2.7:5432/d").unwrap();
        assert!(told.starts_with("the network between this host and 192.0.2.7 was not"), "{told}");
    }
}
