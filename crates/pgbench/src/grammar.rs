//! Parses an expression, which ends with its line unless a backslash continues it.
//!
//! Precedence as in PostgreSQL, from the loosest: OR, AND, NOT, IS, comparisons, bit operators,
//! sums, products, signs.

use super::cursor::{Cursor, begins_name, goes_on_in_name, is_name};
use super::expression::Expression;
use super::functions::{Arithmetic, Bits, Comparison, FUNCTIONS, Function, Known};
use super::names::Name;
use super::place::{Place, ScriptError};
use super::value::Value;

const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const IS: u8 = 4;
const COMPARISON: u8 = 5;
const BITS: u8 = 6;
const SUM: u8 = 7;
const PRODUCT: u8 = 8;
const SIGN: u8 = 9;

/// Infix operators, their precedence and function. A longer operator comes before its own prefix.
const OPERATORS: [(&str, u8, Function); 17] = [
    ("<<", BITS, Function::Bits(Bits::Left)),
    (">>", BITS, Function::Bits(Bits::Right)),
    ("<=", COMPARISON, Function::Comparison(Comparison::LessOrEqual)),
    (">=", COMPARISON, Function::Comparison(Comparison::GreaterOrEqual)),
    ("<>", COMPARISON, Function::Comparison(Comparison::NotEqual)),
    ("!=", COMPARISON, Function::Comparison(Comparison::NotEqual)),
    ("<", COMPARISON, Function::Comparison(Comparison::Less)),
    (">", COMPARISON, Function::Comparison(Comparison::Greater)),
    ("=", COMPARISON, Function::Comparison(Comparison::Equal)),
    ("&", BITS, Function::Bits(Bits::And)),
    ("|", BITS, Function::Bits(Bits::Or)),
    ("#", BITS, Function::Bits(Bits::Xor)),
    ("+", SUM, Function::Arithmetic(Arithmetic::Add)),
    ("-", SUM, Function::Arithmetic(Arithmetic::Subtract)),
    ("*", PRODUCT, Function::Arithmetic(Arithmetic::Multiply)),
    ("/", PRODUCT, Function::Arithmetic(Arithmetic::Divide)),
    ("%", PRODUCT, Function::Modulo),
];

const OTHER_SIGNS: [&str; 4] = ["~", "(", ")", ","];

/// Limits nesting, so that no stack overflows.
const MOST_TOKENS: usize = 1000;

/// This integer only fits with a minus before it.
const SMALLEST_WITHOUT_SIGN: &str = "9223372036854775808";

#[derive(Clone, Copy)]
struct Token<'a> {
    kind: Kind,
    text: &'a str,
    at: Place,
}

#[derive(Clone, Copy)]
enum Kind {
    Number(Value),
    Smallest,
    Variable,
    Word,
    Sign,
}

pub fn read(cursor: &mut Cursor<'_>) -> Result<Expression, ScriptError> {
    let tokens = tokens(cursor)?;
    let mut grammar = Grammar { cursor: *cursor, tokens, next: 0 };
    let expression = grammar.expression(OR)?;
    match grammar.peek() {
        None => Ok(expression),
        Some(token) => {
            let says =
                format!("'{}' behind a whole expression: is an operator missing?", token.text);
            Err(grammar.wrong(says))
        }
    }
}

fn tokens<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<Token<'a>>, ScriptError> {
    let mut tokens = Vec::new();
    loop {
        cursor.skip_blanks();
        let (at, rest) = (cursor.at(), cursor.rest());
        if rest.is_empty() || rest.starts_with('\n') {
            return Ok(tokens);
        }
        if tokens.len() == MOST_TOKENS {
            let says = format!("an expression has at most {MOST_TOKENS} words and signs");
            return Err(cursor.wrong(at, says));
        }
        let kind = kind(cursor)?;
        let text = &rest[..rest.len() - cursor.rest().len()];
        tokens.push(Token { kind, text, at });
    }
}

