//! A bearer token that an issuer has signed says who is calling.
//!
//! The key decides how a token is checked: a token names a key and an algorithm, and where the two do not belong
//! together it is refused. Keys and addresses of keys that stand in a token (`jwk`, `jku`, `x5c`, `x5u`) are not read.

mod key_set;
mod keys;
mod signature;
mod source;
mod times;

pub use key_set::KeySetFault;
pub use keys::KeysFault;
pub use source::{InvalidUrl, KeysAt, KeysUrl, ReadFault};

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Header, Validation, decode, decode_header};
use serde_json::value::RawValue;

use super::header::bearer;
use super::{Refusal, Subject, SubjectId};
use crate::value::{Bounds, Map, Value, read};
use key_set::Key;
use keys::Keys;

/// Of a token's claims.
const BOUNDS: Bounds = Bounds { max_bytes: 64 << 10, max_depth: 16 };

/// Which tokens count, and what they say.
#[derive(Clone, Debug)]
pub struct Rules {
    pub issuer: String,
    /// Tokens are for one of these.
    pub audiences: Vec<String>,
    pub keys: KeysAt,
    /// How long keys serve that the issuer no longer confirms.
    pub keys_max_age: Duration,
    /// How far the clocks may differ.
    pub leeway: Duration,
    /// The claim that is the subject.
    pub subject_claim: String,
    /// The claims that policy may see.
    pub policy_claims: Vec<String>,
    /// What every token must be good for.
    pub required_scopes: Scopes,
}

/// Scopes as OAuth writes them, joined by spaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scopes(Arc<[String]>);

/// Checks tokens by these rules; cheap to clone.
#[derive(Clone, Debug)]
pub struct Jwt {
    rules: Arc<Rules>,
    keys: Keys,
}

/// What is wrong with a token. Says nothing that stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the token is no JSON web token")]
    Malformed,
    #[error("the token is of another type")]
    OtherType,
    #[error("the token asks for extensions that are not understood")]
    Critical,
    #[error("the token names a key that the issuer does not have")]
    UnknownKey,
    #[error("the token's key is for another algorithm")]
    OtherAlgorithm,
    #[error("there are no keys of the issuer that are recent enough")]
    NoKeys,
    #[error("the token's signature is not the issuer's")]
    Signature,
    #[error("the token has expired")]
    Expired,
    #[error("the token is not valid yet")]
    Early,
    #[error("the token is for somebody else")]
    Audience,
    #[error("the token is from somebody else")]
    Issuer,
    #[error("the token lacks a claim that it must have, or has it in another form")]
    Claim,
    #[error("the token's claims are too large, too deep, or not to be read in one way only")]
    Claims,
    #[error("the token names no subject: {0}")]
    Subject(super::InvalidSubject),
    #[error("the token is not good for all that is required")]
    Scope,
}

/// Reads the issuer's keys once, and says how many there are that tokens can be checked with.
pub async fn read_keys(rules: &Rules) -> Result<usize, KeysFault> {
    signature::install();
    Keys::count(rules.keys.clone()).await
}

impl Jwt {
    pub async fn start(rules: Rules) -> Result<Self, KeysFault> {
        signature::install();
        let keys = Keys::start(rules.keys.clone(), rules.keys_max_age).await?;
        Ok(Self { rules: Arc::new(rules), keys })
    }

    /// The same keys under other rules, where these keep an issuer's keys in the same way. A file is read anew.
    pub(super) fn with_rules(&self, rules: &Rules) -> Option<Self> {
        let remote = matches!(rules.keys, KeysAt::Url(_));
        let same = rules.keys == self.rules.keys && rules.keys_max_age == self.rules.keys_max_age;
        (remote && same).then(|| Self { rules: Arc::new(rules.clone()), keys: self.keys.clone() })
    }

    pub(super) async fn authenticate(&self, headers: &HeaderMap) -> Result<Subject, Refusal> {
        let token = bearer(headers)?;
        let header = header(token)?;
        let key = self.keys.find(&header).await?;
        Ok(self.rules.subject(&self.rules.claims(token, &key)?)?)
    }
}

impl Rules {
    /// The claims of a token that counts.
    fn claims(&self, token: &str, key: &Key) -> Result<Map, Fault> {
        let mut validation = Validation::new(key.algorithm);
        // Where numbers are exact, the library takes whole ones only.
        validation.validate_exp = false;
        validation.set_audience(&self.audiences);
        validation.set_issuer(&[&self.issuer]);
        validation.set_required_spec_claims(&["aud", "iss"]);
        let claims: Box<RawValue> =
            decode(token, &key.decoding, &validation).map_err(|error| Fault::of(&error))?.claims;
        match read(claims.get().as_bytes(), BOUNDS) {
            Ok(Value::Map(claims)) => Ok(claims),
            Ok(_) | Err(_) => Err(Fault::Claims),
        }
    }

    fn subject(&self, claims: &Map) -> Result<Subject, Fault> {
        times::check(claims, self.leeway)?;
        // The library also takes a list of issuers, of which one fits.
        if claims.get("iss") != Some(&Value::from(self.issuer.as_str())) {
            return Err(Fault::Issuer);
        }
        let Some(Value::Str(id)) = claims.get(&self.subject_claim) else { return Err(Fault::Claim) };
        let id = SubjectId::new(id).map_err(Fault::Subject)?;
        let granted = granted(claims);
        if !self.required_scopes.0.iter().all(|scope| granted.contains(&scope.as_str())) {
            return Err(Fault::Scope);
        }
        let seen =
            self.policy_claims.iter().filter_map(|name| claims.get(name).map(|value| (name.clone(), value.clone())));
        Ok(Subject { id, claims: Arc::new(seen.collect()) })
    }
}

/// What a token is good for, as OAuth's `scope` or as some issuers' `scp` says it.
fn granted(claims: &Map) -> Vec<&str> {
    ["scope", "scp"].iter().filter_map(|name| claims.get(*name)).flat_map(words).collect()
}

fn words(value: &Value) -> Vec<&str> {
    match value {
        Value::Str(text) => text.split(' ').collect(),
        Value::List(items) => items.iter().flat_map(words).collect(),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Map(_) => Vec::new(),
    }
}

/// What a token says of itself, as far as it decides which key is asked.
fn header(token: &str) -> Result<Header, Fault> {
    let header = decode_header(token).map_err(|error| Fault::of(&error))?;
    if header.crit.is_some() {
        return Err(Fault::Critical);
    }
    let known = ["jwt", "at+jwt", "application/at+jwt"];
    match &header.typ {
        Some(kind) if !known.iter().any(|known| kind.eq_ignore_ascii_case(known)) => Err(Fault::OtherType),
        Some(_) | None => Ok(header),
    }
}

impl Fault {
    fn of(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::InvalidSignature => Self::Signature,
            ErrorKind::InvalidAudience => Self::Audience,
            ErrorKind::InvalidIssuer => Self::Issuer,
            ErrorKind::InvalidAlgorithm | ErrorKind::UnsupportedAlgorithm => Self::OtherAlgorithm,
            ErrorKind::MissingRequiredClaim(_) | ErrorKind::InvalidClaimFormat(_) => Self::Claim,
            // The rest are the many ways not to be a token at all.
            _ => Self::Malformed,
        }
    }
}

impl Scopes {
    pub fn new(scopes: Vec<String>) -> Self {
        Self(scopes.into())
    }

    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}
