//! The signatures that a token may carry, checked by the library that also does TLS.
//!
//! There is no algorithm with a shared secret here, nor one that is none. So no public key can be taken for a secret,
//! whatever the checks before this one let through.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{Error as Unverified, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::signature as ring;

static PROVIDER: CryptoProvider =
    CryptoProvider { signer_factory: no_signer, verifier_factory: verifier, key_utils: KeyUtils::new_unimplemented() };

/// What the key's bytes are, and how a signature is checked with them.
#[derive(Clone, Copy)]
enum Check {
    Rsa(&'static ring::RsaParameters),
    Plain(&'static dyn ring::VerificationAlgorithm),
}

struct Checker {
    algorithm: Algorithm,
    check: Check,
    key: DecodingKey,
}

/// Makes these signatures the ones that tokens are checked with.
pub(super) fn install() {
    // A second installation finds the first, which is the same.
    let _installed = PROVIDER.install_default();
}

/// Whether tokens with this algorithm can be checked at all.
pub(super) fn is_supported(algorithm: Algorithm) -> bool {
    check(algorithm).is_some()
}

fn check(algorithm: Algorithm) -> Option<Check> {
    Some(match algorithm {
        Algorithm::RS256 => Check::Rsa(&ring::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Check::Rsa(&ring::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Check::Rsa(&ring::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Check::Rsa(&ring::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Check::Rsa(&ring::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Check::Rsa(&ring::RSA_PSS_2048_8192_SHA512),
        Algorithm::ES256 => Check::Plain(&ring::ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => Check::Plain(&ring::ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => Check::Plain(&ring::ED25519),
        // Shared secrets, and whatever the library learns later.
        _ => return None,
    })
}

fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    let check = check(*algorithm).ok_or(ErrorKind::UnsupportedAlgorithm)?;
    if key.family() == AlgorithmFamily::Hmac || !key.family().algorithms().contains(algorithm) {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    Ok(Box::new(Checker { algorithm: *algorithm, check, key: key.clone() }))
}

impl Verifier<Vec<u8>> for Checker {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), Unverified> {
        let checked = match (self.check, self.key.kind()) {
            (Check::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                let key = ring::RsaPublicKeyComponents { n: significant(n), e: significant(e) };
                key.verify(parameters, message, signature)
            }
            (Check::Plain(algorithm), DecodingKeyKind::SecretOrDer(bytes)) => {
                ring::UnparsedPublicKey::new(algorithm, bytes).verify(message, signature)
            }
            (Check::Rsa(_), DecodingKeyKind::SecretOrDer(_))
            | (Check::Plain(_), DecodingKeyKind::RsaModulusExponent { .. }) => return Err(Unverified::new()),
        };
        checked.map_err(|_| Unverified::new())
    }
}

impl JwtVerifier for Checker {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

/// Some issuers write numbers with a zero in front, as ASN.1 does.
fn significant(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}
