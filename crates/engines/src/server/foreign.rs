//! Fuzz tests of the protocols: malformed input causes no panic, no hang and no large allocation.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use hopcost_core::{Statement, TargetError, VariantSettings};
use hopcost_sys::clock;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::address::{Address, Place, Secret, Tls, Wait};
use super::copy::Asked;
use super::dialect::Call;
use super::wire::Wire;

#[derive(Clone, Debug)]
enum Change {
    Byte(Index, u8),
    Number(Index, u32),
    Cut(Index),
    Twice(Index, Index),
}

fn change() -> impl Strategy<Value = Change> {
    let numbers = prop_oneof![Just(0), Just(1), Just(u32::MAX), Just(1 << 31), any::<u32>()];
    prop_oneof![
        4 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        3 => (any::<Index>(), numbers).prop_map(|(at, number)| Change::Number(at, number)),
        1 => any::<Index>().prop_map(Change::Cut),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Change::Twice(from, to)),
    ]
}

fn changed(told: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = told.to_vec();
    for change in changes.iter().filter(|_| told.len() > 4) {
        let length = bytes.len().max(5);
        bytes.resize(length, 0);
        match change {
            Change::Byte(at, byte) => bytes[at.index(length)] = *byte,
            Change::Number(at, number) => {
                let at = at.index(length - 3);
                bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
            }
            Change::Cut(at) => bytes.truncate(at.index(length)),
            Change::Twice(from, to) => {
                let (from, to) = (from.index(length), to.index(length));
                let piece = bytes[from.min(to)..from.max(to)].to_vec();
                bytes.splice(to..to, piece);
            }
        }
    }
    bytes
}

pub fn address(socket: &Path, patience: Duration) -> Address {
    Address {
        scheme: "test",
        place: Place::Unix(socket.to_owned()),
        port: 1,
        user: "me".to_owned(),
        password: Some(Secret::from("secret".to_owned())),
        database: "d".to_owned(),
        tls: Tls::Disable,
        tls_at_once: None,
        root_certificates: None,
        wait: Wait::Receive,
        patience,
        own: BTreeMap::new(),
    }
}

pub const STATEMENT: Statement = Statement {
    name: "one",
    sql: "SELECT a, b FROM t WHERE id = ?",
    arguments: 1,
    recompile: false,
    script: None,
};

pub fn asked(variant: &VariantSettings) -> Asked<'_> {
    let at = variant.of_stream(0, 0);
    Asked { statements: &[STATEMENT], dataset: None, variant, at, filler: None }
}

pub fn call<W, C: Call<W>>(wire: &mut W, call: Result<C, TargetError>) {
    if let Ok(mut call) = call
        && call.begin(wire, &[7; 4], None).is_ok()
    {
        let _ = call.go_on(wire, None);
    }
}

/// Talks to a server that sends `told` at once, changed at random, on this socket file.
pub fn withstands<W: Wire>(socket: &str, told: &[u8], talk: impl Fn(&mut W)) {
    let dir = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(dir.path().join(socket)).unwrap();
    let named =
        if socket.starts_with('.') { dir.path().to_owned() } else { dir.path().join(socket) };
    let address = address(&named, Duration::from_millis(200));
    let meet = |told: Vec<u8>| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut client, _) = listener.accept().unwrap();
                let _ = client.write_all(&told);
                let _ = client.shutdown(Shutdown::Write);
                let _ = client.read_to_end(&mut Vec::new());
            });
            let mut wire = W::connect(&address).ok()?;
            talk(&mut wire);
            Some(())
        })
    };
    assert!(meet(told.to_vec()).is_some(), "what is not changed lets us in");
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() };
    proptest!(config, |(changes in vec(change(), 1..4))| {
        meet(changed(told, &changes));
    });
}

/// A server that sends garbage or nothing is given up within the time limit.
pub fn gives_up<W: Wire>(socket: &str, told: &'static [u8]) {
    const PATIENCE: Duration = Duration::from_millis(300);
    const DRIP: Duration = Duration::from_millis(50);
    for (piece, pause) in [(0, DRIP), (1, DRIP), (1 << 16, Duration::ZERO)] {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join(socket)).unwrap();
        let named =
            if socket.starts_with('.') { dir.path().to_owned() } else { dir.path().join(socket) };
        std::thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    // Nothing, or the first bytes repeated: one at a time, or without a pause.
                    let mut words = told.iter().cycle();
                    loop {
                        let words: Vec<u8> = words.by_ref().take(piece).copied().collect();
                        if client.write_all(&words).is_err() {
                            return;
                        }
                        std::thread::sleep(pause);
                    }
                });
            }
        });
        let begun = clock::now();
        let refused = W::connect(&address(&named, PATIENCE)).err();
        assert!(refused.is_some(), "it let us in");
        assert!(begun.elapsed() < 10 * PATIENCE, "{:?}: pieces of {piece}", begun.elapsed());
    }
}
