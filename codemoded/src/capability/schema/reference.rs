//! What a `$ref` names: resources by URI, anchors, JSON pointers. Only what the schema itself holds is ever found.

use std::collections::HashMap;

use jsonschema::{Uri, uri};
use serde_json::{Map, Value};

/// Every part of a schema that has a URI of its own; the first is the whole.
#[derive(Debug)]
pub(super) struct Resources<'s> {
    resources: Vec<Resource<'s>>,
}

#[derive(Debug)]
struct Resource<'s> {
    uri: Option<Uri<String>>,
    root: &'s Value,
    anchors: HashMap<&'s str, &'s Value>,
}

/// Where a reference led.
#[derive(Debug)]
pub(super) struct Found<'s> {
    pub(super) schema: &'s Value,
    /// From the root of its resource.
    pub(super) pointer: String,
    pub(super) resource: usize,
    /// The values passed on the way, outermost first.
    passed: Vec<&'s Value>,
}

impl<'s> Found<'s> {
    /// What the innermost value passed maps to.
    pub(super) fn nearest<T>(&self, known: impl Fn(&'s Value) -> Option<T>) -> Option<T> {
        self.passed.iter().rev().find_map(|value| known(value))
    }
}

impl<'s> Resources<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self { resources: vec![Resource { uri: None, root, anchors: HashMap::new() }] }
    }

    /// The URI of the whole schema, where it gives itself one.
    pub(super) fn root_uri(&self) -> Option<&str> {
        self.resources.first()?.uri.as_ref().map(|uri| uri.as_str())
    }

    /// Notes what a subschema calls itself, and says to which resource it belongs.
    pub(super) fn enter(&mut self, outer: usize, schema: &'s Value, members: &'s Map<String, Value>) -> usize {
        let mut resource = outer;
        match members.get("$id").and_then(Value::as_str) {
            // Draft 7 spells an anchor so.
            Some(id) if id.starts_with('#') => self.anchor(outer, id.trim_start_matches('#'), schema),
            Some(id) => {
                if let Some(uri) = self.resolve_uri(outer, id.trim_end_matches('#')) {
                    resource = self.open(outer, uri, schema);
                }
            }
            None => {}
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = members.get(keyword).and_then(Value::as_str) {
                self.anchor(resource, name, schema);
            }
        }
        resource
    }

    fn open(&mut self, outer: usize, uri: Uri<String>, schema: &'s Value) -> usize {
        if let Some(same) = self.resources.get_mut(outer).filter(|outer| std::ptr::eq(outer.root, schema)) {
            same.uri = Some(uri);
            return outer;
        }
        self.resources.push(Resource { uri: Some(uri), root: schema, anchors: HashMap::new() });
        self.resources.len() - 1
    }

    fn anchor(&mut self, resource: usize, name: &'s str, schema: &'s Value) {
        if let Some(resource) = self.resources.get_mut(resource) {
            resource.anchors.insert(name, schema);
        }
    }

    fn resolve_uri(&self, base: usize, reference: &str) -> Option<Uri<String>> {
        match self.resources.get(base).and_then(|resource| resource.uri.as_ref()) {
            Some(base) => uri::resolve_against(&base.borrow(), reference).ok(),
            None => uri::from_str(reference).ok(),
        }
    }

    pub(super) fn resolve(&self, from: usize, reference: &str) -> Option<Found<'s>> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = match address {
            "" => from,
            address => {
                let uri = self.resolve_uri(from, address)?;
                self.resources.iter().position(|resource| resource.uri.as_ref() == Some(&uri))?
            }
        };
        let Resource { root, anchors, .. } = self.resources.get(resource)?;
        let fragment = percent_decoded(fragment)?;
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let schema = *anchors.get(fragment.as_str())?;
            return Some(Found { schema, pointer: String::new(), resource, passed: Vec::new() });
        }
        let mut schema = *root;
        let mut passed = vec![schema];
        for token in fragment.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            schema = match schema {
                Value::Object(members) => members.get(&token)?,
                Value::Array(items) => items.get(token.parse::<usize>().ok()?)?,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
            };
            passed.push(schema);
        }
        Some(Found { schema, pointer: fragment, resource, passed })
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}
