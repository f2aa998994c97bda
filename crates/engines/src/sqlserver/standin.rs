//! Who stands in for SQL Server where none can be had: it speaks TDS over loopback, and keeps what hopcost has
//! changed of it. What is tried here is hopcost, and nothing of SQL Server.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::packet::{self, HEAD, LAST, Packets, kind, narrow, put_wide};
use super::tokens::token;
use super::types::code;
use crate::server::input::Framing;

/// A server's answers are packets of this kind.
const ANSWER: u8 = 0x04;
const COUNTED: u16 = 0x10;
const NO_PERMISSION: i32 = 300;
const LOGIN_FAILED: i32 = 18456;
const IN_USE: i32 = 3702;
/// To what it is bound at first: nothing that a machine's first node would be.
pub const BOUND: &str = "0,1,2,63";

/// What it is, and what has become of it.
pub struct State {
    pub version: &'static str,
    /// As SERVERPROPERTY('EngineEdition') has it.
    pub engine: u32,
    pub may_look: bool,
    /// To what it is bound.
    pub affinity: String,
    /// Our database, and the lines of its mark.
    pub database: Option<Vec<String>>,
    /// A connection that says this is cut once it is carried out.
    pub cut_at: Option<&'static str>,
    /// The first who begins so is told that it cannot be.
    pub refuses: Option<&'static str>,
    /// Nobody is let in.
    pub is_down: bool,
    /// The connection that holds the lock.
    pub locked_by: Option<u32>,
    /// The audit, the event session and SQL Trace, where they are there: are they on?
    pub audits: [Option<bool>; 3],
    /// Calls that were written down by each of them, by session.
    pub written: [BTreeMap<u32, u64>; 3],
    /// So many calls are not written down.
    pub forgets: u64,
    /// The CPUs on which it writes its log.
    pub log_writers: Vec<u32>,
    /// Look-ups, near and far, which grow with each look.
    pub looked_up: [u64; 2],
    pub said: Vec<String>,
    /// What each client has sent since it was let in, byte by byte.
    pub sent: BTreeMap<u32, Vec<u8>>,
}

/// The server. It lasts as long as the test's process.
pub struct StandIn {
    port: u16,
    state: Arc<Mutex<State>>,
}

enum Reply {
    Rows(Vec<Vec<String>>),
    Done,
    Error(i32, &'static str),
}

impl StandIn {
    pub fn start() -> Self {
        Self::start_with(None)
    }

    /// One that speaks TLS from the first byte on, with this certificate and its key.
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
            database: None,
            cut_at: None,
            refuses: None,
            is_down: false,
            locked_by: None,
            audits: [None; 3],
            written: Default::default(),
            forgets: 0,
            log_writers: vec![0],
            looked_up: [0; 2],
            said: Vec::new(),
            sent: BTreeMap::new(),
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
                    // The lock is a session's.
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

    /// What follows `sqlserver:`.
    pub fn url(&self, user: &str) -> String {
        self.url_with(&format!("{user}:secret"), "sslmode=disable")
    }

