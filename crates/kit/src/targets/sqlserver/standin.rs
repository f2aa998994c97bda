//! Who stands in for SQL Server where none can be had: it speaks TDS over loopback, and keeps what hopcost has
//! changed of it. What is tried here is hopcost, and nothing of SQL Server.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::packet::{self, HEAD, LAST, Packets, kind, narrow, put_wide};
use super::tokens::token;
use super::types::code;
use crate::targets::remote::input::Framing;

/// A server's answers are packets of this kind.
const ANSWER: u8 = 0x04;
const COUNTED: u16 = 0x10;
const NO_PERMISSION: i32 = 300;
const LOGIN_FAILED: i32 = 18456;
const IN_USE: i32 = 3702;
/// To what it is bound at first: nothing that a machine's first node would be.
const BOUND: &str = "0,1,2,63";

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
    /// Look-ups, near and far, which grow with each look.
    pub looked_up: [u64; 2],
    pub said: Vec<String>,
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
            looked_up: [0; 2],
            said: Vec::new(),
        }));
        let of_all = Arc::clone(&state);
        std::thread::spawn(move || {
            for (number, client) in listener.incoming().flatten().enumerate() {
                let (state, number) = (Arc::clone(&of_all), number as u32);
                std::thread::spawn(move || {
                    serve(client, number, &state);
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
        format!("//{user}:secret@127.0.0.1:{}/?sslmode=disable", self.port)
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves one connection, to its end or until it is cut.
fn serve(mut client: TcpStream, number: u32, state: &Mutex<State>) -> Option<()> {
    loop {
        let (kind, message) = message(&mut client)?;
        if locked(state).is_down {
            return None;
        }
        let answer = match kind {
            // No encryption, after one option of five bytes and the end.
            kind::PRELOGIN => vec![1, 0, 6, 0, 1, 0xff, 2],
            kind::LOGIN => let_in(&message),
            kind::BATCH => {
                let sql = narrow(message.get(22..)?);
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
            _ => done(COUNTED, 1),
        };
        let mut out = Vec::new();
        packet::put(&mut out, ANSWER, 4096, &answer);
        client.write_all(&out).ok()?;
    }
}

fn message(client: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut message = Vec::new();
    loop {
        let mut head = [0; HEAD];
        client.read_exact(&mut head).ok()?;
        let (state, length) = Packets::read(&head);
        let start = message.len();
        message.resize(start + length, 0);
        client.read_exact(&mut message[start..]).ok()?;
        if state & LAST != 0 {
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
            () if sql.contains("ProductVersion") => Reply::row(&[self.version, "51"]),
            () if sql.contains("'Edition'") => {
                Reply::row(&["Stand-in", &self.engine.to_string(), "here", "here"])
            }
            // It is a database's: everybody has to be in the same.
            () if sql.contains("sp_getapplock") && sql.starts_with("USE master") => {
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
            () if sql.contains("dm_exec_requests AS r") => {
                Reply::row(&[self.affinity.split(',').next().unwrap_or_default()])
            }
            () => self.changed(sql),
        }
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
                mark.retain(|line| !line.starts_with("affinity "));
            }
        }
        Reply::Done
    }
}

mod tests {
    use hopcost_core::{
        Home, Instance, Known, Look, NodeId, Request, Seat, Setup, Shape, TargetError,
    };
    use hopcost_sys::{Root, topology};

    use super::super::SqlServer;
    use super::*;
    use crate::datasets::DATASETS;
    use crate::workloads::WORKLOADS;
    use hopcost_core::Target;

    /// Opens it for single-row inserts, with data on the first node.
    fn open(address: &str, allow_changes: bool) -> Result<Box<dyn Instance>, TargetError> {
        open_to(address, allow_changes, false)
    }

    /// The same, perhaps to keep the data.
    fn open_to(
        address: &str,
        allow_server_changes: bool,
        keep_data: bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        let machine = topology::read(&Root::live());
        let node = machine.nodes_with_memory().next().unwrap().id;
        let setup = Setup {
            machine: &machine,
            ground: &machine,
            dataset: DATASETS.iter().copied().find(|dataset| dataset.name() == "insert_test"),
            workload: *WORKLOADS
                .iter()
                .find(|workload| workload.name() == "single_row_commit")
                .unwrap(),
            shape: Shape { rows: 1, sliced: true },
            homes: vec![Home::from(node)],
            emulation: None,
            cache_dir: std::env::temp_dir(),
            address,
            sessions: 1,
            keep_data,
            allow_server_changes,
            promise: &|| Ok(()),
        };
        SqlServer.open(&setup, &mut |_| true)
    }

    const REQUEST: Request = Request { statement: 0, arguments: [1, 0, 0, 0] };

    fn seat() -> Seat {
        Seat { at: Some(NodeId(0)), ..Seat::default() }
    }

    /// The server's words, where it does not open.
    fn refusal(server: &StandIn, user: &str) -> String {
        open(&server.url(user), false).err().unwrap().to_string()
    }

    #[test]
    fn the_binding_is_changed_where_that_is_allowed_and_put_back() {
        let server = StandIn::start();
        for is_allowed in [false, true] {
            let instance = open(&server.url("me"), is_allowed).unwrap();
            let mut session = instance.session(seat()).unwrap();
            session.execute(&REQUEST).unwrap();
            assert_eq!(server.state().affinity != BOUND, is_allowed);
            let written = server.state().database.clone().unwrap();
            assert_eq!(written.contains(&format!("affinity {BOUND}")), is_allowed);
            drop(session);
            instance.close().unwrap();
            assert_eq!(server.state().affinity, BOUND);
            assert!(server.state().database.is_none());
        }
    }

    #[test]
    fn a_connection_that_is_lost_while_the_binding_is_changed_leaves_it_as_it_was() {
        for was in [BOUND, "AUTO"] {
            let server = StandIn::start();
            server.state().affinity = was.to_owned();
            // It was bound, and nobody was told.
            server.state().cut_at = Some("AFFINITY CPU = ");
            assert!(open(&server.url("me"), true).is_err());
            assert_ne!(server.state().affinity, was);
            server.state().cut_at = None;
            // What is written in the server outlives us: `hopcost restore` finds it, as the next run would.
            let words = SqlServer.clear(&server.url("me")).unwrap();
            assert!(words.contains(&format!("bound the server to CPU {was} again")), "{words}");
            assert_eq!(server.state().affinity, was);
            assert!(server.state().database.is_none());
        }
    }

    #[test]
    fn who_cannot_reach_the_server_at_the_end_says_so_and_restore_does_it() {
        let server = StandIn::start();
        let instance = open(&server.url("me"), true).unwrap();
        let mut session = instance.session(seat()).unwrap();
        session.execute(&REQUEST).unwrap();
        drop(session);
        server.state().is_down = true;
        assert!(instance.close().is_err());
        assert_ne!(server.state().affinity, BOUND);
        assert!(SqlServer.clear(&server.url("me")).is_err());
        server.state().is_down = false;
        SqlServer.clear(&server.url("me")).unwrap();
        assert_eq!(server.state().affinity, BOUND);
    }

    #[test]
    fn what_cannot_be_dropped_at_first_is_dropped_over_a_connection_of_its_own() {
        let server = StandIn::start();
        let instance = open(&server.url("me"), true).unwrap();
        let words = open(&server.url("me"), true).err().unwrap().to_string();
        assert!(words.contains("another hopcost"), "{words}");
        server.state().refuses = Some("DROP DATABASE");
        instance.close().unwrap();
        assert!(server.state().database.is_none());
        assert_eq!(server.state().affinity, BOUND);
    }

    #[test]
    fn data_that_was_kept_is_found_and_the_server_is_left_unbound() {
        let server = StandIn::start();
        open_to(&server.url("me"), true, true).unwrap().close().unwrap();
        assert!(server.state().database.is_some());
        assert_eq!(server.state().affinity, BOUND);
        // As a killed run leaves it.
        server.state().affinity = "7".to_owned();
        server.state().database.as_mut().unwrap().push(format!("affinity {BOUND}"));
        let instance = open(&server.url("me"), true).unwrap();
        let mut session = instance.session(seat()).unwrap();
        session.execute(&REQUEST).unwrap();
        assert_eq!(server.state().affinity, BOUND);
        drop(session);
        let notes = instance.close().unwrap().join("\n");
        assert!(notes.contains("was there already"), "{notes}");
        assert!(server.state().database.is_some(), "it is somebody's who kept it");
    }

    #[test]
    fn an_address_that_is_written_down_is_read_as_it_was() {
        for given in [
            "//me@host/db?node0=1500&node1=1501",
            "//me@host/db?sslmode=verify-full&sslrootcert=/ca.pem&node0=1500",
            "//me@host:1500/?sslmode=disable",
        ] {
            let told = SqlServer.address(given).unwrap();
            assert_eq!(SqlServer.address(&told).unwrap(), told, "{given}");
            for part in given.split(['?', '&']).skip(1) {
                assert!(told.contains(part), "{told}");
            }
        }
    }

    #[test]
    fn look_ups_and_homes_are_as_the_server_counts_them() {
        let server = StandIn::start();
        let instance = open(&server.url("me"), true).unwrap();
        let Known::Is(homes) = instance.prove(Look::Full) else { panic!("it can be told") };
        assert_eq!(homes[0].pages(), 1234);
        assert!(homes[0].share_in_place() >= 1.0);
        let mut session = instance.session(seat()).unwrap();
        session.begin_counting();
        let lookups = session.counted().lookups.unwrap().acquisitions;
        assert_eq!(lookups.into_iter().collect::<Vec<_>>(), [(NodeId(0), 5), (NodeId(1), 95)]);
        let others = instance.session(Seat { stream: 1, ..seat() }).unwrap().counted();
        assert!(others.lookups.is_none(), "it is counted for all at once");
    }

    #[test]
    fn a_login_that_may_not_look_is_told_what_is_missing() {
        let server = StandIn::start();
        server.state().may_look = false;
        let instance = open(&server.url("me"), false).unwrap();
        assert!(instance.readings().is_empty());
        let mut session = instance.session(seat()).unwrap();
        assert!(session.counted().lookups.is_none());
        drop(session);
        let notes = instance.close().unwrap().join("\n");
        assert!(notes.contains("VIEW SERVER STATE") && notes.contains("GRANT"), "{notes}");
    }

    #[test]
    fn azure_is_bound_to_nothing() {
        let server = StandIn::start();
        server.state().engine = 5;
        assert!(refusal(&server, "me").contains("Azure SQL Database"));
        server.state().engine = 8;
        let instance = open(&server.url("me"), true).unwrap();
        let mut session = instance.session(seat()).unwrap();
        session.execute(&REQUEST).unwrap();
        drop(session);
        let notes = instance.close().unwrap().join("\n");
        assert!(notes.contains("Azure SQL Managed Instance"), "{notes}");
        assert!(!server.state().said.iter().any(|sql| sql.starts_with("ALTER SERVER")));
    }

    #[test]
    fn who_is_not_let_in_and_what_is_too_old_is_told() {
        let server = StandIn::start();
        let words = refusal(&server, "nobody");
        assert!(words.contains("Login failed") && !words.contains("secret"), "{words}");
        server.state().version = "10.50.6000.34";
        let words = refusal(&server, "me");
        assert!(words.contains("older than 2012"), "{words}");
    }
}
