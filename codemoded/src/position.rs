//! A place in a text.

use std::fmt;

/// Both count from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    /// Where a fault of the whole text is shown.
    pub const START: Self = Self { line: 1, column: 1 };

    /// Where a byte of a text is.
    pub fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        Self { line, column: before.get(line_start..).unwrap_or_default().chars().count() + 1 }
    }

    /// The same where the bytes need not be text.
    pub fn in_bytes(bytes: &[u8], byte: usize) -> Self {
        let before = String::from_utf8_lossy(bytes.get(..byte).unwrap_or(bytes));
        Self::of(&before, before.len())
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}
