//! Parses a script: SQL commands, and backslash commands that end with their line.

use std::collections::BTreeSet;

use super::arguments::UnreadableDefinition;
use super::cursor::{Cursor, is_name};
use super::expression::Expression;
use super::grammar;
use super::names::Name;
use super::order::{Amount, Command, Does, Keeps, Order, Pause, Pipeline};
use super::place::{Place, ScriptError};
use super::script::Script;
use super::sql;

const KNOWN: &str = "\\set, \\sleep, \\if, \\elif, \\else, \\endif, \\gset, \\aset, \
                     \\startpipeline, \\syncpipeline, \\endpipeline";

const GIVEN: [&str; 4] = ["client_id", "default_seed", "random_seed", "scale"];

impl Script {
    pub fn read(name: &str, text: &str) -> Result<Self, ScriptError> {
        Self::with(name, text, &[])
    }

    pub fn with(name: &str, text: &str, given: &[(&str, &str)]) -> Result<Self, ScriptError> {
        let reader = Reader {
            cursor: Cursor::new(name, text),
            commands: Vec::new(),
            orders: Vec::new(),
            branches: Vec::new(),
            last: None,
            variables: GIVEN.into_iter().chain(given.iter().map(|(name, _)| *name)).collect(),
            quoted: Vec::new(),
        };
        let (commands, orders) = reader.script()?;
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let given = given.iter().map(owned).collect();
        Ok(Self { name: name.to_owned(), given, commands, orders })
    }
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    commands: Vec<Command>,
    orders: Vec<Order>,
    /// Those without `\endif` so far, the innermost last.
    branches: Vec<Branches>,
    /// The SQL command right before.
    last: Option<usize>,
    variables: BTreeSet<&'a str>,
    quoted: Vec<(String, Place)>,
}

struct Branches {
    at: Place,
    to_next: Option<usize>,
    to_end: Vec<usize>,
    had_else: bool,
}

impl<'a> Reader<'a> {
    fn script(mut self) -> Result<(Vec<Command>, Vec<Order>), ScriptError> {
        loop {
            if let Some(statement) = sql::read(&mut self.cursor)? {
                self.sql(statement);
            }
            match self.cursor.peek() {
                None => break,
                Some('\\') => self.backslash()?,
                Some(_) => {}
            }
        }
        if let Some(branches) = self.branches.last() {
            return Err(self.cursor.wrong(branches.at, "this \\if has no \\endif"));
        }
        if self.orders.is_empty() {
            return Err(self.cursor.wrong(Place { line: 1, column: 1 }, "nothing to do in it"));
        }
        let is_set = |(name, _): &&(String, Place)| self.variables.contains(name.as_str());
        match self.quoted.iter().find(is_set) {
            None => Ok((self.commands, self.orders)),
            Some((name, at)) => {
                let says = "no value comes into quotes, for values are sent beside the text: \
                            join it to the text outside of them, as in 'a' ||";
                Err(self.cursor.wrong(*at, format!("':{name}': {says} :{name}")))
            }
        }
    }

    fn sql(&mut self, statement: sql::Statement) {
        let sql::Statement { at, sql, variables, quoted } = statement;
        let variables = variables.iter().map(|name| Name::of(name)).collect();
        let command = self.commands.len();
        self.commands.push(Command { at, sql, variables, keeps: None });
        self.quoted.extend(quoted);
        self.order(at, Does::Send(command));
        self.last = Some(command);
    }

    fn backslash(&mut self) -> Result<(), ScriptError> {
        let at = self.cursor.at();
        self.cursor.take();
        // A backslash without a command is ignored, as by pgbench.
        let Some((_, word)) = self.cursor.word() else { return Ok(()) };
        let last = self.last.take();
        match word.to_ascii_lowercase().as_str() {
            "set" => self.set(at),
            "sleep" => self.sleep(at),
            "if" => self.begin_branches(at),
            "elif" => self.else_if(at),
            "else" => self.otherwise(at),
            "endif" => self.end_branches(at),
            "gset" => self.keep(at, last, true),
            "aset" => self.keep(at, last, false),
            "startpipeline" => self.pipeline(at, Pipeline::Start),
            "syncpipeline" => self.pipeline(at, Pipeline::Sync),
            "endpipeline" => self.pipeline(at, Pipeline::End),
            "shell" | "setshell" => {
                let says = "hopcost runs no commands of the shell: take it out of the script";
                Err(self.cursor.wrong(at, format!("\\{word}: {says}")))
            }
            _ => {
                let says = format!("there is no command \\{word}; known: {KNOWN}");
                Err(self.cursor.wrong(at, says))
            }
        }
    }

    fn order(&mut self, at: Place, does: Does) {
        self.orders.push(Order { at, does });
    }

    fn word(&mut self, what: &str) -> Result<(Place, &'a str), ScriptError> {
        let word = self.cursor.word();
        word.ok_or_else(|| self.cursor.wrong(self.cursor.at(), format!("{what} is missing here")))
    }

    fn nothing_more(&mut self) -> Result<(), ScriptError> {
        match self.cursor.word() {
            None => Ok(()),
            Some((at, word)) => {
                Err(self.cursor.wrong(at, format!("'{word}' is more than this command takes")))
            }
        }
    }

