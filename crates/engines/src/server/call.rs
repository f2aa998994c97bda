//! A statement or a load, as messages that are put together beforehand: a call writes its arguments into them.

use std::ops::Range;
use std::sync::Arc;

use hopcost_core::{Answer, CallError};

use super::dialect::Call;
use super::wire::{Wire, WireError};
use super::wrong::Wrong;

/// What an argument is packed as.
pub trait Argument: Copy {
    /// Writes a number to its place, which has the right length.
    fn put(self, value: i64, place: &mut [u8]) -> Result<(), Wrong>;
}

/// How an answer is taken apart where it lies.
pub trait Answers<W> {
    fn answer(&mut self, wire: &mut W) -> Result<Answer, WireError>;

    /// Hands the rows of a load over, if the server asks for them once it has read the statement.
    fn hand_over(_wire: &mut W, _rows: &[u8]) -> Result<(), WireError> {
        Ok(())
    }
}

/// An argument, from which of the request's numbers, and where in the messages.
pub type Placed<A> = (A, usize, Range<usize>);

/// A statement or a load, ready to be sent.
pub struct Prepared<A, T> {
    name: &'static str,
    messages: Vec<u8>,
    arguments: Vec<Placed<A>>,
    answers: T,
    /// The rows of a load: has the server been asked to take them, and does not have them yet?
    load: Option<(Arc<[u8]>, bool)>,
}

impl<A, T> Prepared<A, T> {
    /// A statement: its messages, with room for the arguments.
    pub fn new(
        name: &'static str,
        messages: Vec<u8>,
        arguments: Vec<Placed<A>>,
        answers: T,
    ) -> Self {
        Self { name, messages, arguments, answers, load: None }
    }

    /// A load, whose rows the server asks for.
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
