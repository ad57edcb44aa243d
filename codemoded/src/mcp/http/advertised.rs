//! What a client without a credential is told: that it needs one, and where to get it.
//!
//! Where tokens come from an authorization server, that is the metadata of a protected resource (RFC 9728): a document
//! at two well-known addresses, and its address in every challenge (RFC 6750).

use axum::body::Body;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{Method, Response};

use crate::identity::jwt::Scopes;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
const CHALLENGE: &str = "Bearer realm=\"codemoded\"";

/// The authorization servers whose tokens are taken, and for what.
#[derive(Clone, Debug)]
pub struct Protection {
    /// The URL that clients use; where there is none, the listener's own.
    pub resource: Option<String>,
    pub authorization_servers: Vec<String>,
    pub scopes: Scopes,
}

/// The challenges, and the document that they point to.
#[derive(Debug)]
pub(super) struct Advertised {
    metadata: Option<Metadata>,
    /// What follows the scheme and realm in every challenge.
    parameters: String,
}

#[derive(Debug)]
struct Metadata {
    paths: Vec<String>,
    document: Bytes,
}

impl Advertised {
    /// `own` is the URL of the listener, and `path` that of its endpoint.
    pub(super) fn new(protection: Option<Protection>, own: &str, path: &str) -> Self {
        let Some(protection) = protection else {
            return Self { metadata: None, parameters: String::new() };
        };
        let resource = protection.resource.as_deref().unwrap_or(own);
        let (origin, public_path) = split(resource);
        let mut parameters = format!(", resource_metadata=\"{origin}{}\"", suffixed(public_path));
        let scopes = protection.scopes.as_slice();
        let mut document = serde_json::json!({
            "resource": resource,
            "authorization_servers": protection.authorization_servers,
            "bearer_methods_supported": ["header"],
            "resource_name": "codemoded",
        });
        // A key without a value must be left out.
        if let (false, Some(members)) = (scopes.is_empty(), document.as_object_mut()) {
            parameters += &format!(", scope=\"{}\"", protection.scopes);
            members.insert("scopes_supported".to_owned(), scopes.into());
        }
        let paths = vec![WELL_KNOWN.to_owned(), suffixed(path), suffixed(public_path)];
        Self { metadata: Some(Metadata { paths, document: document.to_string().into() }), parameters }
    }

    /// The document, where a request asks for it.
    pub(super) fn metadata(&self, head: &Parts) -> Option<Response<Body>> {
        let metadata = self.metadata.as_ref()?;
        let asked = [Method::GET, Method::HEAD].contains(&head.method);
        if !asked || !metadata.paths.iter().any(|path| path == head.uri.path()) {
            return None;
        }
        let mut response = Response::new(Body::from(metadata.document.clone()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
        Some(response)
    }

    /// The value of `WWW-Authenticate`, with an error of RFC 6750 where a token was sent.
    pub(super) fn challenge(&self, error: Option<&str>) -> HeaderValue {
        let error = error.map(|error| format!(", error=\"{error}\"")).unwrap_or_default();
        HeaderValue::try_from(format!("{CHALLENGE}{error}{}", self.parameters))
            .unwrap_or(HeaderValue::from_static(CHALLENGE))
    }
}

/// A URL's scheme and host, and its path.
fn split(url: &str) -> (&str, &str) {
    let slash = url.find("://").and_then(|at| Some(at + 3 + url.get(at + 3..)?.find('/')?));
    slash.and_then(|at| url.split_at_checked(at)).unwrap_or((url, ""))
}

fn suffixed(path: &str) -> String {
    if path == "/" { WELL_KNOWN.to_owned() } else { format!("{WELL_KNOWN}{path}") }
}
