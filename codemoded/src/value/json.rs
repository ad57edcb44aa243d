//! JSON text to and from a [`Value`], by RFC 8259.
//!
//! Why not `serde_json`: with exact numbers switched on it takes an object whose key is one of its private markers
//! for a number, it keeps the last of two equal keys, and it has no bound on digits or on depth that we could set.
//! This reader refuses what it cannot hold exactly, and stops at the first byte past a bound.

use std::fmt;

use super::{Bounds, Float, Int, Map, Value};

/// What is wrong with a JSON text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {at}")]
pub struct JsonError {
    pub fault: JsonFault,
    /// Offset of the offending byte.
    pub at: usize,
}

/// What can be wrong with a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    #[error("not valid JSON")]
    Syntax,
    #[error("not valid UTF-8")]
    Encoding,
    #[error("a lone surrogate is no character")]
    Surrogate,
    #[error("the same key twice in one object")]
    DuplicateKey,
    #[error("an integer of more than 1,000 digits")]
    TooManyDigits,
    #[error("a number beyond the range of a float")]
    FloatRange,
    #[error("nested too deeply")]
    TooDeep,
    #[error("too many bytes")]
    TooLong,
}

/// Reads one JSON text, and nothing but white space around it.
pub fn read(text: &[u8], bounds: Bounds) -> Result<Value, JsonError> {
    let fail = |fault, at| JsonError { fault, at };
    if text.len() > bounds.max_bytes {
        return Err(fail(JsonFault::TooLong, bounds.max_bytes));
    }
    let text = std::str::from_utf8(text).map_err(|error| fail(JsonFault::Encoding, error.valid_up_to()))?;
    let mut reader = Reader { bytes: text.as_bytes(), text, at: 0 };
    let read = reader.document(bounds.max_depth);
    read.map_err(|fault| fail(fault, reader.at))
}

/// The value of one JSON number's text.
pub(super) fn number(text: &str) -> Result<Value, JsonFault> {
    if text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        let float: f64 = text.parse().map_err(|_| JsonFault::Syntax)?;
        return Float::new(float).map(Value::Float).ok_or(JsonFault::FloatRange);
    }
    Int::from_digits(text).map(Value::Int).map_err(|_| JsonFault::TooManyDigits)
}

pub(super) fn float_number(value: Float) -> serde_json::Number {
    serde_json::Number::from_string_unchecked(float_text(value))
}

/// The shortest text that reads back as the same float, always recognisable as one.
pub(super) fn float_text(value: Float) -> String {
    // Rust's `{:?}` is shortest-round-trip, with an exponent where Python has one (1e16 and beyond, below 1e-5).
    format!("{:?}", value.get())
}

pub(super) fn write(value: &Value) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_to(value, &mut out);
    out
}

pub(super) fn size(value: &Value) -> usize {
    let mut count = Count(0);
    let _ = write_to(value, &mut count);
    count.0
}

struct Count(usize);

impl fmt::Write for Count {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.saturating_add(text.len());
        Ok(())
    }
}

fn write_to(value: &Value, out: &mut impl fmt::Write) -> fmt::Result {
    match value {
        Value::Null => out.write_str("null"),
        Value::Bool(true) => out.write_str("true"),
        Value::Bool(false) => out.write_str("false"),
        Value::Int(int) => write!(out, "{int}"),
        Value::Float(float) => out.write_str(&float_text(*float)),
        Value::Str(text) => write_string(text, out),
        Value::List(items) => {
            out.write_char('[')?;
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.write_char(',')?;
                }
                write_to(item, out)?;
            }
            out.write_char(']')
        }
        Value::Map(members) => {
            out.write_char('{')?;
            for (index, (key, member)) in members.iter().enumerate() {
                if index > 0 {
                    out.write_char(',')?;
                }
                write_string(key, out)?;
                out.write_char(':')?;
                write_to(member, out)?;
            }
            out.write_char('}')
        }
    }
}

