//! One client's execution of a script.

use std::time::Duration;

use super::order::{Amount, Command, Does, Keeps, Pause, Pipeline};
use super::place::{Place, RunError};
use super::script::Script;
use super::session::Session;
use super::wrong::ValueError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends a command, by position, with its [parameters](Script::parameters). In a pipeline it
    /// does not wait for the answer.
    Send(usize),
    Sleep(Duration),
    Pipeline(Pipeline),
    End,
}

/// One execution.
///
/// After a command that wants rows, the caller must pass the answer before the next step. A walk
/// that failed is over.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    pub(super) script: &'a Script,
    next: usize,
    is_in_pipeline: bool,
    awaits: Option<(&'a Command, &'a Keeps)>,
}

impl Script {
    pub fn begin(&self) -> Walk<'_> {
        Walk { script: self, next: 0, is_in_pipeline: false, awaits: None }
    }
}

impl Walk<'_> {
    /// After the last step it always returns [`Step::End`].
    pub fn next(&mut self, session: &mut Session) -> Result<Step, RunError> {
        assert!(self.awaits.is_none(), "the answer to the last command is missing");
        let script = self.script;
        while let Some(order) = script.orders.get(self.next) {
            self.next += 1;
            let wrong = |why: ValueError| script.wrong(order.at, why.to_string());
            match &order.does {
                Does::Set { name, expression } => {
                    let value = expression.value(session).map_err(wrong)?;
                    session.set(*name, value);
                }
                Does::Unless { condition, goes_to } => {
                    if !condition.value(session).map_err(wrong)?.holds() {
                        self.next = *goes_to;
                    }
                }
                Does::GoTo(order) => self.next = *order,
                Does::Send(command) => return self.send(*command),
                Does::Sleep(pause) => {
                    return Ok(Step::Sleep(pause.length(session).map_err(wrong)?));
                }
                Does::Pipeline(pipeline) => return self.pipeline(*pipeline, order.at),
            }
        }
        if self.is_in_pipeline {
            return Err(self.unended());
        }
        Ok(Step::End)
    }

    /// The answer to the last command. Rows that the script does not use are ignored.
    pub fn answered(
        &mut self,
        session: &mut Session,
        columns: &[String],
        rows: &[Vec<Option<String>>],
    ) -> Result<(), RunError> {
        let Some((command, keeps)) = self.awaits.take() else { return Ok(()) };
        let wrong = |says| self.script.wrong(command.at, says);
        if keeps.needs_one_row && rows.len() != 1 {
            let says = format!("\\gset needs one row, and {} came back", rows.len());
            return Err(wrong(says));
        }
        let Some(row) = rows.last() else { return Ok(()) };
        for (column, value) in columns.iter().zip(row) {
            let name = format!("{}{column}", keeps.prefix);
            // For pgbench, NULL in an answer is an empty text.
            session
                .define(&name, value.as_deref().unwrap_or_default())
                .map_err(|why| wrong(format!("{why}; name the column {column} with AS")))?;
        }
        Ok(())
    }

    fn send(&mut self, number: usize) -> Result<Step, RunError> {
        let command = &self.script.commands[number];
        if let Some(keeps) = &command.keeps {
            if self.is_in_pipeline {
                let says = "\\gset and \\aset need the answer, which a pipeline does not wait for";
                return Err(self.script.wrong(command.at, says));
            }
            self.awaits = Some((command, keeps));
        }
        Ok(Step::Send(number))
    }

    fn pipeline(&mut self, pipeline: Pipeline, at: Place) -> Result<Step, RunError> {
        let begins = pipeline == Pipeline::Start;
        if begins == self.is_in_pipeline {
            let says = match pipeline {
                Pipeline::Start => "\\startpipeline within a pipeline",
                Pipeline::Sync => "\\syncpipeline outside of a pipeline",
                Pipeline::End => "\\endpipeline outside of a pipeline",
            };
            return Err(self.script.wrong(at, says));
        }
        self.is_in_pipeline = pipeline != Pipeline::End;
        Ok(Step::Pipeline(pipeline))
    }

    fn unended(&self) -> RunError {
        let at = self.script.orders.last().map_or(Place { line: 1, column: 1 }, |order| order.at);
        self.script.wrong(at, "the script ends within a pipeline: \\endpipeline is missing")
    }
}

impl Pause {
    /// A negative duration is none.
    fn length(&self, session: &Session) -> Result<Duration, ValueError> {
        let amount = match &self.amount {
            Amount::Fixed(amount) => *amount,
            Amount::Variable(name) => {
                let text = session.parameter(*name)?.text().unwrap_or_else(|| "NULL".to_owned());
                let name = name.text();
                leading_number(&text).ok_or_else(|| ValueError::NoTime(name.into(), text.into()))?
            }
        };
        let us = amount.saturating_mul(self.unit_us);
        Ok(Duration::from_micros(us.max(0).cast_unsigned()))
    }
}

/// The leading integer of a text; the rest is ignored, as by pgbench.
fn leading_number(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let signs = text.len() - unsigned.len();
    let digits = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    text[..signs + digits].parse().ok()
}
