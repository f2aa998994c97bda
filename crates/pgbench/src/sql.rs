//! Parses one SQL command: its end and its variables.
//!
//! Its text is what pgbench sends: from the first character that is neither blank nor in a `--`
//! comment, up to and including its semicolon. A backslash ends it too; then its last blanks stay.
//! Each occurrence of a variable becomes a separate parameter.

use std::fmt::Write;

use super::cursor::{Cursor, begins_name, goes_on_in_name, is_blank, is_name};
use super::place::{Place, ScriptError};

pub struct Statement {
    pub at: Place,
    pub sql: String,
    /// In the order of `$1`, `$2`, …
    pub variables: Vec<String>,
    /// Names of variables within quotes, which stay as they are.
    pub quoted: Vec<(String, Place)>,
}

/// pgbench's limit for one command.
const MOST_VARIABLES: usize = 255;

/// Reads to the end of a command, a backslash or the end of the text; `None` if there are only
/// blanks and `--` comments.
pub fn read(cursor: &mut Cursor<'_>) -> Result<Option<Statement>, ScriptError> {
    let reader = Reader {
        cursor,
        begun: None,
        sql: String::new(),
        variables: Vec::new(),
        quoted: Vec::new(),
        open: Vec::new(),
    };
    reader.statement()
}

struct Reader<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    begun: Option<Place>,
    sql: String,
    variables: Vec<String>,
    quoted: Vec<(String, Place)>,
    open: Vec<Place>,
}

