//! Finds a running database by its address, by the number of one of its processes, or by its kind.

use hopcost_core::{Code, Reason, TargetError, Whereabouts};
use hopcost_engines::{Address, console, postgres};
use hopcost_host::server_placement as host;
use hopcost_sys::{Root, topology};

#[derive(Debug)]
pub enum Asked {
    Address(Box<Address>),
    Here(host::Asked),
}

/// `postgres://user@host/database`, a process number, or the name of a kind of server.
pub fn read(target: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<Asked, Reason> {
    let Some((scheme @ ("postgres" | "postgresql"), rest)) = target.split_once(':') else {
        return host::read(target).map(Asked::Here);
    };
    match postgres::read(rest, environment) {
        Ok(hopcost_engines::Asked::Running(address)) => Ok(Asked::Address(address)),
        Ok(hopcost_engines::Asked::Managed(_)) => Err(Code::BadUrl.because(format!(
            "a server of hopcost's own runs as long as its experiment does: name its process, or write \
             {scheme}://user@host:port/database for another"
        ))),
        // The URL may hold a password: do not repeat it.
        Err(wrong) => Err(wrong.code().because(format!("{scheme}: {wrong}"))),
    }
}

pub fn find(asked: &Asked) -> Result<Whereabouts, TargetError> {
    let root = Root::live();
    let machine = topology::read(&root);
    match asked {
        Asked::Here(asked) => host::find(&root, &machine, asked).map_err(TargetError::NotHere),
        Asked::Address(address) => host::connected(&root, &machine, &mut *console(address)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_wrong_is_told_without_its_password() {
        for (target, code, words) in [
            ("postgres:managed", Code::BadUrl, "a server of hopcost's own"),
            ("postgres://u@h/d?bad=1", Code::BadUrl, "'bad' is not known"),
            ("postgres://u:secret@h:x/d", Code::BadUrl, "postgres: "),
            ("postgrez", Code::UnknownName, "PostgreSQL, MariaDB"),
        ] {
            let wrong = read(target, &|_| None).unwrap_err();
            assert_eq!(wrong.code(), code, "{target}: {wrong}");
            assert!(wrong.to_string().contains(words), "{target}: {wrong}");
            assert!(!wrong.to_string().contains("secret"), "{target}: {wrong}");
        }
    }
}
