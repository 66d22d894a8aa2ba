//! Decides how the text of an R dump is cut into words, numbers and marks.

use std::io::BufRead;

use crate::error::{Error, Result, quoted};
use crate::open::{ContentReader, Opened, text_error};

/// No name or number is longer; quoted text that is could only be a quote that never closes.
const LONGEST: usize = 1 << 16;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Number(f64),
    /// A name as it stands; with backquotes too.
    Name(String),
    /// Text in quotes.
    Text(String),
    /// `<-` or `<<-`.
    Arrow,
    /// One of `= ( ) , : + - ;`.
    Mark(u8),
    End,
}

impl Token {
    /// What an error says it is.
    pub(super) fn shown(&self) -> String {
        match self {
            Token::Number(number) => format!("the number {number}"),
            Token::Name(name) => quoted(name),
            Token::Text(text) => format!("the text {}", quoted(text)),
            Token::Arrow => "\"<-\"".to_owned(),
            Token::Mark(mark) => format!("\"{}\"", char::from(*mark)),
            Token::End => "the end of the file".to_owned(),
        }
    }
}

/// Cuts tokens one after the other, without holding the text.
pub(super) struct Tokens {
    pub(super) path: String,
    reader: ContentReader,
    /// The line of the next byte, from 1.
    line: u64,
    buffer: Vec<u8>,
    /// A token that was put back, before `ahead`.
    back: Option<(Token, u64)>,
    ahead: Option<(Token, u64)>,
    /// The line in which the token before `ahead` ended.
    ended: u64,
}

pub(super) fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_' || byte >= 0x80
}

impl Tokens {
    pub(super) fn new(input: Opened) -> Self {
        Tokens {
            path: input.name,
            reader: input.reader,
            line: 1,
            buffer: Vec::new(),
            back: None,
            ahead: None,
            ended: 0,
        }
    }

    /// The next token, which stays.
    pub(super) fn peek(&mut self) -> Result<&Token> {
        if self.back.is_none() && self.ahead.is_none() {
            self.ended = self.line;
            self.ahead = Some(self.cut()?);
        }
        let next = self.back.as_ref().or(self.ahead.as_ref());
        Ok(next.map_or(&Token::End, |(token, _)| token))
    }

    /// The next token and the line it begins in.
    pub(super) fn next(&mut self) -> Result<(Token, u64)> {
        self.peek()?;
        let next = self.back.take().or_else(|| self.ahead.take());
        Ok(next.unwrap_or((Token::End, self.line)))
    }

    /// Makes the token just taken the next one again.
    pub(super) fn put_back(&mut self, token: Token, line: u64) {
        self.back = Some((token, line));
    }

