//! What a module's syntax tree says of its rules and calls.

use std::path::Path;

use regorus::Value;
use regorus::unstable::{Expr, Import, Literal, LiteralStmt, Module, Query, Ref, Rule, RuleHead, Span};

use super::source::Place;

/// A path below `data`, component by component, `data` first.
pub(super) type DataPath = Vec<String>;

/// One function call, of a built-in or of the policy's own.
pub(super) struct Call<'a> {
    pub function: &'a Expr,
    pub arguments: &'a [Ref<Expr>],
    pub span: &'a Span,
    /// The whole of a statement, so that its value is used by nobody.
    pub is_statement: bool,
}

/// One rule definition.
pub(super) struct Definition {
    pub path: DataPath,
    pub is_function: bool,
    pub place: Place,
    pub is_default: bool,
    /// It is a default whose value is no constant.
    pub computed_default: bool,
    /// The register machine takes it for something else: it drops the default of a function, and joins the sets of
    /// all keys where a partial set's head has a computed key.
    pub is_misread: bool,
}

/// Every definition of the module.
pub(super) fn definitions(file: &Path, module: &Module) -> Vec<Definition> {
    let package = package(module);
    let define = |rule: &Ref<Rule>| {
        let (refr, is_function, computed_default, is_misread) = match rule.as_ref() {
            Rule::Spec { head: RuleHead::Compr { refr, .. }, .. } => (refr, false, false, false),
            Rule::Spec { head: RuleHead::Set { refr, .. }, .. } => (refr, false, false, static_path(refr).is_none()),
            Rule::Spec { head: RuleHead::Func { refr, .. }, .. } => (refr, true, false, false),
            Rule::Default { refr, args, value, .. } => (refr, !args.is_empty(), !is_literal(value), !args.is_empty()),
        };
        let mut path = package.clone();
        path.extend(static_prefix(refr));
        let (place, is_default) = (Place::at(file, rule.span().line), matches!(rule.as_ref(), Rule::Default { .. }));
        Definition { path, is_function, place, is_default, computed_default, is_misread }
    };
    module.policy.iter().map(define).collect()
}

/// The module's package, `data` first.
pub(super) fn package(module: &Module) -> DataPath {
    let mut path = vec!["data".to_owned()];
    path.extend(static_prefix(&module.package.refr));
    path
}

/// The paths that a called name can mean, the most likely first: the name itself, through an import, in the package.
pub(super) fn meanings(module: &Module, function: &Expr) -> Vec<DataPath> {
    let Some(name) = static_path(function) else { return Vec::new() };
    let mut meanings = vec![name.clone()];
    if let Some((alias, rest)) = name.split_first() {
        let import = module.imports.iter().find(|import| import_alias(import).as_ref() == Some(alias));
        if let Some(target) = import.and_then(|import| static_path(&import.refr)) {
            meanings.push(target.into_iter().chain(rest.iter().cloned()).collect());
        }
    }
    let mut local = package(module);
    local.extend(name);
    meanings.push(local);
    meanings
}

/// A called name as it is written for a built-in.
pub(super) fn dotted(function: &Expr) -> String {
    static_path(function).map_or_else(|| function.span().text().to_owned(), |path| path.join("."))
}

/// The path in the engine's spelling.
pub(super) fn canonical(path: &[String]) -> String {
    let mut text = String::new();
    for component in path {
        if is_identifier(component) {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(component);
        } else {
            let quoted = serde_json::Value::from(component.as_str());
            text.push_str(&format!("[{quoted}]"));
        }
    }
    text
}

/// Reads `data.package.rule`, with `["…"]` where a component is no identifier; nothing where it is not ground.
pub(super) fn ground(reference: &str) -> Option<DataPath> {
    let mut path = Vec::new();
    let mut rest = reference;
    while !rest.is_empty() {
        let (component, after) = match rest.strip_prefix('[') {
            Some(inner) if !path.is_empty() => {
                let mut texts = serde_json::Deserializer::from_str(inner).into_iter::<String>();
                let component = texts.next()?.ok()?;
                (component, inner.get(texts.byte_offset()..)?.strip_prefix(']')?)
            }
            _ => {
                let named = if path.is_empty() { rest } else { rest.strip_prefix('.')? };
                let end = named.find(['.', '[']).unwrap_or(named.len());
                let (component, after) = named.split_at_checked(end)?;
                (is_identifier(component).then(|| component.to_owned())?, after)
            }
        };
        path.push(component);
        rest = after;
    }
    (path.len() >= 3 && path.first().is_some_and(|root| root == "data")).then_some(path)
}

/// A constant: literals, and collections of them.
pub(super) fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::String { .. } | Expr::RawString { .. } | Expr::Number { .. } | Expr::Bool { .. } | Expr::Null { .. } => {
            true
        }
        Expr::UnaryExpr { expr, .. } => is_literal(expr),
        Expr::Array { items, .. } | Expr::Set { items, .. } => items.iter().all(|item| is_literal(item)),
        Expr::Object { fields, .. } => fields.iter().all(|(_, key, value)| is_literal(key) && is_literal(value)),
        _ => false,
    }
}

/// Shows every call in the module, wherever it stands.
pub(super) fn calls<'a>(module: &'a Module, seen: &mut dyn FnMut(Call<'a>)) {
    expressions(module, &mut |whole, is_statement| {
        if let Expr::Call { span, fcn, params, .. } = whole {
            seen(Call { function: fcn, arguments: params, span, is_statement });
        }
    });
}