fn kind(cursor: &mut Cursor<'_>) -> Result<Kind, ScriptError> {
    let (at, rest) = (cursor.at(), cursor.rest());
    let begins_number = rest.strip_prefix('.').unwrap_or(rest).starts_with(is_digit);
    if begins_number {
        return number(cursor);
    }
    if rest.starts_with(begins_name) {
        cursor.take_while(goes_on_in_name);
        return Ok(Kind::Word);
    }
    if cursor.skip(":") {
        let name = cursor.take_while(goes_on_in_name);
        let says = "the name of a variable belongs behind ':', and begins with a letter or _";
        return if is_name(name) { Ok(Kind::Variable) } else { Err(cursor.wrong(at, says)) };
    }
    let signs = OPERATORS.iter().map(|(sign, ..)| *sign).chain(OTHER_SIGNS);
    for sign in signs {
        if cursor.skip(sign) {
            return Ok(Kind::Sign);
        }
    }
    let found = rest.chars().next().unwrap_or_default();
    let hint = match found {
        '^' => ": write pow(x, y)",
        '!' => ": write NOT or !=",
        '\'' | '"' => ": there are no texts, only numbers and booleans",
        ';' => ": the end of the line ends it",
        _ => "",
    };
    Err(cursor.wrong(at, format!("'{found}' does not belong in an expression{hint}")))
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn number(cursor: &mut Cursor<'_>) -> Result<Kind, ScriptError> {
    let (at, rest) = (cursor.at(), cursor.rest());
    cursor.take_while(is_digit);
    let has_point = cursor.skip(".");
    cursor.take_while(is_digit);
    let is_whole = !exponent(cursor) && !has_point;
    let text = &rest[..rest.len() - cursor.rest().len()];
    if is_whole {
        return match text.parse() {
            Ok(number) => Ok(Kind::Number(Value::Integer(number))),
            Err(_) if text == SMALLEST_WITHOUT_SIGN => Ok(Kind::Smallest),
            Err(_) => Err(cursor.wrong(at, too_large(text))),
        };
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Kind::Number(Value::Double(number))),
        _ => Err(cursor.wrong(at, format!("{text} does not fit a double"))),
    }
}

fn too_large(number: &str) -> String {
    format!("{number} does not fit an integer: with a point behind it, it is a double")
}

/// Reads `e5`, `E+5` or `e-5`, and nothing if an `e` has no digits.
fn exponent(cursor: &mut Cursor<'_>) -> bool {
    let mut ahead = *cursor;
    if !ahead.skip("e") && !ahead.skip("E") {
        return false;
    }
    if !ahead.skip("+") {
        ahead.skip("-");
    }
    let is_one = !ahead.take_while(is_digit).is_empty();
    if is_one {
        *cursor = ahead;
    }
    is_one
}

struct Grammar<'a> {
    cursor: Cursor<'a>,
    tokens: Vec<Token<'a>>,
    next: usize,
}

enum Infix {
    Call(Function),
    Logic { settled_by: bool },
    IsNull,
    NotNull,
    Is,
}