impl<'a> Reader<'_, 'a> {
    fn statement(mut self) -> Result<Option<Statement>, ScriptError> {
        loop {
            let at = self.cursor.at();
            match self.cursor.peek() {
                Some('\\') if self.cursor.is_at("\\;") => return Err(self.compound(at)),
                // Such a colon begins a variable, as in pgbench.
                Some('\\') if self.cursor.is_at("\\:") => {
                    self.cursor.take();
                }
                None | Some('\\') => break,
                Some(';') => {
                    self.keep();
                    if self.open.is_empty() {
                        break;
                    }
                }
                Some('(') => {
                    self.open.push(at);
                    self.keep();
                }
                Some(')') => {
                    self.open.pop();
                    self.keep();
                }
                Some(mark @ ('\'' | '"')) => self.quote(mark, false)?,
                Some('$') => self.dollar()?,
                Some(':') => self.colon()?,
                Some('-') if self.cursor.is_at("--") => self.line_comment(),
                Some('/') if self.cursor.is_at("/*") => self.block_comment()?,
                Some(c) if begins_name(c) => self.name()?,
                Some(c) if self.sql.is_empty() && (is_blank(c) || c == '\n') => {
                    self.cursor.take();
                }
                Some(_) => self.keep(),
            }
        }
        if let Some(at) = self.open.pop() {
            let says = "this parenthesis is not closed, and no semicolon within it ends a command";
            return Err(self.cursor.wrong(at, says));
        }
        let Self { sql, variables, quoted, .. } = self;
        Ok(self.begun.map(|at| Statement { at, sql, variables, quoted }))
    }

    fn compound(&self, at: Place) -> ScriptError {
        let says = "'\\;' joins commands into one message, which cannot be prepared: end each with \
                    a plain ';'";
        self.cursor.wrong(at, says)
    }

    fn keep(&mut self) {
        self.begun.get_or_insert(self.cursor.at());
        self.sql.extend(self.cursor.take());
    }

    fn keep_all(&mut self, text: &str) {
        for _ in text.chars() {
            self.keep();
        }
    }

    /// From one mark to the next that is not doubled.
    fn quote(&mut self, mark: char, has_escapes: bool) -> Result<(), ScriptError> {
        let at = self.cursor.at();
        self.keep();
        loop {
            match self.cursor.peek() {
                None => return Err(self.cursor.wrong(at, "this quote is not closed")),
                Some('\\') if has_escapes => self.keep(),
                Some(':') => self.note_quoted(),
                Some(c) if c == mark => {
                    self.keep();
                    if self.cursor.peek() != Some(mark) {
                        match self.gap() {
                            Some(gap) if has_escapes => self.keep_all(gap),
                            _ => return Ok(()),
                        }
                    }
                }
                Some(_) => {}
            }
            self.keep();
        }
    }

    /// Blanks before another quote on a later line, which continues the same literal in SQL.
    fn gap(&self) -> Option<&'a str> {
        let mut ahead = *self.cursor;
        loop {
            ahead.take_while(|c| is_blank(c) || c == '\n');
            if !ahead.is_at("--") {
                break;
            }
            ahead.take_while(is_of_line);
        }
        let rest = self.cursor.rest();
        let gap = &rest[..rest.len() - ahead.rest().len()];
        (gap.contains('\n') && ahead.is_at("'")).then_some(gap)
    }

    /// `$$ … $$`, `$tag$ … $tag$`, or a plain dollar.
    fn dollar(&mut self) -> Result<(), ScriptError> {
        let at = self.cursor.at();
        let Some(mark) = self.dollar_mark() else {
            self.keep();
            return Ok(());
        };
        self.keep_all(mark);
        while !self.cursor.is_at(mark) {
            match self.cursor.peek() {
                None => return Err(self.cursor.wrong(at, format!("no {mark} closes this quote"))),
                Some(':') => self.note_quoted(),
                Some(_) => {}
            }
            self.keep();
        }
        self.keep_all(mark);
        Ok(())
    }

    fn dollar_mark(&self) -> Option<&'a str> {
        let rest = self.cursor.rest();
        let behind = rest.strip_prefix('$')?;
        let tag = &behind[..behind.find(|c| !goes_on_in_name(c))?];
        let is_mark = behind[tag.len()..].starts_with('$') && (tag.is_empty() || is_name(tag));
        is_mark.then(|| &rest[..tag.len() + 2])
    }

    fn variable(&self) -> Option<&'a str> {
        let behind = self.cursor.rest().strip_prefix(':')?;
        let end = behind.find(|c| !goes_on_in_name(c)).unwrap_or(behind.len());
        let name = &behind[..end];
        // The second colon of a cast belongs to the first.
        (self.cursor.before() != Some(':') && is_name(name)).then_some(name)
    }

    fn note_quoted(&mut self) {
        let found = self.variable().map(|name| (name.to_owned(), self.cursor.at()));
        self.quoted.extend(found);
    }

    fn colon(&mut self) -> Result<(), ScriptError> {
        let at = self.cursor.at();
        let Some(name) = self.variable() else {
            self.keep();
            return Ok(());
        };
        if self.cursor.before().is_some_and(|c| goes_on_in_name(c) || c == '$') {
            let says = "a variable is a value, never a part of a name or number: \
                        put a blank before it";
            return Err(self.cursor.wrong(at, format!("':{name}': {says}")));
        }
        if self.variables.len() == MOST_VARIABLES {
            let says = format!("a command has at most {MOST_VARIABLES} variables");
            return Err(self.cursor.wrong(at, says));
        }
        self.begun.get_or_insert(at);
        self.cursor.take();
        self.cursor.skip(name);
        self.variables.push(name.to_owned());
        let _ = write!(self.sql, "${}", self.variables.len());
        Ok(())
    }

    /// A name or a word, or the `E` of a quote with escapes.
    fn name(&mut self) -> Result<(), ScriptError> {
        let from = self.sql.len();
        while self.cursor.peek().is_some_and(|c| goes_on_in_name(c) || c == '$') {
            self.keep();
        }
        let opens_escapes = self.sql[from..].eq_ignore_ascii_case("e");
        match self.cursor.peek() {
            Some('\'') if opens_escapes => self.quote('\'', true),
            _ => Ok(()),
        }
    }

    /// Kept within a command, and dropped before one.
    fn line_comment(&mut self) {
        let is_kept = !self.sql.is_empty();
        let comment = self.cursor.take_while(is_of_line);
        if is_kept {
            self.sql.push_str(comment);
        }
    }

    fn block_comment(&mut self) -> Result<(), ScriptError> {
        let at = self.cursor.at();
        let mut depth = 0;
        loop {
            if self.cursor.is_at("/*") {
                depth += 1;
                self.keep_all("/*");
            } else if self.cursor.is_at("*/") {
                depth -= 1;
                self.keep_all("*/");
                if depth == 0 {
                    return Ok(());
                }
            } else if self.cursor.peek().is_some() {
                self.keep();
            } else {
                return Err(self.cursor.wrong(at, "this comment is not closed"));
            }
        }
    }
}

