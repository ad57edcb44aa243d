//! An issuer of tokens: its keys, the tokens that it signs, good ones and others, and the address of its keys.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
    RsaKeyPair, RsaPublicKeyComponents,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

/// A key made for these tests alone, for `ring` makes no RSA keys.
const RSA: &[u8] = include_bytes!("rsa.pk8");

/// Signs with one key.
pub(super) enum Key {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl Key {
    pub(super) fn rsa() -> Self {
        Self::Rsa(RsaKeyPair::from_pkcs8(RSA).unwrap())
    }

    pub(super) fn ec() -> Self {
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &SystemRandom::new());
        Self::Ec(pair.unwrap())
    }

    pub(super) fn ed() -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed(Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap())
    }

    /// The public key as a set of keys has it.
    pub(super) fn public(&self, id: &str) -> Value {
        match self {
            Self::Rsa(pair) => {
                let public = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "kid": id, "n": base64(&public.n), "e": base64(&public.e) })
            }
            Self::Ec(pair) => {
                let point = pair.public_key().as_ref();
                json!({ "kty": "EC", "crv": "P-256", "kid": id, "x": base64(&point[1..33]), "y": base64(&point[33..]) })
            }
            Self::Ed(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "x": base64(pair.public_key().as_ref()) })
            }
        }
    }

    /// The public key of an RSA pair as a file would hold it.
    pub(super) fn der(&self) -> Vec<u8> {
        match self {
            Self::Rsa(pair) => pair.public().as_ref().to_vec(),
            Self::Ec(_) | Self::Ed(_) => panic!("no RSA key"),
        }
    }

    /// The same in letters.
    pub(super) fn pem(&self) -> Vec<u8> {
        let body = base64(&self.der()).replace('-', "+").replace('_', "/");
        format!("-----BEGIN RSA PUBLIC KEY-----\n{body}\n-----END RSA PUBLIC KEY-----\n").into_bytes()
    }

    /// A token with this header and these claims.
    pub(super) fn sign(&self, header: &Value, claims: &impl Display) -> String {
        let message = message(header, claims);
        let random = SystemRandom::new();
        let signature = match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let padding: &dyn ring::signature::RsaEncoding =
                    if header["alg"] == "PS256" { &RSA_PSS_SHA256 } else { &RSA_PKCS1_SHA256 };
                pair.sign(padding, &random, message.as_bytes(), &mut signature).unwrap();
                signature
            }
            Self::Ec(pair) => pair.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec(),
            Self::Ed(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", base64(&signature))
    }
}

/// A token whose "signature" is made with a shared secret.
pub(super) fn sign_with_secret(secret: &[u8], header: &Value, claims: &Value) -> String {
    let message = message(header, claims);
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
    format!("{message}.{}", base64(ring::hmac::sign(&key, message.as_bytes()).as_ref()))
}

/// What is signed. Claims can be such as no JSON library would write.
pub(super) fn message(header: &Value, claims: &impl Display) -> String {
    format!("{}.{}", base64(header.to_string().as_bytes()), base64(claims.to_string().as_bytes()))
}

/// Seconds since 1970, and so many more.
pub(super) fn now(more: i64) -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap() + more
}

pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            text.push(char::from(DIGITS[(bits >> (18 - 6 * place) & 63) as usize]));
        }
    }
    text
}

/// Serves a set of keys, and counts how often it is asked.
pub(super) struct KeyServer {
    pub(super) url: String,
    answer: Arc<Mutex<String>>,
    asked: Arc<AtomicUsize>,
}

impl KeyServer {
    pub(super) fn start(keys: &[Value]) -> Self {
        Self::with_answer(&set(keys))
    }

    /// Gives this answer, whatever it is, to each request.
    pub(super) fn with_answer(answer: &str) -> Self {
        Self::serve("http", answer, |stream| Box::new(stream))
    }

    /// The same behind TLS, for `localhost`, with a certificate of an authority that nobody else knows.
    pub(super) fn with_tls(keys: &[Value]) -> Self {
        let certificate = CertificateDer::from(include_bytes!("tls/leaf.der").to_vec());
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(include_bytes!("tls/leaf.pk8").to_vec()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let config = Arc::new(config);
        Self::serve("https", &set(keys), move |stream| {
            Box::new(StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream))
        })
    }

    fn serve(
        scheme: &str,
        answer: &str,
        wrap: impl Fn(std::net::TcpStream) -> Box<dyn ReadWrite> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{scheme}://localhost:{}/jwks.json", listener.local_addr().unwrap().port());
        let (answer, asked) = (Arc::new(Mutex::new(answer.to_owned())), Arc::new(AtomicUsize::new(0)));
        let server = Self { url, answer: Arc::clone(&answer), asked: Arc::clone(&asked) };
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = wrap(stream.unwrap());
                let mut lines = BufReader::new(&mut stream).lines();
                // A client that does not believe in the certificate hangs up.
                let whole = lines.by_ref().any(|line| line.is_ok_and(|line| line.is_empty()));
                drop(lines);
                if whole {
                    asked.fetch_add(1, Ordering::SeqCst);
                    let _ = stream.write_all(answer.lock().unwrap().as_bytes());
                }
            }
        });
        server
    }

    pub(super) fn replace(&self, keys: &[Value]) {
        *self.answer.lock().unwrap() = set(keys);
    }

    pub(super) fn fail(&self) {
        *self.answer.lock().unwrap() = "HTTP/1.1 500 Oops\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned();
    }

    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

trait ReadWrite: Read + Write + Send {}

impl<T: Read + Write + Send> ReadWrite for T {}

/// An answer with a set of keys.
fn set(keys: &[Value]) -> String {
    let body = json!({ "keys": keys }).to_string();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}