impl<'a> Grammar<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.next).copied()
    }

    fn accepts_sign(&mut self, sign: &str) -> bool {
        let is_here =
            self.peek().is_some_and(|token| matches!(token.kind, Kind::Sign) && token.text == sign);
        self.next += usize::from(is_here);
        is_here
    }

    fn accepts_word(&mut self, word: &str) -> bool {
        let is_here = self.peek().is_some_and(|token| token.is_word(word));
        self.next += usize::from(is_here);
        is_here
    }

    fn needs_word(&mut self, word: &str) -> Result<(), ScriptError> {
        if self.accepts_word(word) { Ok(()) } else { Err(self.missing(word)) }
    }

    fn wrong(&self, says: impl Into<String>) -> ScriptError {
        self.cursor.wrong(self.peek().map_or(self.cursor.at(), |token| token.at), says)
    }

    fn missing(&self, what: &str) -> ScriptError {
        match self.peek() {
            Some(token) => self.wrong(format!("{what} belongs here, not '{}'", token.text)),
            None => self.wrong(format!("{what} is missing at the end")),
        }
    }

    /// Parses operators that bind at least as tightly as `loosest`.
    fn expression(&mut self, loosest: u8) -> Result<Expression, ScriptError> {
        let mut left = self.prefix()?;
        let mut is_comparison = false;
        while let Some((infix, level)) = self.infix()
            && level >= loosest
        {
            if level == COMPARISON && is_comparison {
                return Err(self.wrong("comparisons do not chain: join two of them with AND"));
            }
            is_comparison = level == COMPARISON;
            self.next += 1;
            left = match infix {
                Infix::Call(function) => {
                    Expression::Call(function, vec![left, self.expression(level + 1)?])
                }
                Infix::Logic { settled_by } => {
                    let sides = Box::new([left, self.expression(level + 1)?]);
                    Expression::Logic { settled_by, sides }
                }
                Infix::IsNull => is(left, Value::Null),
                Infix::NotNull => not(is(left, Value::Null)),
                Infix::Is => self.is_what(left)?,
            };
        }
        Ok(left)
    }

    fn infix(&self) -> Option<(Infix, u8)> {
        let token = self.peek()?;
        match token.kind {
            Kind::Sign => {
                let known = OPERATORS.iter().find(|(sign, ..)| *sign == token.text);
                known.map(|(_, level, function)| (Infix::Call(*function), *level))
            }
            Kind::Word if token.is_word("or") => Some((Infix::Logic { settled_by: true }, OR)),
            Kind::Word if token.is_word("and") => Some((Infix::Logic { settled_by: false }, AND)),
            Kind::Word if token.is_word("is") => Some((Infix::Is, IS)),
            Kind::Word if token.is_word("isnull") => Some((Infix::IsNull, IS)),
            Kind::Word if token.is_word("notnull") => Some((Infix::NotNull, IS)),
            _ => None,
        }
    }

    fn is_what(&mut self, left: Expression) -> Result<Expression, ScriptError> {
        let is_negated = self.accepts_word("not");
        let other = match self.peek() {
            Some(token) if token.is_word("null") => Value::Null,
            Some(token) if token.is_word("true") => Value::Boolean(true),
            Some(token) if token.is_word("false") => Value::Boolean(false),
            _ => return Err(self.missing("NULL, TRUE or FALSE")),
        };
        self.next += 1;
        let is = is(left, other);
        Ok(if is_negated { not(is) } else { is })
    }

    fn prefix(&mut self) -> Result<Expression, ScriptError> {
        let token = self.peek().ok_or_else(|| self.missing("a value"))?;
        self.next += 1;
        match token.kind {
            Kind::Number(value) => Ok(Expression::Constant(value)),
            Kind::Smallest => Err(self.cursor.wrong(token.at, too_large(token.text))),
            Kind::Variable => Ok(Expression::Variable(Name::of(&token.text[1..]))),
            Kind::Word => self.word(token),
            Kind::Sign => match token.text {
                "+" => self.expression(SIGN),
                "-" => self.negated(),
                "~" => {
                    let all_bits = Expression::Constant(Value::Integer(-1));
                    let inverted = vec![all_bits, self.expression(BITS + 1)?];
                    Ok(Expression::Call(Function::Bits(Bits::Xor), inverted))
                }
                "(" => {
                    let inner = self.expression(OR)?;
                    if self.accepts_sign(")") { Ok(inner) } else { Err(self.missing("')'")) }
                }
                _ => {
                    self.next -= 1;
                    Err(self.missing("a value"))
                }
            },
        }
    }

    fn negated(&mut self) -> Result<Expression, ScriptError> {
        if self.peek().is_some_and(|token| matches!(token.kind, Kind::Smallest)) {
            self.next += 1;
            return Ok(Expression::Constant(Value::Integer(i64::MIN)));
        }
        let zero = Expression::Constant(Value::Integer(0));
        let function = Function::Arithmetic(Arithmetic::Subtract);
        Ok(Expression::Call(function, vec![zero, self.expression(SIGN)?]))
    }

    fn word(&mut self, word: Token<'a>) -> Result<Expression, ScriptError> {
        match word.text.to_ascii_lowercase().as_str() {
            "null" => Ok(Expression::Constant(Value::Null)),
            "true" => Ok(Expression::Constant(Value::Boolean(true))),
            "false" => Ok(Expression::Constant(Value::Boolean(false))),
            "not" => Ok(not(self.expression(NOT + 1)?)),
            "case" => self.case(),
            "and" | "or" | "is" | "isnull" | "notnull" | "when" | "then" | "else" | "end" => {
                self.next -= 1;
                Err(self.missing("a value"))
            }
            name => self.call(name, word),
        }
    }

    fn case(&mut self) -> Result<Expression, ScriptError> {
        let mut branches = Vec::new();
        self.needs_word("WHEN")?;
        loop {
            let condition = self.expression(OR)?;
            self.needs_word("THEN")?;
            branches.push((condition, self.expression(OR)?));
            if !self.accepts_word("when") {
                break;
            }
        }
        let otherwise = if self.accepts_word("else") {
            self.expression(OR)?
        } else {
            Expression::Constant(Value::Null)
        };
        self.needs_word("END")?;
        Ok(Expression::Case { branches, otherwise: Box::new(otherwise) })
    }

    fn call(&mut self, name: &str, word: Token<'a>) -> Result<Expression, ScriptError> {
        let text = word.text;
        let Some(known) = FUNCTIONS.iter().find(|known| known.name == name) else {
            let says = if self.accepts_sign("(") {
                let names: Vec<&str> = FUNCTIONS.iter().map(|known| known.name).collect();
                format!("there is no function '{text}'; known: {}", names.join(", "))
            } else {
                format!("'{text}' is neither a value nor a function: a variable is written :{text}")
            };
            return Err(self.cursor.wrong(word.at, says));
        };
        if !self.accepts_sign("(") {
            return Err(self.missing(&format!("'(' behind {text}")));
        }
        let mut arguments = Vec::new();
        while !self.accepts_sign(")") {
            if !arguments.is_empty() && !self.accepts_sign(",") {
                return Err(self.missing("',' or ')'"));
            }
            arguments.push(self.expression(OR)?);
        }
        if !known.arguments.contains(&arguments.len()) {
            return Err(self.cursor.wrong(word.at, wrong_number(known, arguments.len())));
        }
        if known.has_seed && arguments.len() < *known.arguments.end() {
            arguments.push(Expression::Variable(Name::of("default_seed")));
        }
        Ok(Expression::Call(known.function, arguments))
    }
}

