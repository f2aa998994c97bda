//! The server: SQLite behind a socket.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hopcost_sys::affinity;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::super::server::reader::Reader;
use super::wire::message;

struct State {
    database: Connection,
    statements: Vec<String>,
    locked_by: Option<usize>,
    clients: Vec<UnixStream>,
}

type Shared = Arc<Mutex<State>>;

pub struct Server {
    state: Shared,
    dir: tempfile::TempDir,
}

fn locked(state: &Shared) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    pub fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join("socket")).unwrap();
        let database = Connection::open_in_memory().unwrap();
        let (statements, clients) = (Vec::new(), Vec::new());
        let state = State { database, statements, locked_by: None, clients };
        let state = Arc::new(Mutex::new(state));
        let of_all = Arc::clone(&state);
        std::thread::spawn(move || {
            for (number, client) in (0..).zip(listener.incoming().flatten()) {
                let state = Arc::clone(&of_all);
                locked(&state).clients.push(client.try_clone().unwrap());
                std::thread::spawn(move || {
                    serve(client, number, &state);
                    let mut state = locked(&state);
                    state.locked_by = state.locked_by.filter(|by| *by != number);
                });
            }
        });
        Self { state, dir }
    }

    pub fn url(&self) -> String {
        format!("//me@/?host={}", self.dir.path().join("socket").display())
    }

    pub fn is_home(&self) -> bool {
        let sql = "SELECT count(*) FROM pragma_database_list WHERE name = 'hopcost'";
        let state = locked(&self.state);
        let count = state.database.query_row(sql, [], |row| row.get::<_, i64>(0));
        count.unwrap() > 0
    }

    pub fn has_theirs(&self) {
        let sql = "ATTACH ':memory:' AS hopcost; CREATE TABLE hopcost.theirs (n)";
        locked(&self.state).database.execute_batch(sql).unwrap();
    }
}

fn serve(mut client: UnixStream, number: usize, state: &Shared) -> Option<()> {
    loop {
        let mut head = [0; 5];
        client.read_exact(&mut head).ok()?;
        let mut body = vec![0; u32::from_le_bytes(head[..4].try_into().ok()?) as usize];
        client.read_exact(&mut body).ok()?;
        let answer = locked(state).answer(head[4], &body, number);
        let error = |error: rusqlite::Error| message(b'E', error.to_string().as_bytes());
        let mut out = answer.unwrap_or_else(error);
        out.extend(message(b'Z', &[]));
        client.write_all(&out).ok()?;
    }
}

fn number_of(number: usize) -> Vec<u8> {
    message(b'C', &number.to_le_bytes())
}

fn row(values: &[Value]) -> Vec<u8> {
    let bytes = |value: &Value| match value {
        Value::Integer(value) => [&b"i"[..], &value.to_le_bytes()].concat(),
        Value::Text(text) => {
            [&b"t"[..], &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
        }
        _ => b"n".to_vec(),
    };
    message(b'R', &values.iter().flat_map(bytes).collect::<Vec<u8>>())
}

impl State {
    fn answer(&mut self, kind: u8, body: &[u8], number: usize) -> rusqlite::Result<Vec<u8>> {
        let text = String::from_utf8_lossy(body).into_owned();
        match (kind, text.split_once(' ')) {
            (b'H', _) => Ok(number_of(number)),
            (b'P', _) => {
                self.database.prepare(&text)?;
                self.statements.push(text);
                Ok(number_of(self.statements.len() - 1))
            }
            (b'X', _) => {
                let mut reader = Reader(body);
                let sql = self.statements.get(reader.integer(4) as usize);
                let arguments = reader.0.as_chunks::<8>().0.iter();
                let arguments = arguments.map(|bytes| i64::from_le_bytes(*bytes));
                self.ask(sql.map_or("", String::as_str), arguments.collect())
            }
            _ if text == "WORKER" => Ok(row(&[Value::Integer(affinity::thread_id().into())])),
            _ if text == "LOCK" => {
                let by = *self.locked_by.get_or_insert(number);
                Ok(row(&[Value::Integer((by == number).into())]))
            }
            (_, Some(("END", who))) => {
                let client = who.parse().ok().and_then(|who: usize| self.clients.get(who));
                let _ = client.map(|client| client.shutdown(std::net::Shutdown::Both));
                Ok(Vec::new())
            }
            _ => self.ask(&text, Vec::new()),
        }
    }

    fn ask(&self, sql: &str, arguments: Vec<i64>) -> rusqlite::Result<Vec<u8>> {
        let mut statement = self.database.prepare(sql)?;
        let columns = statement.column_count();
        if columns == 0 {
            return statement.execute(params_from_iter(arguments)).map(number_of);
        }
        let values = |of: &rusqlite::Row<'_>| (0..columns).map(|n| of.get(n)).collect();
        let rows = statement.query_map(params_from_iter(arguments), values)?;
        rows.map(|values: rusqlite::Result<Vec<Value>>| Ok(row(&values?)))
            .collect::<Result<Vec<_>, _>>()
            .map(|rows| rows.concat())
    }
}
