//! Decides which assignments and lists of R are data, and in which order their numbers run.
//!
//! What `dump` and `dput` write, and the lists of WinBUGS; nothing is computed beyond `a:b`.

use std::fmt;

use collapsar::limits::ELEMENTS;
use collapsar_bugs::Array;

use super::tokens::{Token, Tokens};
use super::{Item, Items, push};
use crate::error::{Error, Result, quoted};
use crate::npy::row_major;
use crate::open::Opened;

/// Calls within calls; dumps have three.
const DEEPEST: usize = 32;
/// More numbers than this are not written as `a:b` but by mistake.
const LONGEST_RANGE: f64 = ELEMENTS as f64;
const NUMBERS: &str = "numbers: 5, NA, 1:3, c(...) or structure(c(...), .Dim = c(...))";

pub(super) fn read(input: Opened) -> Result<Items> {
    let mut dump = Dump {
        tokens: Tokens::new(input),
        items: Items::new(),
        name: String::new(),
        values: Vec::new(),
        text: None,
        depth: 0,
    };
    dump.statements()?;
    if dump.items.is_empty() {
        let expected = "data such as x <- c(1, 2)";
        return Err(Error::content(dump.tokens.path, "no assignment", expected));
    }
    Ok(dump.items)
}

struct Dump {
    tokens: Tokens,
    items: Items,
    /// The name whose value is being read, as errors show it.
    name: String,
    /// The numbers of that value so far.
    values: Vec<f64>,
    /// The first text among them.
    text: Option<String>,
    /// The calls that are open.
    depth: usize,
}

/// What the numbers of a value are arranged in.
struct Shape {
    dims: Vec<usize>,
    /// Whether the last index runs fastest.
    by_row: bool,
}

impl Dump {
    fn statements(&mut self) -> Result<()> {
        loop {
            while self.tokens.take(b';')? {}
            let (token, line) = self.tokens.next()?;
            match token {
                Token::End => return Ok(()),
                Token::Name(name)
                    if name == "list" && *self.tokens.peek()? == Token::Mark(b'(') =>
                {
                    self.list()?;
                }
                Token::Name(name) | Token::Text(name) => {
                    let (arrow, line) = self.tokens.next()?;
                    if !matches!(arrow, Token::Arrow | Token::Mark(b'=')) {
                        let expected = format!("\"<-\" after {}", quoted(&name));
                        return Err(self.tokens.refuse(line, arrow.shown(), expected));
                    }
                    self.item(name, line)?;
                }
                other => {
                    let expected = "a name, as in x <- c(1, 2)";
                    return Err(self.tokens.refuse(line, other.shown(), expected));
                }
            }
            let ends = matches!(self.tokens.peek()?, Token::End | Token::Mark(b';'));
            if !ends && !self.tokens.is_on_a_new_line()? {
                let (token, line) = self.tokens.next()?;
                let found = format!("{} after a value", token.shown());
                return Err(self.tokens.refuse(line, found, "a new line or \";\""));
            }
        }
    }

    /// `list(N = 10, x = c(1, 2))` as WinBUGS has it.
    fn list(&mut self) -> Result<()> {
        self.tokens.expect(b'(', "list")?;
        loop {
            if self.tokens.take(b')')? {
                return Ok(());
            }
            let (token, line) = self.tokens.next()?;
            let (Token::Name(name) | Token::Text(name)) = token else {
                let expected = "a name, as in list(N = 10)";
                return Err(self.tokens.refuse(line, token.shown(), expected));
            };
            self.tokens.expect(b'=', &quoted(&name))?;
            self.item(name, line)?;
            if !self.tokens.take(b',')? {
                self.tokens.expect(b')', "the last item of a list")?;
                return Ok(());
            }
        }
    }

