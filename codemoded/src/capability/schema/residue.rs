//! What no rule of ours expresses (`not`, `if`, `contains`, dependencies, unevaluated members, choices too wide to
//! multiply out) goes to the JSON Schema library, which checks the subschema as a whole against the canonical value.

use jsonschema::{Draft, PatternOptions, Registry, ValidationError, Validator};
use serde_json::{Value as Text, json};

use super::diagnostic::{Diagnostic, Guess, Problem, Side, Step};
use super::effort;
use super::fault::SchemaFault;
use super::scan::{Dialect, Scan, SourceId};
use super::spelling::Spelling;
use super::text::PATTERN_SIZE_LIMIT;
use crate::value::Value;

/// The most subschemas of one schema that go to the library, each with all that it refers to.
const MAX_RESIDUES: usize = 200;

/// A validator's number in its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResidueId(pub(super) usize);

/// The library's validators, in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Residues(Vec<Residue>);

#[derive(Debug)]
struct Residue {
    validator: Validator,
    /// The deepest value that it can be trusted with.
    max_depth: usize,
}

impl Residues {
    pub(super) fn build(root: &Text, scan: &Scan<'_>, at: &[SourceId]) -> Result<Self, SchemaFault> {
        if at.is_empty() {
            return Ok(Self::default());
        }
        if at.len() > MAX_RESIDUES {
            return Err(SchemaFault::TooComplex);
        }
        let draft = match scan.dialect {
            Dialect::Draft7 => Draft::Draft7,
            Dialect::Modern => Draft::Draft202012,
        };
        let mut spelling = Spelling::of(draft);
        let plain = spelling.schema(root, &mut String::new());
        let base = scan.resources.root_uri().unwrap_or("urn:codemode:schema").to_owned();
        let fault =
            |at: String, error: &dyn std::fmt::Display| SchemaFault::Validator { at, reason: error.to_string() };
        let registry = Registry::new()
            .draft(draft)
            .retriever(Nothing)
            .add(&base, &plain)
            .and_then(jsonschema::RegistryBuilder::prepare)
            .map_err(|error| fault(String::new(), &error))?;
        let options = jsonschema::options()
            .with_draft(draft)
            .with_registry(&registry)
            .with_retriever(Nothing)
            .should_validate_formats(true)
            .with_pattern_options(
                PatternOptions::regex().size_limit(PATTERN_SIZE_LIMIT).dfa_size_limit(PATTERN_SIZE_LIMIT),
            );
        let depths = effort::depths(scan, at)?;
        let validators = at.iter().zip(depths).map(|(id, max_depth)| {
            let pointer = scan.pointer(*id);
            let fragment = percent_encoded(&spelling.moved_to(&pointer));
            let schema = json!({ "$ref": format!("{base}#{fragment}") });
            let validator = options.build(&schema).map_err(|error| fault(pointer, &error.masked()))?;
            Ok(Residue { validator, max_depth })
        });
        validators.collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the value meets the subschemas of these numbers.
    pub(super) fn check(&self, ids: &[ResidueId], side: Side, value: &Value) -> Result<(), Diagnostic> {
        if ids.is_empty() {
            return Ok(());
        }
        let text = value.to_serde();
        for id in ids {
            // A number without validator lets nothing pass.
            let Some(residue) = self.0.get(id.0) else { return Err(Diagnostic::new(side, Problem::Forbidden)) };
            if !value.depth_within(residue.max_depth) {
                return Err(Diagnostic::new(side, Problem::TooComplex));
            }
            residue.validator.validate(&text).map_err(|error| diagnostic(side, value, &error))?;
        }
        Ok(())
    }
}

/// Fetches nothing: what a schema does not hold does not exist.
struct Nothing;

#[derive(Debug, thiserror::Error)]
#[error("nothing is fetched")]
struct NothingIsFetched;

impl jsonschema::Retrieve for Nothing {
    fn retrieve(
        &self,
        _uri: &jsonschema::Uri<String>,
    ) -> Result<Text, Box<dyn std::error::Error + Send + Sync + 'static>> {
        Err(Box::new(NothingIsFetched))
    }
}

fn diagnostic(side: Side, value: &Value, error: &ValidationError<'_>) -> Diagnostic {
    use jsonschema::error::ValidationErrorKind as Kind;
    let mut steps = steps(value, &error.instance_path().to_string());
    let problem = match error.kind() {
        Kind::Required { property } => {
            steps.extend(property.as_str().map(|name| Step::Name(name.to_owned())));
            Problem::Missing
        }
        Kind::UnevaluatedProperties { unexpected } | Kind::AdditionalProperties { unexpected } => {
            steps.extend(unexpected.first().map(|name| Step::Name(name.clone())));
            Problem::Unknown(Guess::OneOf(Vec::new()))
        }
        // Null beside a subschema was spelled as a choice: what matters is why the subschema does not fit.
        Kind::AnyOf { context } if wraps_null(context) => {
            return context
                .first()
                .and_then(|errors| errors.first())
                .map_or_else(|| Diagnostic::new(side, Problem::Forbidden), |error| diagnostic(side, value, error));
        }
        kind => Problem::Must(format!("satisfy the keyword `{}` of its schema", kind.keyword())),
    };
    steps.into_iter().rev().fold(Diagnostic::new(side, problem), Diagnostic::inside)
}

/// Whether the alternatives are a subschema and null.
fn wraps_null(context: &[Vec<ValidationError<'_>>]) -> bool {
    use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
    let is_null = |error: &ValidationError<'_>| {
        matches!(error.kind(), Kind::Type { kind: TypeKind::Single(jsonschema::JsonType::Null) })
    };
    matches!(context, [_, null] if matches!(null.as_slice(), [error] if is_null(error)))
}

/// A JSON pointer into the value, as the steps of a diagnostic.
fn steps(value: &Value, pointer: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut current = Some(value);
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let (step, next) = match current {
            Some(Value::List(items)) => {
                let index = token.parse().unwrap_or(usize::MAX);
                (Step::Index(index), items.get(index))
            }
            Some(Value::Map(members)) => {
                let next = members.get(&token);
                (Step::Name(token), next)
            }
            _ => break,
        };
        steps.push(step);
        current = next;
    }
    steps
}

fn percent_encoded(pointer: &str) -> String {
    pointer.bytes().fold(String::with_capacity(pointer.len()), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b'$' => out.push(byte.into()),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
        out
    })
}