/// Shows every expression in the module, the outer before the inner, and whether it is a whole statement.
pub(super) fn expressions<'a>(module: &'a Module, seen: &mut dyn FnMut(&'a Expr, bool)) {
    for rule in &module.policy {
        match rule.as_ref() {
            Rule::Spec { head, bodies, .. } => {
                let (refr, assign) = match head {
                    RuleHead::Compr { refr, assign, .. } => (refr, assign.as_ref()),
                    RuleHead::Set { refr, key, .. } => {
                        key.iter().for_each(|key| expr(key, seen));
                        (refr, None)
                    }
                    RuleHead::Func { refr, args, assign, .. } => {
                        args.iter().for_each(|arg| expr(arg, seen));
                        (refr, assign.as_ref())
                    }
                };
                expr(refr, seen);
                assign.into_iter().for_each(|assign| expr(&assign.value, seen));
                for body in bodies {
                    body.assign.iter().for_each(|assign| expr(&assign.value, seen));
                    query(&body.query, seen);
                }
            }
            Rule::Default { value, .. } => expr(value, seen),
        }
    }
}

fn query<'a>(query: &'a Query, seen: &mut dyn FnMut(&'a Expr, bool)) {
    for statement in &query.stmts {
        literal(statement, seen);
        statement.with_mods.iter().for_each(|modifier| expr(&modifier.r#as, seen));
    }
}

fn literal<'a>(statement: &'a LiteralStmt, seen: &mut dyn FnMut(&'a Expr, bool)) {
    match &statement.literal {
        Literal::SomeVars { .. } => {}
        Literal::SomeIn { key, value, collection, .. } => {
            key.iter().chain([value, collection]).for_each(|part| expr(part, seen));
        }
        Literal::Expr { expr: whole, .. } => {
            seen(whole, true);
            parts(whole, seen);
        }
        Literal::NotExpr { expr: negated, .. } => expr(negated, seen),
        Literal::Every { domain, query: body, .. } => {
            expr(domain, seen);
            query(body, seen);
        }
    }
}

fn expr<'a>(whole: &'a Expr, seen: &mut dyn FnMut(&'a Expr, bool)) {
    seen(whole, false);
    parts(whole, seen);
}

fn parts<'a>(whole: &'a Expr, seen: &mut dyn FnMut(&'a Expr, bool)) {
    match whole {
        Expr::Call { params, .. } => params.iter().for_each(|param| expr(param, seen)),
        Expr::Array { items, .. } | Expr::Set { items, .. } => items.iter().for_each(|item| expr(item, seen)),
        Expr::Object { fields, .. } => fields.iter().for_each(|(_, key, value)| {
            expr(key, seen);
            expr(value, seen);
        }),
        Expr::ArrayCompr { term, query: body, .. } | Expr::SetCompr { term, query: body, .. } => {
            expr(term, seen);
            query(body, seen);
        }
        Expr::ObjectCompr { key, value, query: body, .. } => {
            expr(key, seen);
            expr(value, seen);
            query(body, seen);
        }
        Expr::UnaryExpr { expr: operand, .. } => expr(operand, seen),
        Expr::RefDot { refr, .. } => expr(refr, seen),
        Expr::RefBrack { refr, index, .. } => {
            expr(refr, seen);
            expr(index, seen);
        }
        Expr::BinExpr { lhs, rhs, .. }
        | Expr::BoolExpr { lhs, rhs, .. }
        | Expr::ArithExpr { lhs, rhs, .. }
        | Expr::AssignExpr { lhs, rhs, .. } => {
            expr(lhs, seen);
            expr(rhs, seen);
        }
        Expr::Membership { key, value, collection, .. } => {
            key.iter().chain([value, collection]).for_each(|part| expr(part, seen));
        }
        Expr::String { .. }
        | Expr::RawString { .. }
        | Expr::Number { .. }
        | Expr::Bool { .. }
        | Expr::Null { .. }
        | Expr::Var { .. } => {}
    }
}

fn import_alias(import: &Import) -> Option<String> {
    match &import.r#as {
        Some(alias) => Some(alias.text().to_owned()),
        None => static_path(&import.refr)?.pop(),
    }
}

/// The whole reference, where every component is fixed.
pub(super) fn static_path(reference: &Expr) -> Option<DataPath> {
    let path = static_prefix(reference);
    (path.len() == components(reference).len()).then_some(path)
}

/// The components before the first that is computed.
fn static_prefix(reference: &Expr) -> DataPath {
    components(reference).into_iter().map_while(|component| component).collect()
}

/// A reference's components in order; none in place of a computed one.
fn components(reference: &Expr) -> Vec<Option<String>> {
    let mut components = Vec::new();
    let mut rest = reference;
    loop {
        match rest {
            Expr::RefDot { refr, field, .. } => {
                components.push(text(&field.1));
                rest = refr;
            }
            Expr::RefBrack { refr, index, .. } => {
                components.push(string(index));
                rest = refr;
            }
            Expr::Var { value, .. } => {
                components.push(text(value));
                break;
            }
            _ => {
                components.push(None);
                break;
            }
        }
    }
    components.reverse();
    components
}

/// A string that is written out.
pub(super) fn string(expr: &Expr) -> Option<String> {
    match expr {
        Expr::String { value, .. } | Expr::RawString { value, .. } => text(value),
        _ => None,
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_string().ok().map(|text| text.as_ref().to_owned())
}

fn is_identifier(text: &str) -> bool {
    text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
