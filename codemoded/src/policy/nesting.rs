//! How deep a module's expressions go, seen from its text.
//!
//! The parser and everything after it recurse over an expression, and the parser tries a bracket several ways before
//! it decides, so its time doubles with each level. This looks at the text before it does.

/// Brackets within brackets.
const MAX_NESTING: usize = 16;
/// Operators and dots of one expression: each can be one level of the syntax tree.
const MAX_CHAIN: usize = 512;

/// Where a module goes too deep, and how.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooDeep {
    pub line: u32,
    pub what: &'static str,
}

/// Refuses a text that nests brackets or chains operators beyond the bounds. Knows strings and comments, and not
/// more: a text that is no Rego is the parser's to refuse.
pub(super) fn check(text: &str) -> Result<(), TooDeep> {
    let mut scan = Scan { line: 1, chains: vec![0], ..Scan::default() };
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\n' => {
                scan.line += 1;
                scan.new_line = true;
            }
            '#' => while chars.next_if(|&next| next != '\n').is_some() {},
            '"' => {
                scan.operand();
                while let Some(next) = chars.next_if(|&next| next != '\n') {
                    match next {
                        '"' => break,
                        '\\' => drop(chars.next_if(|&escaped| escaped != '\n')),
                        _ => {}
                    }
                }
            }
            '`' => {
                scan.operand();
                for next in chars.by_ref().take_while(|&next| next != '`') {
                    scan.line += u32::from(next == '\n');
                }
            }
            '(' | '[' | '{' => scan.open()?,
            ')' | ']' | '}' => scan.close(),
            ',' | ';' => scan.end_expression(),
            '+' | '-' | '*' | '/' | '%' | '|' | '&' | '=' | '!' | '<' | '>' | ':' | '.' => scan.operator()?,
            _ if char.is_whitespace() => {}
            _ => {
                let mut word = String::from(char);
                while let Some(next) = chars.next_if(|next| next.is_alphanumeric() || *next == '_') {
                    word.push(next);
                }
                match word.as_str() {
                    "in" | "not" => scan.operator()?,
                    _ => scan.operand(),
                }
            }
        }
    }
    Ok(())
}

#[derive(Default)]
struct Scan {
    line: u32,
    /// Operators so far of the expression that is open on each level.
    chains: Vec<usize>,
    after_operator: bool,
    /// A line ended since the last token.
    new_line: bool,
}

impl Scan {
    fn operand(&mut self) {
        // Two operands in a row on different lines are two expressions.
        if self.new_line && !self.after_operator {
            self.end_expression();
        }
        self.new_line = false;
        self.after_operator = false;
    }

    fn operator(&mut self) -> Result<(), TooDeep> {
        self.new_line = false;
        self.after_operator = true;
        self.lengthen()
    }

    fn open(&mut self) -> Result<(), TooDeep> {
        self.operand();
        self.lengthen()?;
        self.chains.push(0);
        match self.chains.len() > MAX_NESTING + 1 {
            true => Err(TooDeep { line: self.line, what: "brackets are nested more than 16 deep" }),
            false => Ok(()),
        }
    }

    fn close(&mut self) {
        self.new_line = false;
        self.after_operator = false;
        if self.chains.len() > 1 {
            self.chains.pop();
        }
    }

    fn end_expression(&mut self) {
        if let Some(chain) = self.chains.last_mut() {
            *chain = 0;
        }
    }

    fn lengthen(&mut self) -> Result<(), TooDeep> {
        let Some(chain) = self.chains.last_mut() else { return Ok(()) };
        *chain += 1;
        match *chain > MAX_CHAIN {
            true => Err(TooDeep { line: self.line, what: "an expression has more than 512 operators" }),
            false => Ok(()),
        }
    }
}