fn is_of_line(c: char) -> bool {
    !matches!(c, '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn all(text: &str) -> Vec<(String, Vec<String>)> {
        let mut cursor = Cursor::new("s", text);
        let next = || read(&mut cursor).unwrap_or_else(|wrong| panic!("{wrong}"));
        std::iter::from_fn(next).map(|statement| (statement.sql, statement.variables)).collect()
    }

    #[track_caller]
    fn sends(text: &str, sql: &[&str]) {
        let commands = all(text);
        let sent: Vec<&str> = commands.iter().map(|(sql, _)| sql.as_str()).collect();
        assert_eq!(sent, sql, "{text}");
    }

    #[track_caller]
    fn is_one(text: &str) {
        sends(text, &[text]);
    }

    #[test]
    fn semicolons_end_commands_where_nothing_hides_them() {
        sends(" SELECT 1;\n\n  SELECT 2 ;", &["SELECT 1;", "SELECT 2 ;"]);
        sends("SELECT 1;; ", &["SELECT 1;", ";"]);
        sends("SELECT 1\n", &["SELECT 1\n"]);
        is_one("SELECT ';', 'it'';s', \"a;\"\";b\";");
        is_one("SELECT E'\\';', e'\\\\', E'a''\\';';");
        is_one("SELECT E'a' -- it's\n 'b\\';';");
        sends("SELECT E'a' 'b\\'; SELECT 2;", &["SELECT E'a' 'b\\';", "SELECT 2;"]);
        is_one("CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT ')'; SELECT (2));");
        is_one("SELECT $$;$$, $a$ ; $$ ; $b$ $a $a$;");
        is_one("SELECT 1 /* ; /* ; */ ; */ + 2;");
        is_one("SELECT 1 -- one; 'two\n + 2;");
    }

    #[test]
    fn quotes_need_to_be_quotes() {
        sends("SELECT some'\\'; SELECT 2;", &["SELECT some'\\';", "SELECT 2;"]);
        sends("SELECT a$b$; SELECT $1;", &["SELECT a$b$;", "SELECT $1;"]);
        sends("SELECT 1 - -1; SELECT 4 / 2;", &["SELECT 1 - -1;", "SELECT 4 / 2;"]);
    }

    #[test]
    fn comments_before_a_command_are_dropped_and_those_within_are_kept() {
        sends("-- first\n  --second\r\nSELECT 1;-- last", &["SELECT 1;"]);
        is_one("SELECT -- what\n 1;");
        is_one("/* first */ SELECT 1;");
        sends("-- nothing", &[]);
        sends(" \t\r\n", &[]);
    }

    #[test]
    fn each_occurrence_of_a_variable_is_a_parameter() {
        let text = "UPDATE t SET a = a + :d, b=:d WHERE k=:größe_2 AND (l)<:_x::int;";
        let sql = "UPDATE t SET a = a + $1, b=$2 WHERE k=$3 AND (l)<$4::int;".to_owned();
        let variables = ["d", "d", "größe_2", "_x"].map(str::to_owned).to_vec();
        assert_eq!(all(text), [(sql, variables)]);
        assert_eq!(all(":a").len(), 1);
    }

    #[test]
    fn other_colons_are_no_variables() {
        for text in [
            "SELECT '1'::int, x:::y, a[1:2], a[1 : n];",
            "SELECT f(a := 1, b => :1, c :- 2);",
            "SELECT ':a', \":b\", $$ :c $$, E'\\':d', 1 /* :e */ -- :f\n;",
        ] {
            let found = all(text);
            assert_eq!(found, [(text.to_owned(), Vec::new())]);
        }
        sends("SELECT \\:a, \\::b;", &["SELECT $1, ::b;"]);
    }

    #[test]
    fn variables_in_quotes_are_noted_with_their_place() {
        let mut cursor = Cursor::new("s", "SELECT ':a',\n $$x :b ::c$$, \"d\" /* :e */;");
        let noted = read(&mut cursor).unwrap().unwrap().quoted;
        let place = |line, column| Place { line, column };
        assert_eq!(noted, [("a".to_owned(), place(1, 9)), ("b".to_owned(), place(2, 6))]);
    }

    #[test]
    fn a_backslash_ends_a_command_with_its_last_blanks() {
        let mut cursor = Cursor::new("s", "\n SELECT 1 \\gset");
        let statement = read(&mut cursor).unwrap().unwrap();
        assert_eq!(
            (statement.sql.as_str(), statement.at),
            ("SELECT 1 ", Place { line: 2, column: 2 })
        );
        assert!(cursor.is_at("\\gset") && read(&mut cursor).unwrap().is_none());
    }

    #[test]
    fn a_command_has_so_many_variables_and_no_more() {
        let with = |count| format!("SELECT 1{};", ", :a".repeat(count));
        assert_eq!(all(&with(255))[0].1.len(), 255);
        let text = with(256);
        let wrong = read(&mut Cursor::new("s", &text)).err().unwrap();
        assert_eq!(wrong.at.column, text.rfind(':').unwrap() + 1);
        assert!(wrong.says.contains("at most 255"), "{wrong}");
    }
}
