//! A statement or load as prebuilt messages; a call writes its arguments into them.

use std::ops::Range;
use std::sync::Arc;

use hopcost_core::{Answer, CallError};

use super::dialect::Call;
use super::wire::{Wire, WireError};
use super::wrong::Wrong;

pub trait Argument: Copy {
    fn put(self, value: i64, place: &mut [u8]) -> Result<(), Wrong>;
}

pub trait Answers<W> {
    fn answer(&mut self, wire: &mut W) -> Result<Answer, WireError>;

    /// Sends the rows of a load, if the server requests them after the statement.
    fn hand_over(_wire: &mut W, _rows: &[u8]) -> Result<(), WireError> {
        Ok(())
    }
}

/// An argument, the index of its number in the request, and its bytes in the messages.
pub type Placed<A> = (A, usize, Range<usize>);

pub struct Prepared<A, T> {
    name: &'static str,
    messages: Vec<u8>,
    arguments: Vec<Placed<A>>,
    answers: T,
    /// The rows of a load, and whether the server has yet to receive them for the current call.
    load: Option<(Arc<[u8]>, bool)>,
}

impl<A, T> Prepared<A, T> {
    pub fn new(
        name: &'static str,
        messages: Vec<u8>,
        arguments: Vec<Placed<A>>,
        answers: T,
    ) -> Self {
        Self { name, messages, arguments, answers, load: None }
    }

    #[must_use]
    pub fn loading(self, rows: &Arc<[u8]>) -> Self {
        Self { load: Some((Arc::clone(rows), false)), ..self }
    }
}

impl<W: Wire, A: Argument, T: Answers<W>> Call<W> for Prepared<A, T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn begin(
        &mut self,
        wire: &mut W,
        numbers: &[i64; 4],
        out: Option<&mut Vec<u8>>,
    ) -> Result<(), CallError> {
        for (argument, from, place) in &self.arguments {
            argument
                .put(numbers[*from], &mut self.messages[place.clone()])
                .map_err(|why| CallError::Failed(format!("{}: {why}", self.name)))?;
        }
        if let Some((_, is_asked)) = &mut self.load {
            *is_asked = true;
        }
        wire.ask(&self.messages, out).map_err(|error| error.of_call(self.name))
    }

    fn go_on(
        &mut self,
        wire: &mut W,
        _out: Option<&mut Vec<u8>>,
    ) -> Result<Option<Answer>, CallError> {
        let outcome = match &mut self.load {
            Some((rows, is_asked @ true)) => {
                *is_asked = false;
                T::hand_over(wire, rows).map(|()| None)
            }
            _ => self.answers.answer(wire).map(Some),
        };
        outcome.map_err(|error| error.of_call(self.name))
    }
}
