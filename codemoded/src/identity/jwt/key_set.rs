//! The issuer's public keys, each with the one algorithm that it is for.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Header};
use serde::Deserialize;

use super::signature;

/// Keys that can check a signature; never empty.
#[derive(Debug)]
pub(super) struct KeySet(Vec<Key>);

#[derive(Clone, Debug)]
pub(super) struct Key {
    id: Option<String>,
    pub(super) algorithm: Algorithm,
    pub(super) decoding: DecodingKey,
}

/// What a set has for a token.
#[derive(Debug)]
pub(super) enum Found<'a> {
    Key(&'a Key),
    /// The key that the token names is for another algorithm than the token says.
    OtherAlgorithm,
    Unknown,
}

/// The text is no set of keys.
#[derive(Debug, thiserror::Error)]
pub enum KeySetFault {
    #[error("not a JSON Web Key Set")]
    Malformed(#[source] serde_json::Error),
    #[error("no key in it can check a signature: RSA of 2048 bits or more, P-256, P-384 and Ed25519 can")]
    Empty,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

impl KeySet {
    /// Reads a set and leaves out the keys that are for something else, as sets are meant to be read.
    pub(super) fn parse(text: &[u8]) -> Result<Self, KeySetFault> {
        let document: Document = serde_json::from_slice(text).map_err(KeySetFault::Malformed)?;
        let keys: Vec<_> = document.keys.into_iter().filter_map(Key::read).collect();
        if keys.is_empty() { Err(KeySetFault::Empty) } else { Ok(Self(keys)) }
    }

    /// The key that a token names. A token that names none is checked where there is no choice.
    pub(super) fn find(&self, header: &Header) -> Found<'_> {
        let named: Vec<_> = match (&header.kid, self.0.as_slice()) {
            (Some(id), keys) => keys.iter().filter(|key| key.id.as_ref() == Some(id)).collect(),
            (None, [only]) => vec![only],
            (None, _) => Vec::new(),
        };
        let of_algorithm = named.iter().find(|key| header.alg == key.algorithm);
        match of_algorithm {
            Some(key) => Found::Key(key),
            None if named.is_empty() => Found::Unknown,
            None => Found::OtherAlgorithm,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Key {
    fn read(json: serde_json::Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(json).ok()?;
        let for_signatures = jwk.common.public_key_use.as_ref().is_none_or(|use_| *use_ == PublicKeyUse::Signature)
            && jwk.common.key_operations.as_ref().is_none_or(|all| all.contains(&KeyOperations::Verify));
        let algorithm = algorithm(&jwk)?;
        if !for_signatures || !signature::is_supported(algorithm) {
            return None;
        }
        let decoding = DecodingKey::from_jwk(&jwk).ok()?;
        decoding.family().algorithms().contains(&algorithm).then_some(Self {
            id: jwk.common.key_id,
            algorithm,
            decoding,
        })
    }
}

/// What the key says that it is for, or else the one algorithm that is usual for its kind.
fn algorithm(jwk: &Jwk) -> Option<Algorithm> {
    let usual = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => Algorithm::ES256,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => Algorithm::ES384,
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => Algorithm::EdDSA,
        // A shared secret in a set of public keys is no secret.
        _ => return None,
    };
    match jwk.common.key_algorithm {
        None => Some(usual),
        Some(named) => {
            let named = Algorithm::try_from(named).ok()?;
            // A curve fixes its algorithm; an RSA key may be for any of its family.
            (named == usual || usual == Algorithm::RS256).then_some(named)
        }
    }
}
