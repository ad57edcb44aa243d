//! The three sources of settings, merged: the file, then the environment, then flags. A later one wins.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use figment::value::{Dict, Map, Tag, Value};
use figment::{Error, Figment, Metadata, Profile, Provider, Source};
use toml_edit::{Document, Item};

use super::fault::{ConfigFault, Problem};
use super::place::{KeyPath, Place};
use crate::file::{self, FileFault};
use crate::position::Position;

const PREFIX: &str = "CODEMODE_";
const SEPARATOR: &str = "__";
/// Of a configuration file.
const MAX_BYTES: u64 = 16 << 20;

/// Where settings come from.
#[derive(Clone)]
pub struct Sources {
    file: PathBuf,
    environment: Vec<(String, OsString)>,
    flags: Vec<Flag>,
}

/// A command-line flag that sets one key, such as `--listen` for `server.listen`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// As the user typed it, for messages.
    pub name: String,
    /// The dotted key.
    pub key: String,
    pub value: String,
}

/// The sources read and merged, before anything is typed.
pub(super) struct Merged {
    pub(super) figment: Figment,
    pub(super) document: Document<String>,
    pub(super) name: Arc<str>,
    pub(super) tree: Value,
    /// The text of values that a variable or flag gave, for where a key wants text that looks like a number.
    pub(super) texts: BTreeMap<KeyPath, Value>,
}

/// Which source set a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    File,
    Environment,
    Flag,
}

/// The configuration file as a provider. Read with the parser that also knows places, so that there is one grammar.
struct FileSettings<'a> {
    path: &'a Path,
    document: &'a Document<String>,
}

/// One variable or flag as a provider of its own, so that each value's tag leads back to its name.
struct Setting {
    origin: Origin,
    name: String,
    key: KeyPath,
    value: Value,
}

impl Sources {
    /// Keeps of the environment what is a setting: `CODEMODE_SECTION__KEY`. A variable without `__` is none, so that
    /// those which Kubernetes sets for a service of that name do no harm.
    pub fn new(
        file: impl Into<PathBuf>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        flags: impl IntoIterator<Item = Flag>,
    ) -> Self {
        let settings = environment.into_iter().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            name.strip_prefix(PREFIX)?.contains(SEPARATOR).then_some((name, value))
        });
        let mut environment: Vec<_> = settings.collect();
        environment.sort();
        Self { file: file.into(), environment, flags: flags.into_iter().collect() }
    }

    /// The same environment and flags over another file.
    #[must_use]
    pub fn with_file(&self, file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), ..self.clone() }
    }

    /// The configuration file, as it was given.
    pub fn file(&self) -> &Path {
        &self.file
    }

    pub(super) fn merge(&self) -> Result<Merged, Vec<ConfigFault>> {
        let name: Arc<str> = self.file.display().to_string().into();
        let document = read_document(&self.file, &name).map_err(|fault| vec![*fault])?;
        let mut figment = Figment::from(FileSettings { path: &self.file, document: &document });
        let mut texts = BTreeMap::new();
        let mut faults = Vec::new();
        for setting in self.settings() {
            match setting {
                Ok((setting, text)) => {
                    texts.insert(setting.key.clone(), Value::from(text));
                    figment = figment.merge(setting);
                }
                Err(fault) => faults.push(*fault),
            }
        }
        let tree = match figment.find_value("") {
            Ok(tree) => tree,
            Err(_) => Value::from(Dict::new()),
        };
        if faults.is_empty() { Ok(Merged { figment, document, name, tree, texts }) } else { Err(faults) }
    }

    /// Every variable, then every flag.
    fn settings(&self) -> impl Iterator<Item = Result<(Setting, String), Box<ConfigFault>>> {
        let environment = self.environment.iter().map(|(name, value)| {
            let lower = name.strip_prefix(PREFIX).unwrap_or(name).to_ascii_lowercase();
            let key = KeyPath::new(lower.split(SEPARATOR));
            match value.to_str() {
                Some(text) => Ok((Setting::new(Origin::Environment, name, key, text), text.to_owned())),
                None => Err(Box::new(ConfigFault {
                    place: Place::Override { name: name.clone() },
                    key,
                    problem: Problem::Refused("must be UTF-8".to_owned()),
                })),
            }
        });
        let flags = self.flags.iter().map(|flag| {
            let key = KeyPath::new(flag.key.split('.'));
            Ok((Setting::new(Origin::Flag, &flag.name, key, &flag.value), flag.value.clone()))
        });
        environment.chain(flags)
    }
}

