//! A fake SQL Server that tests hopcost: speaks TDS over loopback, and keeps what hopcost changes.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::super::server::input::Framing;
use super::answers::{done, error, let_in, not_encrypted, packets, part, returned, rows};
use super::packet::{HEAD, LAST, Packets, kind, narrow, wide};
use super::tokens::token;

const NO_PERMISSION: i32 = 300;
const LOGIN_FAILED: i32 = 18456;
const IN_USE: i32 = 3702;
/// The initial affinity: unlike the CPUs of any machine's first node.
pub const BOUND: &str = "0,1,2,63";

#[derive(Default)]
pub struct State {
    pub version: &'static str,
    pub engine: u32,
    pub may_look: bool,
    pub affinity: String,
    pub database: Option<Vec<String>>,
    /// Cuts the connection after it has run a statement with this text.
    pub cut_at: Option<&'static str>,
    pub refuses: Option<&'static str>,
    pub is_down: bool,
    pub locked_by: Option<u32>,
    /// Is it on? Audit, event session and SQL Trace; `None` when not set up.
    pub audits: [Option<bool>; 3],
    /// Logged calls by session, for each of the three.
    pub written: [BTreeMap<u32, u64>; 3],
    pub forgets: u64,
    pub log_writers: Vec<u32>,
    /// Near and far; both grow with each reading.
    pub looked_up: [u64; 2],
    pub said: Vec<String>,
    pub sent: BTreeMap<u32, Vec<u8>>,
}

/// Lasts as long as the test's process.
pub struct StandIn {
    port: u16,
    state: Arc<Mutex<State>>,
}

