//! The capabilities that a policy's rules name, so that a name which no capability has can be told: the rule it stands
//! in never grants anything, or never refuses anything.

use regorus::unstable::{AssignOp, BoolOp, Expr};

use super::load::Parsed;
use super::source::Place;
use super::syntax;
use crate::capability::catalog::Catalog;

/// A text that a rule compares with the ID or the name of the capability that is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    place: Place,
    of: Of,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Id,
    Name,
}

/// A comparison with a capability that is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stranger {
    #[error("{place}: no capability has the ID `{text}`")]
    NoId { place: Place, text: String },
    #[error("{place}: no capability has the ID `{text}`; it is the name of the one with the ID `{id}`")]
    IsName { place: Place, text: String, id: String },
    #[error("{place}: no capability has the name `{text}`; it is the ID of the one with the name `{name}`")]
    IsId { place: Place, text: String, name: String },
}

/// What a module compares so: by `==`, `!=` or `=` with a string, or by `in` with strings that are written out.
pub(super) fn mentions(parsed: &Parsed<'_>) -> Vec<Mention> {
    let mut found = Vec::new();
    syntax::expressions(&parsed.module, &mut |whole, _| {
        let (of, texts) = match whole {
            Expr::BoolExpr { op: BoolOp::Eq | BoolOp::Ne, lhs, rhs, .. }
            | Expr::AssignExpr { op: AssignOp::Eq, lhs, rhs, .. } => match (of(lhs), of(rhs)) {
                (Some(of), None) => (of, vec![rhs]),
                (None, Some(of)) => (of, vec![lhs]),
                (Some(_), Some(_)) | (None, None) => return,
            },
            Expr::Membership { value, collection, .. } => match (of(value), collection.as_ref()) {
                (Some(of), Expr::Array { items, .. } | Expr::Set { items, .. }) => (of, items.iter().collect()),
                _ => return,
            },
            _ => return,
        };
        let place = |text: &Expr| Place::at(&parsed.text.path, text.span().line);
        let mention = |each: &Expr| Some(Mention { place: place(each), of, text: syntax::string(each)? });
        found.extend(texts.into_iter().filter_map(|each| mention(each)));
    });
    found
}

/// Which of the two an expression is.
fn of(expr: &Expr) -> Option<Of> {
    match syntax::static_path(expr)?.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["input", "capability", "id"] => Some(Of::Id),
        ["input", "capability", "name"] => Some(Of::Name),
        _ => None,
    }
}

impl Mention {
    /// A name that nothing has may be a disabled capability's, of which only the ID is known.
    pub(super) fn stranger(&self, catalog: &Catalog) -> Option<Stranger> {
        let Self { place, of, text } = self;
        let (place, text) = (place.clone(), text.clone());
        let (named, identified) = (catalog.get(&text), catalog.by_id(&text));
        match (of, identified, named) {
            (Of::Id, Some(_), _) | (Of::Name, _, Some(_)) | (Of::Name, None, None) => None,
            (Of::Id, None, _) if catalog.disabled().iter().any(|id| id.as_str() == text) => None,
            (Of::Id, None, Some(other)) => Some(Stranger::IsName { place, text, id: other.id.as_str().to_owned() }),
            (Of::Id, None, None) => Some(Stranger::NoId { place, text }),
            (Of::Name, Some(other), None) => Some(Stranger::IsId { place, text, name: other.name.as_str().to_owned() }),
        }
    }
}
