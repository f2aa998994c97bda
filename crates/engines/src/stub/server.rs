//! The server itself: SQLite behind a socket.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hopcost_sys::affinity;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params_from_iter};

use super::wire::{Value, message};

struct State {
    database: Connection,
    /// Statements by their numbers.
    statements: Vec<String>,
    locked_by: Option<usize>,
    clients: Vec<UnixStream>,
}

type Shared = Arc<Mutex<State>>;

/// It lasts as long as the test's process.
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

    /// What follows `stub:`.
    pub fn url(&self) -> String {
        format!("//me@/?host={}", self.dir.path().join("socket").display())
    }

    /// Is there something of our name?
    pub fn is_home(&self) -> bool {
        let sql = "SELECT count(*) FROM pragma_database_list WHERE name = 'hopcost'";
        let state = locked(&self.state);
        let count = state.database.query_row(sql, [], |row| row.get::<_, i64>(0));
        count.unwrap() > 0
    }

    /// Somebody makes a database of our name.
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
        let mut out = Vec::new();
        if let Err(words) = locked(state).answer(head[4], &body, number, &mut out) {
            out.extend(message(b'E', words.as_bytes()));
        }
        out.extend(message(b'Z', &[]));
        client.write_all(&out).ok()?;
    }
}

fn number_of(number: usize) -> Vec<u8> {
    message(b'C', &number.to_le_bytes())
}

impl State {
    fn answer(
        &mut self,
        kind: u8,
        body: &[u8],
        number: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let text = String::from_utf8_lossy(body).into_owned();
        match kind {
            b'H' => out.extend(number_of(number)),
            b'P' => {
                self.database.prepare(&text).map_err(|error| error.to_string())?;
                self.statements.push(text);
                out.extend(number_of(self.statements.len() - 1));
            }
            b'X' => {
                let (which, arguments) = body.split_at(4);
                let which = u32::from_le_bytes(which.try_into().unwrap_or_default());
                let sql = self.statements.get(which as usize).cloned().unwrap_or_default();
                let arguments = arguments.as_chunks::<8>().0;
                let arguments: Vec<i64> =
                    arguments.iter().map(|b| i64::from_le_bytes(*b)).collect();
                self.ask(&sql, &arguments, out)?;
            }
            b'L' => {
                let end = body.iter().position(|byte| *byte == 0).unwrap_or_default();
                let rows = self.load(&text[..end], &Value::all(&body[end + 1..]))?;
                out.extend(number_of(rows));
            }
            _ => match text.split_once(' ') {
                None if text == "WORKER" => row(out, &affinity::thread_id().to_string()),
                None if text == "LOCK" => {
                    let by = *self.locked_by.get_or_insert(number);
                    row(out, if by == number { "1" } else { "0" });
                }
                Some(("END", who)) => {
                    let client = who.parse().ok().and_then(|who: usize| self.clients.get(who));
                    let _ = client.map(|client| client.shutdown(std::net::Shutdown::Both));
                }
                _ => self.ask(&text, &[], out)?,
            },
        }
        Ok(())
    }

    fn ask(&self, sql: &str, arguments: &[i64], out: &mut Vec<u8>) -> Result<(), String> {
        let words = |error: rusqlite::Error| error.to_string();
        let mut statement = self.database.prepare(sql).map_err(words)?;
        let columns = statement.column_count();
        if columns == 0 {
            let changed = statement.execute(params_from_iter(arguments)).map_err(words)?;
            out.extend(number_of(changed));
            return Ok(());
        }
        let mut rows = statement.query(params_from_iter(arguments)).map_err(words)?;
        while let Some(row) = rows.next().map_err(words)? {
            let mut body = Vec::new();
            for n in 0..columns {
                let value = match row.get_ref(n).map_err(words)? {
                    ValueRef::Integer(value) => Value::Integer(value),
                    ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
                    _ => Value::Null,
                };
                value.put(&mut body);
            }
            out.extend(message(b'R', &body));
        }
        Ok(())
    }

    fn load(&self, table: &str, values: &[Value]) -> Result<usize, String> {
        let words = |error: rusqlite::Error| error.to_string();
        let sql = format!("SELECT * FROM {table}");
        let columns = self.database.prepare(&sql).map_err(words)?.column_count();
        let places = vec!["?"; columns].join(", ");
        let sql = format!("INSERT INTO {table} VALUES ({places})");
        self.database.execute_batch("BEGIN").map_err(words)?;
        let mut insert = self.database.prepare(&sql).map_err(words)?;
        for row in values.chunks(columns) {
            let row = row.iter().map(|value| match value {
                Value::Integer(value) => rusqlite::types::Value::Integer(*value),
                Value::Text(text) => rusqlite::types::Value::Text(text.clone()),
                Value::Null => rusqlite::types::Value::Null,
            });
            insert.execute(params_from_iter(row)).map_err(words)?;
        }
        self.database.execute_batch("COMMIT").map_err(words)?;
        Ok(values.len() / columns)
    }
}

fn row(out: &mut Vec<u8>, text: &str) {
    let mut body = Vec::new();
    Value::Text(text.to_owned()).put(&mut body);
    out.extend(message(b'R', &body));
}
