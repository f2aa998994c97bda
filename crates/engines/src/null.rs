//! **null**: answers at once, which leaves the driver's own cost of a call.
//!
//! Limits: it holds no data and ignores arguments. Its answer is always the same row, which only a
//! workload without data accepts.

use hopcost_core::{
    Answer, CallError, Capabilities, Code, Counted, Instance, Known, Loading, Locality, Look,
    Needs, Request, Row, Session, SessionPlacement, Setup, Target, TargetError, VariantSettings,
};

use super::restrictions::{NO_AUDIT, NO_PAGES, NO_PARALLEL};

pub struct Null;

impl Target for Null {
    fn name(&self) -> &'static str {
        "null"
    }

    fn about(&self) -> &'static str {
        "answers at once and holds no data: what a call costs the driver itself"
    }

    fn capabilities(&self, _address: &str) -> Capabilities {
        Capabilities::but(&[NO_PARALLEL, NO_AUDIT, NO_PAGES])
    }

    fn needs(&self, setup: &Setup<'_>) -> Needs {
        let stream_bytes = setup.spec().scratch_bytes;
        Needs { stream_bytes, ..Needs::default() }
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        _heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        setup.accepted_by(self)?;
        Ok(Box::new(Nothing { statements: setup.spec().statements.len() }))
    }
}

struct Nothing {
    statements: usize,
}

impl Instance for Nothing {
    fn identity(&self) -> String {
        "null: no database, every call is answered at once".to_owned()
    }

    fn session(
        &self,
        _variant: &VariantSettings,
        _at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        Ok(Box::new(AtOnce { answer: Answer::of(Row::new().integer(1)) }))
    }

    fn prove(&self, _look: Look) -> Known<Vec<Locality>> {
        Known::missing(Code::NotApplicable, "the null target holds no data")
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        Ok(vec!["answered at once".to_owned(); self.statements])
    }
}

struct AtOnce {
    answer: Answer,
}

impl Session for AtOnce {
    fn execute(&mut self, _request: &Request) -> Result<Answer, CallError> {
        Ok(self.answer)
    }

    fn counted(&mut self) -> Counted {
        Counted::default()
    }
}