    /// Takes a mark if it is next.
    pub(super) fn take(&mut self, mark: u8) -> Result<bool> {
        let found = *self.peek()? == Token::Mark(mark);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    /// Takes a mark that must be next.
    pub(super) fn expect(&mut self, mark: u8, after: &str) -> Result<()> {
        if self.take(mark)? {
            return Ok(());
        }
        let (token, line) = self.next()?;
        let expected = format!("\"{}\" after {after}", char::from(mark));
        Err(self.refuse(line, token.shown(), expected))
    }

    /// Whether the next token begins in a later line than the one before ended.
    pub(super) fn is_on_a_new_line(&mut self) -> Result<bool> {
        self.peek()?;
        let line = self.ahead.as_ref().map_or(self.line, |(_, line)| *line);
        Ok(line > self.ended)
    }

    pub(super) fn refuse(
        &self,
        line: u64,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Error {
        Error::line(&self.path, line, found, expected)
    }

    fn byte(&mut self) -> Result<Option<u8>> {
        let bytes = self
            .reader
            .fill_buf()
            .map_err(|error| text_error(&self.path, &error))?;
        Ok(bytes.first().copied())
    }

    fn skip(&mut self, byte: u8) {
        self.line += u64::from(byte == b'\n');
        self.reader.consume(1);
    }

    /// Collects bytes into the buffer as long as they belong.
    fn collect(&mut self, belongs: impl Fn(&[u8], u8) -> bool) -> Result<()> {
        self.buffer.clear();
        while let Some(byte) = self.byte()? {
            if !belongs(&self.buffer, byte) {
                break;
            }
            if self.buffer.len() == LONGEST {
                let found = format!("a word of more than {LONGEST} characters");
                return Err(self.refuse(self.line, found, "a name or a number"));
            }
            self.buffer.push(byte);
            self.skip(byte);
        }
        Ok(())
    }

    fn cut(&mut self) -> Result<(Token, u64)> {
        while let Some(byte) = self.byte()? {
            if byte == b'#' {
                while let Some(byte) = self.byte()?.filter(|&byte| byte != b'\n') {
                    self.skip(byte);
                }
            } else if byte.is_ascii_whitespace() {
                self.skip(byte);
            } else {
                break;
            }
        }
        let line = self.line;
        let Some(byte) = self.byte()? else {
            return Ok((Token::End, line));
        };
        let token = match byte {
            b'"' | b'\'' | b'`' => self.quoted(byte, line)?,
            byte if in_name(byte) => self.word(line)?,
            b'<' => {
                self.collect(|before, byte| {
                    byte == b'<' || (byte == b'-' && !before.ends_with(b"-"))
                })?;
                if self.buffer != b"<-" && self.buffer != b"<<-" {
                    let found = String::from_utf8_lossy(&self.buffer).into_owned();
                    return Err(self.refuse(line, format!("{found:?}"), "\"<-\""));
                }
                Token::Arrow
            }
            b'=' | b'(' | b')' | b',' | b':' | b'+' | b'-' | b';' => {
                self.skip(byte);
                Token::Mark(byte)
            }
            other => {
                let found = format!("{:?}", char::from(other));
                let expected = "an assignment of numbers, such as x <- c(1, 2)";
                return Err(self.refuse(line, found, expected));
            }
        };
        Ok((token, line))
    }

    /// What the buffer holds; what is not UTF-8 is taken for Latin-1.
    fn text(&self) -> String {
        let latin = |_| self.buffer.iter().copied().map(char::from).collect();
        String::from_utf8(self.buffer.clone()).unwrap_or_else(latin)
    }

    fn quoted(&mut self, quote: u8, line: u64) -> Result<Token> {
        self.skip(quote);
        self.collect(|before, byte| byte != quote || escaped(before))?;
        if self.byte()?.is_none() {
            return Err(self.refuse(line, "a quote that never closes", "a closing quote"));
        }
        self.skip(quote);
        let text = self.text();
        Ok(match quote {
            b'`' => Token::Name(text),
            _ => Token::Text(text),
        })
    }

    /// A name, or a number: that begins with a digit, which a full stop may precede.
    fn word(&mut self, line: u64) -> Result<Token> {
        let numeric = |word: &[u8]| {
            let digits = word.strip_prefix(b".").unwrap_or(word);
            digits.first().is_some_and(u8::is_ascii_digit)
        };
        // A sign belongs to a number after an e alone: 1e-3.
        let in_exponent = |before: &[u8]| {
            numeric(before) && matches!(before, [.., b'0'..=b'9' | b'.', b'e' | b'E'])
        };
        self.collect(|before, byte| {
            in_name(byte) || (b"+-".contains(&byte) && in_exponent(before))
        })?;
        if !numeric(&self.buffer) {
            return Ok(Token::Name(self.text()));
        }
        let written = String::from_utf8_lossy(&self.buffer);
        let digits = written.strip_suffix('L').unwrap_or(&written);
        // Names of infinity, which parse, are not made of these.
        let plain = |byte: u8| byte.is_ascii_digit() || b".eE+-".contains(&byte);
        match digits.parse() {
            Ok(number) if digits.bytes().all(plain) => Ok(Token::Number(number)),
            _ => Err(self.refuse(line, quoted(&written), "a number")),
        }
    }
}

/// Whether a backslash before takes the meaning from the next byte.
fn escaped(before: &[u8]) -> bool {
    let backslashes = before.iter().rev().take_while(|&&byte| byte == b'\\');
    backslashes.count() % 2 == 1
}
