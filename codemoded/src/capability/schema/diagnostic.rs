//! Why a value does not fit its schema, in the words that a program's author reads.

use std::fmt;

/// One fault of one value: where it is and what must hold there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    side: Side,
    /// Innermost first: a fault is wrapped on its way out.
    steps: Vec<Step>,
    problem: Problem,
    or_none: bool,
}

/// Which way the value was going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Input,
    Output,
}

/// One level of the path to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A declared property.
    Name(String),
    /// A key of a dict.
    Key(String),
    /// An item of a list.
    Index(usize),
}

/// What is wrong with the value at the end of the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// None of the expected types or values: `a string`, `None`, `"open"`.
    Type { expected: Vec<String> },
    /// No such property; the nearest declared one where there is one.
    Unknown(Guess),
    /// A required property is absent.
    Missing,
    /// A dict with a key that is no string.
    KeysNotStrings,
    /// An integer outside 64 bits for a 64-bit field.
    OverflowsInt64,
    /// More digits than any crossing integer may have.
    TooManyDigits,
    /// NaN or infinite.
    NotFinite,
    /// A value that no program can hand over: a function, a range.
    Unsupported { kind: String },
    /// No value is possible here.
    Forbidden,
    /// A constraint, said as what follows `must`.
    Must(String),
    /// A dict with a key that does not fit.
    Key { key: String, fault: Box<Diagnostic> },
    /// More than one alternative of an exclusive choice fits.
    Ambiguous { alternatives: String },
    /// Checking it would take too long.
    TooComplex,
}

/// What may have been meant by a name that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guess {
    Near(String),
    /// Nothing is near; these are some of those known.
    OneOf(Vec<String>),
}

impl Guess {
    pub(super) fn at<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Self {
        /// A long list teaches less than the description does.
        const MOST_TOLD: usize = 12;
        match nearest(name, known.clone()) {
            Some(near) => Self::Near(near.to_owned()),
            None => Self::OneOf(known.take(MOST_TOLD).map(str::to_owned).collect()),
        }
    }
}

impl Diagnostic {
    pub fn new(side: Side, problem: Problem) -> Self {
        Self { side, steps: Vec::new(), problem, or_none: false }
    }

    /// A fault of an argument.
    pub fn argument(problem: Problem) -> Self {
        Self::new(Side::Input, problem)
    }

    /// The same fault, seen from one level further out.
    #[must_use]
    pub fn inside(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The dotted path to the value, empty for the value as a whole.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in self.steps.iter().rev() {
            step.append_to(&mut path);
        }
        path
    }

    /// The path to another member of the same object.
    fn beside(&self, name: &str) -> String {
        let mut path = String::new();
        let outer = self.steps.iter().skip(1).rev();
        for step in outer.chain([&Step::Name(name.to_owned())]) {
            step.append_to(&mut path);
        }
        path
    }

    /// How deep the fault lies.
    pub(super) fn depth(&self) -> usize {
        self.steps.len()
    }

    /// The field may also be left out, so the text of a wrong type says so.
    pub(super) fn or_none(mut self) -> Self {
        self.or_none |= self.steps.is_empty();
        self
    }
}

impl Step {
    fn append_to(&self, path: &mut String) {
        match self {
            Self::Name(name) | Self::Key(name) if path.is_empty() => path.push_str(&shown(name)),
            Self::Name(name) if is_identifier(name) => {
                path.push('.');
                path.push_str(name);
            }
            Self::Name(name) | Self::Key(name) => {
                path.push_str("['");
                path.push_str(&shown(name).replace('\\', "\\\\").replace('\'', "\\'"));
                path.push_str("']");
            }
            Self::Index(index) => path.push_str(&format!("[{index}]")),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        let noun = match self.side {
            Side::Input => "argument",
            Side::Output => "output field",
        };
        match &self.problem {
            Problem::Unknown(guess) => {
                write!(f, "unknown {noun} \"{path}\"")?;
                match guess {
                    Guess::Near(near) => {
                        write!(f, "; did you mean \"{}\"?", self.beside(near))?;
                        match self.steps.len() == 1 && !is_identifier(near) {
                            true => write!(f, " It is passed as `**{{\"{}\": x}}`", shown(near)),
                            false => Ok(()),
                        }
                    }
                    Guess::OneOf(known) if known.is_empty() => Ok(()),
                    Guess::OneOf(known) => {
                        let known: Vec<_> = known.iter().map(|name| format!("\"{}\"", shown(name))).collect();
                        write!(f, "; there is {}", known.join(", "))
                    }
                }
            }
            Problem::Missing => write!(f, "missing required {noun} \"{path}\""),
            problem => {
                match (path.is_empty(), self.side) {
                    (true, Side::Input) => f.write_str("the arguments")?,
                    (true, Side::Output) => f.write_str("the output")?,
                    (false, _) => write!(f, "{noun} \"{path}\"")?,
                }
                write!(f, " {}", Predicate { problem, or_none: self.or_none })
            }
        }
    }
}

impl std::error::Error for Diagnostic {}

struct Predicate<'a> {
    problem: &'a Problem,
    or_none: bool,
}

impl fmt::Display for Predicate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problem {
            Problem::Type { expected } => {
                let none = (self.or_none && expected.last().is_none_or(|last| last != "None")).then_some("None");
                let words: Vec<_> = expected.iter().map(String::as_str).chain(none).collect();
                write!(f, "must be {}", either(&words))
            }
            Problem::KeysNotStrings => f.write_str("keys must be strings"),
            Problem::OverflowsInt64 => f.write_str("overflows int64"),
            Problem::TooManyDigits => f.write_str("has more than 1,000 digits"),
            Problem::NotFinite => f.write_str("is not finite"),
            Problem::Unsupported { kind } => write!(f, "cannot be a {kind}"),
            Problem::Forbidden => f.write_str("is not allowed"),
            Problem::Must(constraint) => write!(f, "must {constraint}"),
            Problem::Key { key, fault } => {
                let predicate = Predicate { problem: &fault.problem, or_none: false };
                write!(f, "key \"{}\" {predicate}", shown(key))
            }
            Problem::Ambiguous { alternatives } => write!(f, "must match only one of {alternatives}"),
            Problem::TooComplex => f.write_str("must be simpler: checking it takes too long"),
            Problem::Unknown(_) => f.write_str("is unknown"),
            Problem::Missing => f.write_str("is missing"),
        }
    }
}

/// `a, b or c`.
pub(super) fn either(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, first)) => format!("{} or {last}", first.join(", ")),
        None => "absent".to_owned(),
    }
}

/// Whether the text can stand unquoted as a parameter or after a dot.
pub(in crate::capability) fn is_identifier(text: &str) -> bool {
    text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !crate::capability::RESERVED_WORDS.contains(&text)
}

/// The name as a text can show it: no control characters, and not all of a long one.
fn shown(name: &str) -> String {
    const MAX_CHARS: usize = 80;
    let mut shown: String =
        name.chars().take(MAX_CHARS).map(|char| if char.is_control() { ' ' } else { char }).collect();
    if name.chars().nth(MAX_CHARS).is_some() {
        shown.push_str("...");
    }
    shown
}

/// The known name that was most likely meant, where one is near enough.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // A third of the letters may be wrong, at least one and at most three.
    let allowed = (name.chars().count() / 3).clamp(1, 3);
    known
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
