//! An in-process database for tests: all that a new engine needs if it is a library.
//!
//! It keeps numbers in a sorted map, and answers statements that insert them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use hopcost_core::{
    Answer, CallError, Capabilities, Code, Counted, Instance, Known, Loading, Locality, Look,
    Needs, Request, Row, Session, SessionPlacement, Setup, Target, TargetError, VariantSettings,
};

use super::restrictions::{NO_AUDIT, NO_CLIENT, NO_LOG, NO_PAGES, NO_PARALLEL};

pub struct Toy;

impl Target for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn about(&self) -> &'static str {
        "keeps numbers in a sorted map"
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        Capabilities::but(&[NO_PARALLEL, NO_AUDIT, NO_PAGES, NO_LOG, NO_CLIENT])
    }

    fn needs(&self, _: &Setup<'_>) -> Needs {
        Needs::default()
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        _: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        setup.accepted_by(self)?;
        let statements = setup.spec().statements.len();
        Ok(Box::new(Map { numbers: Arc::default(), statements }))
    }
}

type Numbers = Arc<Mutex<BTreeSet<i64>>>;

struct Map {
    numbers: Numbers,
    statements: usize,
}

impl Instance for Map {
    fn identity(&self) -> String {
        "toy: a sorted map".to_owned()
    }

    fn session(
        &self,
        _: &VariantSettings,
        _: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        let (numbers, statements) = (Arc::clone(&self.numbers), self.statements);
        Ok(Box::new(Caller { numbers, statements }))
    }

    fn prove(&self, _: Look) -> Known<Vec<Locality>> {
        Known::missing(Code::NotApplicable, "a toy proves nothing")
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        Ok(vec!["inserts".to_owned(); self.statements])
    }
}

struct Caller {
    numbers: Numbers,
    statements: usize,
}

impl Session for Caller {
    fn execute(&mut self, request: &Request) -> Result<Answer, CallError> {
        if request.statement >= self.statements {
            return Err(CallError::Failed("there is no such statement".to_owned()));
        }
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.insert(request.arguments[0]);
        Ok(Answer::of(Row::new().integer(1)))
    }

    fn counted(&mut self) -> Counted {
        Counted::default()
    }
}

#[cfg(test)]
mod tests {
    use hopcost_testkit::conformance::{ASKED, Engine};
    use hopcost_testkit::named::seat;

    #[test]
    fn an_engine_of_one_file_does_all_that_an_engine_owes() {
        let toy = Engine { target: &super::Toy, address: "" };
        let asked =
            ASKED.iter().filter(|(_, asked, _)| ["single_row_commit", "null_call"].contains(asked));
        toy.answers(&asked.copied().collect::<Vec<_>>(), &seat());
    }
}