/// The environment may hold secrets.
impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Origin {
    const ENVIRONMENT: &'static str = "environment";
    const FLAG: &'static str = "flag";

    pub(super) fn of(metadata: &Metadata) -> Self {
        match metadata.source.as_ref().and_then(Source::custom) {
            Some(Self::ENVIRONMENT) => Self::Environment,
            Some(Self::FLAG) => Self::Flag,
            Some(_) | None => Self::File,
        }
    }

    fn source(self, file: &Path) -> Source {
        match self {
            Self::File => Source::from(file),
            Self::Environment => Source::from(Self::ENVIRONMENT),
            Self::Flag => Source::from(Self::FLAG),
        }
    }
}

impl Setting {
    fn new(origin: Origin, name: &str, key: KeyPath, text: &str) -> Self {
        Self { origin, name: name.to_owned(), key, value: parse(text) }
    }
}

impl Provider for FileSettings<'_> {
    fn metadata(&self) -> Metadata {
        Metadata::named("configuration file").source(Origin::File.source(self.path))
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        let root = value(self.document.as_item()).into_dict().unwrap_or_default();
        Ok(Profile::Default.collect(root))
    }
}

impl Provider for Setting {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name.clone()).source(self.origin.source(Path::new("")))
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        let nested =
            self.key.steps().iter().rfold(self.value.clone(), |inner, step| {
                Value::Dict(Tag::Default, Dict::from([(step.clone(), inner)]))
            });
        Ok(Profile::Default.collect(nested.into_dict().unwrap_or_default()))
    }
}

/// A text as a variable or flag gives it: a number, a boolean, `[a, b]`, `{a = b}` or else a string.
pub(super) fn parse(text: &str) -> Value {
    match text.parse() {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

fn read_document(path: &Path, name: &Arc<str>) -> Result<Document<String>, Box<ConfigFault>> {
    let fault = |at, problem| {
        let place = Place::File { name: Arc::clone(name), position: at };
        Box::new(ConfigFault { place, key: KeyPath::root(), problem })
    };
    let text = file::read_text(path, MAX_BYTES).map_err(|cause| match cause {
        FileFault::NotText { at, .. } => fault(Some(at), Problem::NotText),
        cause => fault(None, Problem::UnreadableConfiguration(cause)),
    })?;
    Document::parse(text.clone()).map_err(|error| {
        let at = error.span().map(|span| Position::of(&text, span.start));
        let mut message = error.message().trim().replace('\n', "; ");
        // The parser does not say which; of anything else, what stands there may be a secret.
        if let Some(key) = error.span().and_then(|span| text.get(span)).filter(|_| message == "duplicate key") {
            message = format!("{message} `{key}`");
        }
        fault(at, Problem::Syntax(message))
    })
}

fn value(item: &Item) -> Value {
    match item {
        Item::None => Value::from(Dict::new()),
        Item::Value(inner) => scalar(inner),
        Item::Table(table) => Value::from(table.iter().map(|(key, item)| (key, value(item))).collect::<Map<_, _>>()),
        Item::ArrayOfTables(tables) => Value::from(
            tables
                .iter()
                .map(|table| Value::from(table.iter().map(|(key, item)| (key, value(item))).collect::<Map<_, _>>()))
                .collect::<Vec<_>>(),
        ),
    }
}

/// A date or time becomes its text: no key of ours wants one, and a plugin reads it as a string.
fn scalar(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => Value::from(*number.value()),
        toml_edit::Value::Boolean(truth) => Value::from(*truth.value()),
        toml_edit::Value::Datetime(time) => Value::from(time.value().to_string()),
        toml_edit::Value::Array(items) => Value::from(items.iter().map(scalar).collect::<Vec<_>>()),
        toml_edit::Value::InlineTable(table) => {
            Value::from(table.iter().map(|(key, inner)| (key, scalar(inner))).collect::<Map<_, _>>())
        }
    }
}