    /// Reads the value of a name.
    fn item(&mut self, name: String, line: u64) -> Result<()> {
        self.name = quoted(&name);
        let shape = self.value()?;
        let values = std::mem::take(&mut self.values);
        if let Some(found) = self.text.take() {
            let item = Item::Text(found);
            return push(&mut self.items, &self.tokens.path, line, name, item);
        }
        let array = match shape {
            None => Array::vector(values),
            Some(Shape { dims, by_row: true }) => Array { dims, values },
            Some(Shape { dims, .. }) => Array {
                values: row_major(&dims, values),
                dims,
            },
        };
        let item = Item::Array(array);
        push(&mut self.items, &self.tokens.path, line, name, item)
    }

    /// The error of something that is no number.
    fn refuse(&self, line: u64, found: impl fmt::Display) -> Error {
        let found = format!("{found} in {}", self.name);
        self.tokens.refuse(line, found, NUMBERS)
    }

    /// Appends the numbers of a value; a shape where one is given.
    fn value(&mut self) -> Result<Option<Shape>> {
        let (token, line) = self.tokens.next()?;
        if self.depth > DEEPEST {
            return Err(self.refuse(line, format_args!("more than {DEEPEST} nested calls")));
        }
        match token {
            Token::Name(function) if self.tokens.take(b'(')? => {
                self.depth += 1;
                let shape = self.call(&function, line)?;
                self.depth -= 1;
                return Ok(shape);
            }
            Token::Text(_) => {
                let found = || format!("{} in line {line} of {}", token.shown(), self.tokens.path);
                self.text.get_or_insert_with(found);
                self.values.push(f64::NAN);
            }
            token => {
                let first = self.scalar(token, line)?;
                if self.tokens.take(b':')? {
                    let (token, line) = self.tokens.next()?;
                    let last = self.scalar(token, line)?;
                    self.range(first, last, line)?;
                } else {
                    self.values.push(first);
                }
            }
        }
        Ok(None)
    }

    /// Appends the numbers of a call, whose bracket is open.
    fn call(&mut self, function: &str, line: u64) -> Result<Option<Shape>> {
        match function {
            "c" => self.combined()?,
            "structure" => return self.structure(line),
            "as.integer" | "as.numeric" | "as.double" => {
                let begin = self.values.len();
                // As in R, nothing is left of a shape.
                self.value()?;
                let after = format!("the value of {function}");
                self.tokens.expect(b')', &after)?;
                if function == "as.integer" {
                    for value in &mut self.values[begin..] {
                        *value = value.trunc();
                    }
                }
            }
            "integer" | "numeric" | "double" | "logical" => self.zeros(function, line)?,
            "list" => return Err(self.refuse(line, "a list")),
            other => return Err(self.refuse(line, format_args!("the call {}", quoted(other)))),
        }
        Ok(None)
    }

    fn scalar(&mut self, token: Token, line: u64) -> Result<f64> {
        let word = |word: &str| match word {
            "NA" | "NA_real_" | "NA_integer_" | "NaN" => Some(f64::NAN),
            "Inf" => Some(f64::INFINITY),
            "TRUE" | "T" => Some(1.0),
            "FALSE" | "F" => Some(0.0),
            _ => None,
        };
        let (sign, (token, line)) = match token {
            Token::Mark(b'-') => (-1.0, self.tokens.next()?),
            Token::Mark(b'+') => (1.0, self.tokens.next()?),
            token => (1.0, (token, line)),
        };
        let number = match &token {
            Token::Number(number) => Some(*number),
            Token::Name(name) => word(name),
            _ => None,
        };
        let number = number.map(|number| sign * number);
        number.ok_or_else(|| self.refuse(line, token.shown()))
    }

    fn range(&mut self, first: f64, last: f64, line: u64) -> Result<()> {
        let steps = (last - first).abs();
        if steps.is_nan() || steps >= LONGEST_RANGE {
            let found = format!("the range {first}:{last} in {}", self.name);
            let expected = format!("at most {ELEMENTS} numbers");
            return Err(self.tokens.refuse(line, found, expected));
        }
        let step = if last < first { -1.0 } else { 1.0 };
        let numbers = (0..=steps as usize).map(|k| first + step * k as f64);
        self.values.extend(numbers);
        Ok(())
    }

