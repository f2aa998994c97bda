//! The network between hopcost and a server on another host: part of each call, and not measured.

use std::net::{IpAddr, TcpListener, ToSocketAddrs};

/// `None` if the server of this URL is on this host.
pub fn unmeasured(url: &str) -> Option<String> {
    let host = host_of(url)?;
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

/// Of `postgres://user@host:5432/database`; `None` for a Unix socket.
fn host_of(url: &str) -> Option<&str> {
    let place = url.split_once("://")?.1.split(['/', '?']).next()?;
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    let host = match place.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?.0,
        None => place.rsplit_once(':').map_or(place, |(host, _)| host),
    };
    (!host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_url_is_found() {
        for (url, host) in [
            ("postgres://me@db2:5432/test", Some("db2")),
            ("mysql://me@10.0.0.5:3306/test?sslmode=require", Some("10.0.0.5")),
            ("postgres://me@[fe80::1]:5432/test", Some("fe80::1")),
            ("postgres://me@/test?host=/run/postgresql", None),
            ("postgres:managed", None),
            ("sqlite:", None),
        ] {
            assert_eq!(host_of(url), host, "{url}");
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
