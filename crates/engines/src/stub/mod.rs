//! A server for tests with its own protocol: all that a new kind of server needs, and no more.
//!
//! It passes `hopcost_testkit::conformance`. A new server starts as a copy of this folder.

mod home;
mod schema;
mod server;
mod wire;

use hopcost_core::{
    Answer, Capabilities, Code, Reason, Restriction, Row, SessionPlacement, Setting, Setup,
    Statement, TargetError, VariantSettings,
};

use super::restrictions::{
    NO_BATCHES, NO_LOG, NO_PAGES, NO_PARALLEL, NO_SCRIPTS, OF_ITS_OWN, no_planting,
};
use super::server::address::{self, Custom, Environment};
use super::server::audit_log::AuditLogReader;
use super::server::call::{Answers, Argument, Prepared};
use super::server::copy::{Asked, Levels, Opened, ServerCopy};
use super::server::dialect::{Dialect, Profile};
use super::server::target::Kind;
use super::server::wire::{Wire as _, WireError};
use super::server::with_literals;
use super::server::wrong::Wrong;
use rusqlite::types::Value;
use wire::Wire;

const CUSTOM: Custom = Custom { name: "stub", socket: || "/run/stub".into(), ..Custom::PLAIN };

const PROFILE: Profile = Profile {
    name: "Stub",
    scheme: "stub",
    processes: &["hopcost_engines"],
    waits: None,
    patience: None,
};

const RUNNING: Capabilities = Capabilities::but(&[
    NO_LOG,
    NO_PARALLEL,
    NO_PAGES,
    no_planting!("a stub"),
    NO_SCRIPTS,
    NO_BATCHES,
    Restriction::of(
        &[Setting::Inserts, Setting::Audit, Setting::EmulatedNodes],
        Code::Unsupported,
        "{level} needs something that a stub does not do",
    ),
    Restriction::of(OF_ITS_OWN, Code::Unsupported, "an existing server has one memory policy"),
]);

pub struct Stub;

impl Kind for Stub {
    type Dialect = StubDialect;
    const BYTES: [u64; 2] = [0; 2];

    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn about(&self) -> &'static str {
        "a server of the tests"
    }

    fn read(&self, rest: &str, environment: Environment<'_>) -> Result<address::Asked, Reason> {
        address::read(&CUSTOM, rest, environment)
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        RUNNING
    }

    fn dialect(
        &self,
        _: Option<&address::Address>,
        _: Option<&Setup<'_>>,
    ) -> Result<StubDialect, TargetError> {
        Ok(StubDialect)
    }
}

pub struct StubDialect;

impl Dialect for StubDialect {
    type Wire = Wire;
    type Call = Prepared<Number, Rows>;

    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn worker(&self, wire: &mut Wire) -> Result<Option<u32>, WireError> {
        Ok(wire.value("WORKER")?.and_then(|thread| thread.parse().ok()))
    }

    fn explain(
        &self,
        wire: &mut Wire,
        _: usize,
        statement: &Statement,
        example: &[i64; 4],
    ) -> Result<Vec<String>, WireError> {
        let sql = with_literals(statement.sql, example.iter().map(ToString::to_string));
        let rows = wire.query(&format!("EXPLAIN QUERY PLAN {sql}"))?;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next_back().flatten()).collect())
    }

    fn end(&self, wire: &mut Wire, numbers: &[u32]) -> Result<(), WireError> {
        numbers.iter().try_for_each(|number| wire.query(&format!("END {number}")).map(drop))
    }
}

#[derive(Clone, Copy)]
pub struct Number;

impl Argument for Number {
    fn put(self, value: i64, place: &mut [u8]) -> Result<(), Wrong> {
        place.copy_from_slice(&value.to_le_bytes());
        Ok(())
    }
}

pub struct Rows;

impl Answers<Wire> for Rows {
    fn answer(&mut self, wire: &mut Wire) -> Result<Answer, WireError> {
        let mut answer = Answer::default();
        let changed = wire.until_done(|values| {
            answer.add(values.iter().fold(Row::new(), |row, value| match value {
                Value::Integer(value) => row.integer(*value),
                Value::Text(text) => row.text(text),
                _ => row.null(),
            }));
        })?;
        Ok(changed.map_or(answer, |rows| Answer::of(Row::new().integer(rows))))
    }
}

impl Levels for StubDialect {
    type Witness = ();
    type Beside = ();
    type AuditLog = AuditLogReader;

    fn calls(
        &self,
        _: &ServerCopy<Self>,
        wire: &mut Wire,
        asked: &Asked<'_>,
    ) -> Result<Vec<Self::Call>, TargetError> {
        let call = |statement: &Statement| {
            if let Some(filler) = asked.filler.filter(|filler| filler.is_load()) {
                let message = wire::insert_into(filler.name(), filler.rows());
                return Ok(Prepared::new(statement.name, message, Vec::new(), Rows));
            }
            let number = wire.number_for(&wire::message(b'P', statement.sql.as_bytes()))?;
            let (message, places) = wire::execute(number, statement.arguments);
            let arguments = places.into_iter().enumerate();
            let arguments = arguments.map(|(n, place)| (Number, n, place)).collect();
            Ok(Prepared::new(statement.name, message, arguments, Rows))
        };
        asked.statements.iter().map(call).collect()
    }

    fn beside(&self, _: &mut Wire, _: &Opened<'_>) -> Result<(), TargetError> {
        Ok(())
    }

    fn witness(
        &self,
        _: &ServerCopy<Self>,
        _: &Wire,
        _: &VariantSettings,
        _: SessionPlacement,
    ) -> Result<(), TargetError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hopcost_testkit::conformance::{ASKED, Engine};
    use hopcost_testkit::named::seat;

    use super::super::server::target;
    use super::Stub;
    use super::server::Server;

    #[test]
    fn a_new_kind_of_server_does_all_that_an_engine_owes() {
        let server = Server::start();
        let url = server.url();
        let stub = Engine { target: &target::Server(Stub), address: &url };
        stub.answers(&ASKED[2..], &seat());
        assert!(!server.is_home());
        stub.is_a_guest(ASKED[2], &|| server.is_home());
        server.has_theirs();
        stub.leaves_others_alone(ASKED[2]);
    }
}