/// Rows, or an error's number and text. Without rows no columns are sent.
type Reply = Result<Vec<Vec<String>>, (i32, &'static str)>;

fn tokens(reply: Reply) -> Vec<u8> {
    match reply {
        Ok(none) if none.is_empty() => done(None),
        Ok(all) => [rows(&all), done(Some(all.len() as u64))].concat(),
        Err((number, words)) => [error(number, words), done(None)].concat(),
    }
}

fn row<T: ToString>(values: impl IntoIterator<Item = T>) -> Vec<String> {
    values.into_iter().map(|value| value.to_string()).collect()
}

impl StandIn {
    pub fn start() -> Self {
        Self::start_with(None)
    }

    pub fn within_tls(certificate: &Path) -> Self {
        let file = |name| certificate.join(name);
        let chain = vec![CertificateDer::from_pem_file(file("server.crt")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let mut config = config.with_single_cert(chain, key).unwrap();
        config.alpn_protocols = vec![b"tds/8.0".to_vec()];
        Self::start_with(Some(Arc::new(config)))
    }

    fn start_with(tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State {
            version: "16.0.4135.4",
            engine: 3,
            may_look: true,
            affinity: BOUND.to_owned(),
            log_writers: vec![0],
            ..State::default()
        }));
        let of_all = Arc::clone(&state);
        std::thread::spawn(move || {
            for (number, client) in listener.incoming().flatten().enumerate() {
                let (state, number) = (Arc::clone(&of_all), number as u32);
                let tls = tls.clone().map(|tls| ServerConnection::new(tls).unwrap());
                std::thread::spawn(move || {
                    match tls {
                        Some(tls) => serve(StreamOwned::new(tls, client), number, &state),
                        None => serve(client, number, &state),
                    };
                    let mut state = locked(&state);
                    state.locked_by = state.locked_by.filter(|by| *by != number);
                });
            }
        });
        Self { port, state }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    pub fn url(&self, user: &str) -> String {
        self.url_with(&format!("{user}:secret"), "sslmode=disable")
    }

    pub fn url_with(&self, who: &str, options: &str) -> String {
        format!("//{who}@localhost:{}/?{options}", self.port)
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut client: impl Read + Write, number: u32, state: &Mutex<State>) -> Option<()> {
    loop {
        let (kind, message) = message(&mut client, number, state)?;
        if locked(state).is_down {
            return None;
        }
        let answer = match kind {
            kind::PRELOGIN => not_encrypted(),
            // Integrated security: asks for one more token.
            kind::LOGIN if message.get(25)? & 0x80 != 0 => {
                [part(token::TICKET, &[b"and"]), done(None)].concat()
            }
            kind::TICKET if message != b"more" => {
                tokens(Err((LOGIN_FAILED, "The login is from an untrusted domain.")))
            }
            kind::LOGIN if message.windows(12).any(|window| window == wide("nobody")) => {
                tokens(Err((LOGIN_FAILED, "Login failed for user 'nobody'.")))
            }
            kind::LOGIN | kind::TICKET => [let_in("Microsoft SQL Server"), done(None)].concat(),
            kind::BATCH => {
                let sql = narrow(message.get(22..)?);
                if asks_for_the_lock(&sql) {
                    wait_for_the_lock(state, number);
                }
                let mut state = locked(state);
                let reply = state.answer(&sql, number);
                let is_cut = state.cut_at.is_some_and(|words| sql.contains(words));
                state.said.push(sql);
                if is_cut {
                    return None;
                }
                tokens(reply)
            }
            // `sp_prepare` returns a handle; any other call changes one row.
            kind::CALL if message.get(24) == Some(&11) => [returned(1), done(None)].concat(),
            _ => {
                locked(state).write_down(number);
                done(Some(1))
            }
        };
        client.write_all(&packets(&[answer])).ok()?;
    }
}

fn asks_for_the_lock(sql: &str) -> bool {
    sql.contains("sp_getapplock") && sql.starts_with("USE master")
}

/// Unlike a real server, waits at most 2 s.
fn wait_for_the_lock(state: &Mutex<State>, number: u32) {
    for _ in 0..200 {
        if locked(state).locked_by.is_none_or(|by| by == number) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn message(client: &mut impl Read, number: u32, state: &Mutex<State>) -> Option<(u8, Vec<u8>)> {
    let mut raw = Vec::new();
    let mut message = Vec::new();
    loop {
        let mut head = [0; HEAD];
        client.read_exact(&mut head).ok()?;
        raw.extend_from_slice(&head);
        let (status, length) = Packets::read(&head);
        let start = message.len();
        message.resize(start + length, 0);
        client.read_exact(&mut message[start..]).ok()?;
        raw.extend_from_slice(&message[start..]);
        if status & LAST != 0 {
            // Logins contain process and host, and would not repeat.
            if matches!(head[0], kind::BATCH | kind::CALL | kind::BULK) {
                locked(state).sent.entry(number).or_default().append(&mut raw);
            }
            return Some((head[0], message));
        }
    }
}

impl State {
    fn answer(&mut self, sql: &str, number: u32) -> Reply {
        if self.refuses.take_if(|words| sql.starts_with(*words)).is_some() {
            return Err((IN_USE, "Cannot drop the database because it is in use."));
        }
        let says = |words: &str| sql.contains(words);
        if !self.may_look && (says("dm_os_") || says("dm_exec_requests")) {
            let words = "VIEW SERVER PERFORMANCE STATE permission was denied on object 'server'";
            return Err((NO_PERMISSION, words));
        }
        let flag = |is_so: bool| row([u8::from(is_so)]);
        Ok(match () {
            () if says("ProductVersion") => vec![row([self.version, &number.to_string()])],
            () if says("'Edition'") => {
                vec![row(["Stand-in", &self.engine.to_string(), "here", "here"])]
            }
            // Locks belong to a database: all clients have to use the same one.
            () if asks_for_the_lock(sql) => {
                let by = *self.locked_by.get_or_insert(number);
                vec![row([if by == number { 0 } else { -1 }])]
            }
            () if says("HAS_PERMS_BY_NAME") => vec![flag(self.may_look)],
            () if says("sys.databases") || says("INFORMATION_SCHEMA") => {
                vec![flag(self.database.is_some())]
            }
            () if says("Buffer Node") => {
                let [near, far] = &mut self.looked_up;
                (*near, *far) = (*near + 5, *far + 95);
                vec![
                    row(["000", "local", &near.to_string()]),
                    row(["000", "remote", &far.to_string()]),
                ]
            }
            () if says("dm_os_buffer_descriptors") => vec![row([0, 1234])],
            () if says("dm_os_sys_info") => self.bound_to(),
            () if says("'LOG WRITER'") => self.log_writers.iter().map(|cpu| row([cpu])).collect(),
            () if says("dm_exec_requests AS r") => vec![row(self.affinity.split(',').take(1))],
            () if says("InstanceDefaultLogPath") => vec![row(["/var/opt/logs", "0A1B"])],
            () if says("fn_get_audit_file") => self.written_by(0, 1),
            () if says("fn_xe_file_target_read_file") => self.written_by(1, 2),
            () if says("fn_trace_gettable") => self.written_by(2, 2),
            () if says("COUNT(*) FROM sys.traces") => vec![flag(self.audits[2] == Some(true))],
            () if says("sp_trace_create") => self.audit(2, "STATE = START"),
            () if says("sp_trace_setstatus") => self.audit(2, "STATE = STOP"),
            () if says("SELECT path FROM sys.traces") => vec![row(["a.trc"])],
            () if says("COUNT(*) FROM sys.dm_server_audit_status") => {
                vec![row([self.audits.iter().filter(|audit| **audit == Some(true)).count()])]
            }
            () if says("SELECT audit_file_path") => vec![row(["a.sqlaudit"])],
            () if says("EventFileTarget") => vec![row(["a.xel"])],
            () if says("SERVER AUDIT") => self.audit(0, sql),
            () if says("EVENT SESSION") => self.audit(1, sql),
            () if says("xp_delete_files") => {
                let of = [".sqlaudit", ".xel", ".trc"].into_iter().position(says);
                self.written[of.unwrap_or_default()].clear();
                Vec::new()
            }
            () => self.changed(sql),
        })
    }

    fn write_down(&mut self, number: u32) {
        let of = self.audits.iter().position(|audit| *audit == Some(true));
        if self.forgets > 0 {
            self.forgets -= 1;
        } else if let Some(of) = of {
            *self.written[of].entry(number).or_default() += 1;
        }
    }

    fn written_by(&self, of: usize, columns: usize) -> Vec<Vec<String>> {
        let of_session = |(session, calls): (&u32, &u64)| {
            row([u64::from(*session)].into_iter().chain(vec![*calls; columns]))
        };
        self.written[of].iter().map(of_session).collect()
    }

    fn audit(&mut self, of: usize, sql: &str) -> Vec<Vec<String>> {
        let does = |words: [&str; 2]| words.iter().any(|words| sql.contains(words));
        if sql.contains("DATABASE AUDIT SPECIFICATION") {
            // It goes with the database.
        } else if does(["DROP SERVER AUDIT", "DROP EVENT SESSION"]) {
            self.audits[of] = None;
        } else if does(["CREATE SERVER AUDIT", "CREATE EVENT SESSION"]) {
            self.audits[of] = Some(false);
        } else {
            let is_on = does(["STATE = ON", "STATE = START"]);
            // Each start writes a new file.
            if is_on {
                self.written[of].clear();
            }
            self.audits[of] = Some(is_on);
        }
        Vec::new()
    }

    fn bound_to(&self) -> Vec<Vec<String>> {
        let of_cpu = |cpu| if cpu == "AUTO" { row(["AUTO", "0"]) } else { row(["MANUAL", cpu]) };
        self.affinity.split(',').map(of_cpu).collect()
    }

    fn changed(&mut self, sql: &str) -> Vec<Vec<String>> {
        let quoted = || sql.split('\'').nth(1).unwrap_or_default().to_owned();
        if let Some(cpus) =
            sql.strip_prefix("ALTER SERVER CONFIGURATION SET PROCESS AFFINITY CPU = ")
        {
            self.affinity = cpus.trim().to_owned();
        } else if sql.starts_with("CREATE DATABASE") {
            self.database = Some(Vec::new());
        } else if sql.starts_with("DROP DATABASE") {
            self.database = None;
        } else if let Some(mark) = &mut self.database {
            if sql.starts_with("SELECT content") {
                return mark.iter().map(|line| row([line])).collect();
            }
            if sql.starts_with("INSERT INTO") && sql.contains("made_by_hopcost") {
                mark.push(quoted());
            }
            if sql.starts_with("DELETE FROM") {
                let word = quoted();
                mark.retain(|line| !line.starts_with(word.trim_end_matches('%')));
            }
        }
        Vec::new()
    }
}