    fn set(&mut self, at: Place) -> Result<(), ScriptError> {
        let (at_name, name) = self.word("the variable's name")?;
        if !is_name(name) {
            let says = UnreadableDefinition::NoName(name.to_owned()).to_string();
            return Err(self.cursor.wrong(at_name, says));
        }
        let expression = grammar::read(&mut self.cursor)?;
        self.variables.insert(name);
        self.order(at, Does::Set { name: Name::of(name), expression });
        Ok(())
    }

    fn sleep(&mut self, at: Place) -> Result<(), ScriptError> {
        let (at_amount, word) = self.word("how long to sleep, as 10 ms,")?;
        let (amount, glued) = match word.strip_prefix(':') {
            Some(name) if is_name(name) => (Amount::Variable(Name::of(name)), ""),
            _ => {
                let unsigned = word.trim_start_matches(['+', '-']);
                let digits = unsigned.find(|c: char| !c.is_ascii_digit());
                let signs = word.len() - unsigned.len();
                let (number, rest) = word.split_at(digits.map_or(word.len(), |end| signs + end));
                let says = "is no whole number: write \\sleep 10 ms, or a variable";
                let number = number
                    .parse::<i64>()
                    .map_err(|_| self.cursor.wrong(at_amount, format!("'{word}' {says}")))?;
                (Amount::Fixed(number), rest)
            }
        };
        let unit = if glued.is_empty() { self.cursor.word() } else { Some((at_amount, glued)) };
        let unit_us = match unit {
            None => 1_000_000,
            Some((at, unit)) => unit_us(unit).ok_or_else(|| {
                self.cursor.wrong(at, format!("'{unit}' is no unit of time: us, ms or s"))
            })?,
        };
        self.nothing_more()?;
        self.order(at, Does::Sleep(Pause { amount, unit_us }));
        Ok(())
    }

    fn pipeline(&mut self, at: Place, pipeline: Pipeline) -> Result<(), ScriptError> {
        self.nothing_more()?;
        self.order(at, Does::Pipeline(pipeline));
        Ok(())
    }

    fn keep(
        &mut self,
        at: Place,
        last: Option<usize>,
        needs_one_row: bool,
    ) -> Result<(), ScriptError> {
        let name = if needs_one_row { "gset" } else { "aset" };
        let prefix = self.cursor.word().map_or("", |(_, word)| word).to_owned();
        self.nothing_more()?;
        match last.map(|last| &mut self.commands[last].keeps) {
            Some(keeps) if keeps.is_none() => {
                *keeps = Some(Keeps { prefix, needs_one_row });
                Ok(())
            }
            _ => {
                let says = format!("\\{name} belongs right behind an SQL command, once");
                Err(self.cursor.wrong(at, says))
            }
        }
    }

    fn begin_branches(&mut self, at: Place) -> Result<(), ScriptError> {
        let condition = grammar::read(&mut self.cursor)?;
        let to_next = Some(self.unless(at, condition));
        self.branches.push(Branches { at, to_next, to_end: Vec::new(), had_else: false });
        Ok(())
    }

    fn else_if(&mut self, at: Place) -> Result<(), ScriptError> {
        let condition = grammar::read(&mut self.cursor)?;
        let mut branches = self.next_branch(at, "elif")?;
        branches.to_next = Some(self.unless(at, condition));
        self.branches.push(branches);
        Ok(())
    }

    fn otherwise(&mut self, at: Place) -> Result<(), ScriptError> {
        self.nothing_more()?;
        let mut branches = self.next_branch(at, "else")?;
        branches.had_else = true;
        self.branches.push(branches);
        Ok(())
    }

    fn end_branches(&mut self, at: Place) -> Result<(), ScriptError> {
        self.nothing_more()?;
        let branches = self.innermost(at, "endif")?;
        for order in branches.to_next.into_iter().chain(branches.to_end) {
            self.leads_here(order);
        }
        Ok(())
    }

    fn next_branch(&mut self, at: Place, command: &str) -> Result<Branches, ScriptError> {
        let mut branches = self.innermost(at, command)?;
        if branches.had_else {
            let says = format!("\\{command} behind \\else: the other branches come before it");
            return Err(self.cursor.wrong(at, says));
        }
        branches.to_end.push(self.orders.len());
        self.order(at, Does::GoTo(0));
        if let Some(order) = branches.to_next.take() {
            self.leads_here(order);
        }
        Ok(branches)
    }

    fn innermost(&mut self, at: Place, command: &str) -> Result<Branches, ScriptError> {
        let innermost = self.branches.pop();
        innermost.ok_or_else(|| self.cursor.wrong(at, format!("\\{command} without an \\if")))
    }

    /// A jump if the condition is false; its target is set later.
    fn unless(&mut self, at: Place, condition: Expression) -> usize {
        self.order(at, Does::Unless { condition, goes_to: 0 });
        self.orders.len() - 1
    }

    fn leads_here(&mut self, order: usize) {
        let here = self.orders.len();
        if let Does::GoTo(goes_to) | Does::Unless { goes_to, .. } = &mut self.orders[order].does {
            *goes_to = here;
        }
    }
}

fn unit_us(unit: &str) -> Option<i64> {
    match unit.to_ascii_lowercase().as_str() {
        "us" => Some(1),
        "ms" => Some(1000),
        "s" => Some(1_000_000),
        _ => None,
    }
}