fn write_string(text: &str, out: &mut impl fmt::Write) -> fmt::Result {
    out.write_char('"')?;
    let mut plain = text;
    while let Some(at) = plain.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        let (before, rest) = plain.split_at(at);
        out.write_str(before)?;
        let mut chars = rest.chars();
        match chars.next() {
            Some('"') => out.write_str("\\\"")?,
            Some('\\') => out.write_str("\\\\")?,
            Some('\n') => out.write_str("\\n")?,
            Some('\r') => out.write_str("\\r")?,
            Some('\t') => out.write_str("\\t")?,
            Some('\u{8}') => out.write_str("\\b")?,
            Some('\u{c}') => out.write_str("\\f")?,
            Some(other) => write!(out, "\\u{:04x}", u32::from(other))?,
            None => {}
        }
        plain = chars.as_str();
    }
    out.write_str(plain)?;
    out.write_char('"')
}

struct Reader<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn document(&mut self, max_depth: usize) -> Result<Value, JsonFault> {
        let value = self.value(max_depth)?;
        self.space();
        if self.at < self.bytes.len() { Err(JsonFault::Syntax) } else { Ok(value) }
    }

    fn value(&mut self, depth_left: usize) -> Result<Value, JsonFault> {
        if depth_left == 0 {
            return Err(JsonFault::TooDeep);
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth_left),
            Some(b'[') => self.array(depth_left),
            Some(b'"') => self.string().map(Value::Str),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(JsonFault::Syntax),
        }
    }

    fn object(&mut self, depth_left: usize) -> Result<Value, JsonFault> {
        self.at += 1;
        let mut members = Map::new();
        self.space();
        if self.take(b'}') {
            return Ok(Value::Map(members));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(JsonFault::Syntax);
            }
            let start = self.at;
            let key = self.string()?;
            self.space();
            self.expect(b':')?;
            let value = self.value(depth_left - 1)?;
            if members.insert(key, value).is_some() {
                self.at = start;
                return Err(JsonFault::DuplicateKey);
            }
            self.space();
            if self.take(b'}') {
                return Ok(Value::Map(members));
            }
            self.expect(b',')?;
        }
    }

    fn array(&mut self, depth_left: usize) -> Result<Value, JsonFault> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.take(b']') {
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value(depth_left - 1)?);
            self.space();
            if self.take(b']') {
                return Ok(Value::List(items));
            }
            self.expect(b',')?;
        }
    }

    fn string(&mut self) -> Result<String, JsonFault> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while self.peek().is_some_and(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
                self.at += 1;
            }
            // Both ends lie next to an ASCII byte, so this is always a character boundary.
            out.push_str(self.text.get(start..self.at).ok_or(JsonFault::Encoding)?);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return Err(JsonFault::Syntax),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonFault> {
        let byte = self.peek().ok_or(JsonFault::Syntax)?;
        self.at += 1;
        Ok(match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => {
                self.at -= 1;
                return Err(JsonFault::Syntax);
            }
        })
    }

    fn unicode_escape(&mut self) -> Result<char, JsonFault> {
        let first = self.hex4()?;
        if !(0xD800..0xE000).contains(&first) {
            return char::from_u32(first).ok_or(JsonFault::Surrogate);
        }
        if first >= 0xDC00 || !(self.take(b'\\') && self.take(b'u')) {
            return Err(JsonFault::Surrogate);
        }
        let second = self.hex4()?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(JsonFault::Surrogate);
        }
        char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)).ok_or(JsonFault::Surrogate)
    }

    fn hex4(&mut self) -> Result<u32, JsonFault> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16)).ok_or(JsonFault::Syntax)?;
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn number(&mut self) -> Result<Value, JsonFault> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        let value = number(self.text.get(start..self.at).ok_or(JsonFault::Syntax)?);
        if value.is_err() {
            self.at = start;
        }
        value
    }

    fn digits(&mut self) -> Result<(), JsonFault> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(JsonFault::Syntax) } else { Ok(()) }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonFault> {
        match self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            true => {
                self.at += word.len();
                Ok(value)
            }
            false => Err(JsonFault::Syntax),
        }
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonFault> {
        if self.take(byte) { Ok(()) } else { Err(JsonFault::Syntax) }
    }
}