impl Token<'_> {
    fn is_word(&self, word: &str) -> bool {
        matches!(self.kind, Kind::Word) && self.text.eq_ignore_ascii_case(word)
    }
}

fn is(left: Expression, other: Value) -> Expression {
    Expression::Call(Function::Is, vec![left, Expression::Constant(other)])
}

fn not(expression: Expression) -> Expression {
    Expression::Call(Function::Not, vec![expression])
}

fn wrong_number(known: &Known, found: usize) -> String {
    let (least, most) = (*known.arguments.start(), *known.arguments.end());
    let takes = match (least, most) {
        (_, usize::MAX) => format!("at least {least}"),
        _ if least == most => least.to_string(),
        _ => format!("{least} or {most}"),
    };
    let plural = if takes == "1" || most == usize::MAX { "" } else { "s" };
    format!("{} takes {takes} argument{plural}, not {found}", known.name)
}

#[cfg(test)]
mod tests {
    use super::super::corpus::{EXPRESSIONS, cases, is_so_far};
    use super::*;

    #[test]
    fn what_is_wrong_is_said_with_its_column() {
        for (text, expected) in cases(EXPRESSIONS, "what_is_wrong_is_said_with_its_column") {
            let Err(wrong) = read(&mut Cursor::new("s", &text)) else { panic!("{text} is read") };
            let found = format!("{}: {}", wrong.at.column, wrong.says);
            assert!(is_so_far(expected, &found), "{text}: {found}");
        }
    }

    #[test]
    fn an_expression_ends_with_its_line() {
        let text = "1 + \\\n 2 * \\\r\n 3\r\nnext";
        let mut cursor = Cursor::new("s", text);
        assert!(read(&mut cursor).is_ok() && cursor.is_at("\nnext"));
        let wrong = read(&mut Cursor::new("s", "1 +\\\n\\\n * 2")).unwrap_err();
        assert_eq!((wrong.at.line, wrong.at.column), (3, 2), "{wrong}");
    }

    #[test]
    fn neither_long_nor_deep_ones_break_anything() {
        let deepest = format!("{}1{}", "(".repeat(499), ")".repeat(499));
        assert!(read(&mut Cursor::new("s", &deepest)).is_ok());
        let longest = format!("1{}", " + 1".repeat(499));
        assert!(read(&mut Cursor::new("s", &longest)).is_ok());
        let signs = format!("{}1", "- ".repeat(999));
        assert!(read(&mut Cursor::new("s", &signs)).is_ok());
        let beyond = format!("{}1", "- ".repeat(1000));
        let wrong = read(&mut Cursor::new("s", &beyond)).unwrap_err();
        assert!(wrong.at.column == 2001 && wrong.says.contains("at most 1000"), "{wrong}");
    }
}
