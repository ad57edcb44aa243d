//! The format specifications of f-strings, such as `:.2f`: found in the text and covered, for the interpreter's parser
//! knows none. What covers them has their length, so every place in the text stays what it is. The brackets are found
//! on the way.

use std::ops::Range;

use super::brackets::{Brackets, Follower};
use super::spec::{Spec, SpecFailure};

/// A source whose format specifications are covered.
#[derive(Debug)]
pub(super) struct Covered {
    pub(super) text: String,
    /// In the order of the text.
    pub(super) fields: Vec<Field>,
    pub(super) brackets: Brackets,
}

/// One specification: from its colon to the closing brace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) place: Range<usize>,
    /// Without the colon.
    pub(super) spec: String,
}

/// Covers the specifications of all f-strings, or says where one cannot be read.
pub(super) fn cover(written: &str) -> Result<Covered, (usize, SpecFailure)> {
    let mut scanner = Scanner { bytes: written.as_bytes(), at: 0, places: Vec::new(), follower: Follower::default() };
    scanner.code();
    let mut text = written.to_owned();
    let mut fields = Vec::new();
    for place in scanner.places {
        let Some(spec) = written.get(place.start + 1..place.end) else { continue };
        Spec::read(spec).map_err(|failure| (place.start, failure))?;
        text.replace_range(place.clone(), &" ".repeat(place.len()));
        fields.push(Field { spec: spec.to_owned(), place });
    }
    Ok(Covered { text, fields, brackets: scanner.follower.brackets(written.len()) })
}

/// Follows strings, comments and brackets as the interpreter's lexer does. What it cannot follow it leaves to the parser.
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    places: Vec<Range<usize>>,
    follower: Follower,
}

impl Scanner<'_> {
    fn code(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'#' => self.skip_line(),
                b'"' | b'\'' => self.string(),
                _ => {
                    self.bracket(byte);
                    self.at += 1;
                }
            }
        }
    }

    fn bracket(&mut self, byte: u8) {
        match byte {
            b'(' | b'[' | b'{' => self.follower.open(self.at, false),
            b')' | b']' | b'}' => self.follower.close(self.at),
            _ => {}
        }
    }

    /// From the opening quote to behind the closing one.
    fn string(&mut self) {
        let is_format = self.is_format();
        let quote = self.quote();
        self.at += quote.len();
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.at += 2,
                _ if self.rest().starts_with(&quote) => {
                    self.at += quote.len();
                    return;
                }
                b'\n' if quote.len() == 1 => return,
                b'{' if is_format && self.rest().starts_with(b"{{") => self.at += 2,
                b'{' if is_format => {
                    let depth = self.follower.depth();
                    self.follower.open(self.at, true);
                    self.at += 1;
                    self.field(quote.len() == 3);
                    while self.follower.depth() > depth {
                        self.follower.close(self.at - 1);
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// From behind the opening brace to behind the closing one.
    fn field(&mut self, may_break: bool) {
        let outside = self.follower.depth();
        while let Some(byte) = self.peek() {
            match byte {
                b'"' | b'\'' => {
                    self.string();
                    continue;
                }
                b'}' if self.follower.depth() == outside => {
                    self.at += 1;
                    return;
                }
                b':' if self.follower.depth() == outside => return self.spec(),
                b'\n' if !may_break => return,
                _ => self.bracket(byte),
            }
            self.at += 1;
        }
    }

    /// From the colon to behind the closing brace. A field inside is part of it, for it is to be refused as one.
    fn spec(&mut self) {
        let start = self.at;
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'{' => depth += 1,
                b'}' if depth == 0 => {
                    self.places.push(start..self.at);
                    self.at += 1;
                    return;
                }
                b'}' => depth -= 1,
                b'"' | b'\'' | b'\n' => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// The quote that opens here, one or three characters.
    fn quote(&self) -> Vec<u8> {
        match self.rest() {
            [a, b, c, ..] if a == b && b == c => vec![*a; 3],
            [a, ..] => vec![*a],
            [] => Vec::new(),
        }
    }

    /// Whether the letters before a quote make it an f-string.
    fn is_format(&self) -> bool {
        let before = self.bytes.get(..self.at).unwrap_or_default();
        let letters = before.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        matches!(before.get(before.len() - letters..), Some(b"f" | b"fr" | b"rf"))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, specs: &[&str]) {
        let covered = cover(written).unwrap();
        assert_eq!(covered.fields.iter().map(|field| field.spec.as_str()).collect::<Vec<_>>(), specs);
        assert_eq!(covered.text.len(), written.len());
        let uncovered = covered.fields.iter().fold(covered.text, |mut text, field| {
            text.replace_range(field.place.clone(), &format!(":{}", field.spec));
            text
        });
        assert_eq!(uncovered, written);
    }

    #[test]
    fn specifications_are_found_wherever_they_stand() {
        check("f\"{x:.2f} and {y!r:>10}\"", &[".2f", ">10"]);
        check("f'''{\nx:3}''' + f'{x:5}'", &["3", "5"]);
        check("f\"{d['a:b']:^8}{x[1:2]}{ {1: 2}[1]:d}\"", &["^8", "d"]);
        check("f\"{f'{x:3}':>5}\"", &["3", ">5"]);
        check("rf'{x:·<4}' + fr\"{y:4}\"", &["·<4", "4"]);
    }

    #[test]
    fn what_is_no_f_string_is_left_alone() {
        check("# f\"{x:.2f}\"\n'{x:.2f}' + \"f'{x:3}'\" + \"\"\"f\"{x:3}\" \"\"\" + r'\\' + \"{{\"", &[]);
        check("f\"{{x:3}} {x}\"", &[]);
        check("def f(x: int) -> str: pass", &[]);
        check("if\"{x:3}\" == y: pass", &[]);
        check("f\"{x", &[]);
        check("f\"{x:3", &[]);
    }

    #[test]
    fn one_that_cannot_be_read_is_told_with_its_place() {
        assert_eq!(cover("x = f\"{y:{w}}\"").unwrap_err(), (8, SpecFailure::Nested));
        assert_eq!(cover("f\"{y:.}\"").unwrap_err(), (4, SpecFailure::Unreadable(".".to_owned())));
    }
}