    /// The rest of `c(...)`.
    fn combined(&mut self) -> Result<()> {
        if self.tokens.take(b')')? {
            return Ok(());
        }
        loop {
            // Names of elements, as in c(a = 1), say nothing about the numbers.
            self.argument()?;
            self.value()?;
            if !self.tokens.take(b',')? {
                let after = format!("the numbers of {}", self.name);
                return self.tokens.expect(b')', &after);
            }
        }
    }

    /// The rest of `numeric(0)` and the like.
    fn zeros(&mut self, function: &str, line: u64) -> Result<()> {
        let begin = self.values.len();
        if *self.tokens.peek()? != Token::Mark(b')') {
            self.value()?;
        }
        let after = format!("the length in {function}");
        self.tokens.expect(b')', &after)?;
        match self.values.split_off(begin).as_slice() {
            [] => {}
            [n] if n.fract() == 0.0 && (0.0..LONGEST_RANGE).contains(n) => {
                self.values.resize(begin + *n as usize, 0.0);
            }
            other => {
                let found = format!("{function}({})", listed(other));
                return Err(self.tokens.refuse(line, found, "a length, such as 0"));
            }
        }
        Ok(())
    }

    /// The rest of `structure(numbers, .Dim = lengths)`; other attributes say nothing about the numbers.
    fn structure(&mut self, line: u64) -> Result<Option<Shape>> {
        let begin = self.values.len();
        let mut dims: Option<Vec<f64>> = None;
        let (mut has_data, mut by_row) = (false, false);
        loop {
            let argument = self.argument()?;
            match argument.as_deref() {
                // In R's own structure the first index runs fastest, and dump never names .Data.
                // WinBUGS always names it, and there the last index runs fastest.
                None | Some(".Data") if !has_data => {
                    (has_data, by_row) = (true, argument.is_some());
                    self.value()?;
                }
                Some(".Dim" | "dim") => {
                    let before = self.values.len();
                    self.value()?;
                    dims = Some(self.values.split_off(before));
                }
                _ => self.skip_argument()?,
            }
            if !self.tokens.take(b',')? {
                let after = format!("the attributes of {}", self.name);
                self.tokens.expect(b')', &after)?;
                break;
            }
        }
        let number = self.values.len() - begin;
        let Some(lengths) = dims else { return Ok(None) };
        let whole =
            |length: &f64| length.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(length);
        let product = lengths.iter().product::<f64>();
        if lengths.is_empty() || !lengths.iter().all(whole) || product != number as f64 {
            let (name, lengths) = (&self.name, listed(&lengths));
            let found = format!("{number} numbers in {name} with .Dim = ({lengths})");
            let expected = "whole numbers whose product is the number of numbers";
            return Err(self.tokens.refuse(line, found, expected));
        }
        let dims = lengths.iter().map(|length| *length as usize).collect();
        Ok(Some(Shape { dims, by_row }))
    }

    /// The name of the argument that comes next, if it has one.
    fn argument(&mut self) -> Result<Option<String>> {
        if let Token::Name(_) | Token::Text(_) = self.tokens.peek()? {
            let (token, line) = self.tokens.next()?;
            if self.tokens.take(b'=')? {
                if let Token::Name(name) | Token::Text(name) = token {
                    return Ok(Some(name));
                }
            } else {
                self.tokens.put_back(token, line);
            }
        }
        Ok(None)
    }

    /// Goes on to the comma or bracket after an argument.
    fn skip_argument(&mut self) -> Result<()> {
        let mut open = 0_u64;
        loop {
            match self.tokens.peek()? {
                Token::End => return Ok(()),
                Token::Mark(b')' | b',') if open == 0 => return Ok(()),
                Token::Mark(b'(') => open += 1,
                Token::Mark(b')') => open -= 1,
                _ => {}
            }
            self.tokens.next()?;
        }
    }
}

fn listed(numbers: &[f64]) -> String {
    let shown: Vec<String> = numbers.iter().take(8).map(f64::to_string).collect();
    let more = if numbers.len() > 8 { ", …" } else { "" };
    shown.join(", ") + more
}