    /// The same with more said of who asks, and how.
    pub fn url_with(&self, who: &str, options: &str) -> String {
        format!("//{who}@localhost:{}/?{options}", self.port)
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves one connection, to its end or until it is cut.
fn serve(mut client: impl Read + Write, number: u32, state: &Mutex<State>) -> Option<()> {
    loop {
        let (kind, message) = message(&mut client, number, state)?;
        if locked(state).is_down {
            return None;
        }
        let answer = match kind {
            // No encryption, after one option of five bytes and the end.
            kind::PRELOGIN => vec![1, 0, 6, 0, 1, 0xff, 2],
            // It is a user of the system's, who has to answer once more.
            kind::LOGIN if message.get(25)? & 0x80 != 0 => {
                let shown = [&[token::TICKET, 3, 0][..], b"and"].concat();
                [shown, done(0, 0)].concat()
            }
            kind::TICKET if message != b"more" => {
                Reply::Error(LOGIN_FAILED, "The login is from an untrusted domain.").tokens()
            }
            kind::LOGIN | kind::TICKET => let_in(&message),
            kind::BATCH => {
                let sql = narrow(message.get(22..)?);
                if asks_for_the_lock(&sql) {
                    wait_for_the_lock(state, number);
                }
                let reply = locked(state).answer(&sql, number);
                locked(state).said.push(sql.clone());
                let is_cut = locked(state).cut_at.is_some_and(|words| sql.contains(words));
                if is_cut {
                    return None;
                }
                reply.tokens()
            }
            // A statement's number, where one is compiled; else one row was changed.
            kind::CALL if message.get(24) == Some(&11) => {
                let mut value = vec![token::RETURN_VALUE, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
                value.extend_from_slice(&[code::INTEGER, 4, 4, 1, 0, 0, 0]);
                [value, done(0, 0)].concat()
            }
            _ => {
                locked(state).write_down(number);
                done(COUNTED, 1)
            }
        };
        let mut out = Vec::new();
        packet::put(&mut out, ANSWER, 4096, &answer);
        client.write_all(&out).ok()?;
    }
}

fn asks_for_the_lock(sql: &str) -> bool {
    sql.contains("sp_getapplock") && sql.starts_with("USE master")
}

/// A server lets whoever asks for a lock wait for it; this one not as long as it is asked to.
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
            // Who logs in says its process and its host.
            if matches!(head[0], kind::BATCH | kind::CALL | kind::BULK) {
                locked(state).sent.entry(number).or_default().append(&mut raw);
            }
            return Some((head[0], message));
        }
    }
}

fn let_in(login: &[u8]) -> Vec<u8> {
    let mut nobody = Vec::new();
    put_wide(&mut nobody, "nobody");
    if login.windows(nobody.len()).any(|window| window == nobody) {
        return Reply::Error(LOGIN_FAILED, "Login failed for user 'nobody'.").tokens();
    }
    let mut body = vec![1, 4, 0, 0, 0x74, 20];
    put_wide(&mut body, "Microsoft SQL Server");
    body.extend_from_slice(&[16, 0, 0, 0]);
    let length = (body.len() as u16).to_le_bytes();
    [&[token::LOGIN_ACK][..], &length, &body, &done(0, 0)].concat()
}

fn done(state: u16, count: u64) -> Vec<u8> {
    [&[token::DONE][..], &state.to_le_bytes(), &[0; 2], &count.to_le_bytes()].concat()
}

impl Reply {
    fn row(values: &[&str]) -> Self {
        Self::Rows(vec![values.iter().map(|&value| value.to_owned()).collect()])
    }

    fn tokens(&self) -> Vec<u8> {
        match self {
            Self::Done => done(0, 0),
            Self::Error(number, words) => {
                let mut text = Vec::new();
                let units = put_wide(&mut text, words) as u16;
                let body =
                    [&number.to_le_bytes()[..], &[1, 14], &units.to_le_bytes(), &text, &[0; 6]];
                let body = body.concat();
                let length = (body.len() as u16).to_le_bytes();
                [&[token::ERROR][..], &length, &body, &done(2, 0)].concat()
            }
            Self::Rows(rows) => {
                let columns = rows.first().map_or(1, Vec::len);
                let mut out = vec![token::COLUMNS];
                out.extend_from_slice(&(columns as u16).to_le_bytes());
                for _ in 0..columns {
                    // Text of some length, without a name.
                    out.extend_from_slice(&[0; 6]);
                    out.extend_from_slice(&[code::NVARCHAR, 0x40, 0x1f, 0, 0, 0, 0, 0, 0]);
                }
                for value in rows.iter().flat_map(|row| {
                    [None].into_iter().chain(row.iter().map(Some)).collect::<Vec<_>>()
                }) {
                    let Some(value) = value else {
                        out.push(token::ROW);
                        continue;
                    };
                    let mut wide = Vec::new();
                    put_wide(&mut wide, value);
                    out.extend_from_slice(&(wide.len() as u16).to_le_bytes());
                    out.extend_from_slice(&wide);
                }
                [out, done(COUNTED, rows.len() as u64)].concat()
            }
        }
    }
}

impl State {
    /// What it says to a question, and does.
    fn answer(&mut self, sql: &str, number: u32) -> Reply {
        if self.refuses.take_if(|words| sql.starts_with(*words)).is_some() {
            return Reply::Error(IN_USE, "Cannot drop the database because it is in use.");
        }
        let is_of_server = sql.contains("dm_os_") || sql.contains("dm_exec_requests");
        if is_of_server && !self.may_look {
            let words = "VIEW SERVER PERFORMANCE STATE permission was denied on object 'server'";
            return Reply::Error(NO_PERMISSION, words);
        }
        let flag = |is_so: bool| Reply::row(&[if is_so { "1" } else { "0" }]);
        match () {
            () if sql.contains("ProductVersion") => {
                Reply::row(&[self.version, &number.to_string()])
            }
            () if sql.contains("'Edition'") => {
                Reply::row(&["Stand-in", &self.engine.to_string(), "here", "here"])
            }
            // It is a database's: everybody has to be in the same.
            () if asks_for_the_lock(sql) => {
                let by = *self.locked_by.get_or_insert(number);
                Reply::row(&[if by == number { "0" } else { "-1" }])
            }
            () if sql.contains("HAS_PERMS_BY_NAME") => flag(self.may_look),
            () if sql.contains("sys.databases") => flag(self.database.is_some()),
            () if sql.contains("INFORMATION_SCHEMA") => flag(self.database.is_some()),
            () if sql.contains("Buffer Node") => {
                self.looked_up = [self.looked_up[0] + 5, self.looked_up[1] + 95];
                let count = |side: &str, count: u64| {
                    vec!["000".to_owned(), side.to_owned(), count.to_string()]
                };
                let [near, far] = self.looked_up;
                Reply::Rows(vec![count("local", near), count("remote", far)])
            }
            () if sql.contains("dm_os_buffer_descriptors") => Reply::row(&["0", "1234"]),
            () if sql.contains("dm_os_sys_info") => self.bound_to(),
            () if sql.contains("'LOG WRITER'") => {
                Reply::Rows(self.log_writers.iter().map(|cpu| vec![cpu.to_string()]).collect())
            }
            () if sql.contains("dm_exec_requests AS r") => {
                Reply::row(&[self.affinity.split(',').next().unwrap_or_default()])
            }
            () if sql.contains("InstanceDefaultLogPath") => Reply::row(&["/var/opt/logs", "0A1B"]),
            () if sql.contains("fn_get_audit_file") => self.written_by(0, 1),
            () if sql.contains("fn_xe_file_target_read_file") => self.written_by(1, 2),
            () if sql.contains("fn_trace_gettable") => self.written_by(2, 2),
            () if sql.contains("COUNT(*) FROM sys.traces") => flag(self.audits[2] == Some(true)),
            () if sql.contains("sp_trace_create") => self.audit(2, "STATE = START"),
            () if sql.contains("sp_trace_setstatus") => self.audit(2, "STATE = STOP"),
            () if sql.contains("SELECT path FROM sys.traces") => Reply::row(&["a.trc"]),
            () if sql.contains("COUNT(*) FROM sys.dm_server_audit_status") => {
                let are_on = self.audits.iter().filter(|audit| **audit == Some(true)).count();
                Reply::row(&[&are_on.to_string()])
            }
            () if sql.contains("SELECT audit_file_path") => Reply::row(&["a.sqlaudit"]),
            () if sql.contains("EventFileTarget") => Reply::row(&["a.xel"]),
            () if sql.contains("SERVER AUDIT") => self.audit(0, sql),
            () if sql.contains("EVENT SESSION") => self.audit(1, sql),
            () if sql.contains("xp_delete_files") => {
                let files = [".sqlaudit", ".xel", ".trc"];
                let of = files.iter().position(|files| sql.contains(files)).unwrap_or_default();
                self.written[of].clear();
                Reply::Done
            }
            () => self.changed(sql),
        }
    }

    /// A call was made over the connection of this number.
    fn write_down(&mut self, number: u32) {
        let of = self.audits.iter().position(|audit| *audit == Some(true));
        if self.forgets > 0 {
            self.forgets -= 1;
        } else if let Some(of) = of {
            *self.written[of].entry(number).or_default() += 1;
        }
    }

    fn written_by(&self, of: usize, columns: usize) -> Reply {
        let row = |(session, calls): (&u32, &u64)| {
            [session.to_string()].into_iter().chain(vec![calls.to_string(); columns]).collect()
        };
        Reply::Rows(self.written[of].iter().map(row).collect())
    }

    fn audit(&mut self, of: usize, sql: &str) -> Reply {
        let does = |words: [&str; 2]| words.iter().any(|words| sql.contains(words));
        if sql.contains("DATABASE AUDIT SPECIFICATION") {
            // It goes with the database.
        } else if does(["DROP SERVER AUDIT", "DROP EVENT SESSION"]) {
            self.audits[of] = None;
        } else if does(["CREATE SERVER AUDIT", "CREATE EVENT SESSION"]) {
            self.audits[of] = Some(false);
        } else {
            let is_on = does(["STATE = ON", "STATE = START"]);
            // Each time it writes a file of its own.
            if is_on {
                self.written[of].clear();
            }
            self.audits[of] = Some(is_on);
        }
        Reply::Done
    }

    fn bound_to(&self) -> Reply {
        let rows = self.affinity.split(',').map(|cpu| {
            let kind = if cpu == "AUTO" { "AUTO" } else { "MANUAL" };
            vec![kind.to_owned(), if kind == "AUTO" { "0" } else { cpu }.to_owned()]
        });
        Reply::Rows(rows.collect())
    }

    fn changed(&mut self, sql: &str) -> Reply {
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
                return Reply::Rows(mark.iter().map(|line| vec![line.clone()]).collect());
            }
            if sql.starts_with("INSERT INTO") && sql.contains("made_by_hopcost") {
                mark.push(quoted());
            }
            if sql.starts_with("DELETE FROM") {
                let word = quoted();
                mark.retain(|line| !line.starts_with(word.trim_end_matches('%')));
            }
        }
        Reply::Done
    }
}
