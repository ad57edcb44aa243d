//! When a token counts, by its claims `exp`, `nbf` and `iat`: numbers of seconds, whole or not (RFC 7519).

use serde_json::{Value, json};

use super::issuer::{Key, KeyServer, now};
use super::jwt::{bearer, claims, is_nobody, start};
use crate::harness::{Daemon, until};

const EXPIRED: &str = "the token has expired";
const EARLY: &str = "the token is not valid yet";
const FORM: &str = "lacks a claim that it must have, or has it in another form";
const NUMBERS: &str = "not to be read in one way only";
const NO_TOKEN: &str = "the token is no JSON web token";

/// An issuer with one key, and a daemon that allows clocks to differ by a minute.
struct Issued {
    key: Key,
    daemon: Daemon,
    _server: KeyServer,
}

impl Issued {
    fn start() -> Self {
        let key = Key::ec();
        let server = KeyServer::start(&[key.public("k")]);
        let daemon = start(&server, "leeway = \"60s\"");
        Self { key, daemon, _server: server }
    }

    /// A good token but for one claim, which has this text for its value.
    fn token(&self, claim: &str, text: &str) -> String {
        const PLACE: &str = "the value's place";
        let mut claims = claims();
        claims[claim] = json!(PLACE);
        self.key
            .sign(&json!({ "alg": "ES256", "kid": "k" }), &claims.to_string().replace(&json!(PLACE).to_string(), text))
    }
}

#[test]
fn times_may_be_fractions_and_of_any_size() {
    let issued = Issued::start();
    let at = |seconds: i64, fraction: &str| format!("{}{fraction}", now(seconds));
    let tokens = [
        ("exp", at(600, ".0")),
        ("exp", at(600, ".75")),
        ("exp", at(600, ".123456789012345678901234567890")),
        ("exp", at(-30, ".5")),
        ("exp", at(600, "e0")),
        ("exp", "4.2e9".to_owned()),
        ("exp", "9007199254740993".to_owned()),
        ("exp", "9223372036854775807".to_owned()),
        ("exp", "9223372036854775808".to_owned()),
        ("exp", "18446744073709551616".to_owned()),
        ("exp", "1e300".to_owned()),
        ("exp", "9".repeat(400)),
        ("nbf", at(-600, ".25")),
        ("nbf", at(30, ".5")),
        ("nbf", "0".to_owned()),
        ("nbf", "-0.0".to_owned()),
        ("nbf", "-1".to_owned()),
        ("nbf", "-1.5e300".to_owned()),
        ("nbf", format!("-{}", "9".repeat(400))),
        ("iat", at(-600, ".25")),
        ("iat", at(30, ".5")),
        ("iat", "-9223372036854775809".to_owned()),
        ("iat", "1e-300".to_owned()),
    ];
    for (claim, text) in &tokens {
        let reply = bearer(&issued.daemon, &issued.token(claim, text));
        assert_eq!(reply.status, 200, "{claim} {text}: {reply:?}\n{}", issued.daemon.log());
    }
}

#[test]
fn at_no_other_time_a_token_counts() {
    let issued = Issued::start();
    let at = |seconds: i64, fraction: &str| format!("{}{fraction}", now(seconds));
    let mut tokens = vec![
        ("exp", at(-62, ""), EXPIRED),
        ("exp", at(-62, ".5"), EXPIRED),
        ("exp", "0".to_owned(), EXPIRED),
        ("exp", "-0.0".to_owned(), EXPIRED),
        ("exp", "-1".to_owned(), EXPIRED),
        ("exp", "-1.5".to_owned(), EXPIRED),
        ("exp", "-9223372036854775809".to_owned(), EXPIRED),
        ("exp", "-1e300".to_owned(), EXPIRED),
        ("exp", format!("-{}", "9".repeat(400)), EXPIRED),
        ("exp", "1e-300".to_owned(), EXPIRED),
        ("exp", "1.5e9".to_owned(), EXPIRED),
    ];
    for claim in ["nbf", "iat"] {
        let ahead = [at(90, ""), at(90, ".5"), "4.2e9".to_owned(), "9223372036854775808".to_owned()];
        let further = ["18446744073709551616".to_owned(), "1e300".to_owned(), "9".repeat(400)];
        tokens.extend(ahead.into_iter().chain(further).map(|text| (claim, text, EARLY)));
    }
    for claim in ["exp", "nbf", "iat"] {
        let soon = now(if claim == "exp" { 600 } else { -600 });
        tokens.push((claim, format!("\"{soon}\""), FORM));
        let others = ["null", "true", "\"\"", "\"NaN\"", "\"Infinity\"", "\"2099-01-01T00:00:00Z\"", "[]", "{}"];
        tokens.extend(others.into_iter().map(|text| (claim, text.to_owned(), FORM)));
        let beyond = ["1e400".to_owned(), "-1e400".to_owned(), "9".repeat(1001)];
        tokens.extend(beyond.into_iter().map(|text| (claim, text, NUMBERS)));
        let twice = format!("{soon},\"{claim}\":{soon}");
        tokens.push((claim, twice, if claim == "iat" { NUMBERS } else { NO_TOKEN }));
        let none = ["NaN", "Infinity", "-Infinity", "0x7fffffff", "+4200000000", "04200000000", "4200000000.", ""];
        tokens.extend(none.into_iter().map(|text| (claim, text.to_owned(), NO_TOKEN)));
    }
    for (claim, text, reason) in &tokens {
        let case = format!("{claim} {text}");
        let before = issued.daemon.log().len();
        is_nobody(&issued.daemon, &case, &bearer(&issued.daemon, &issued.token(claim, text)));
        let told = || issued.daemon.log().get(before..).unwrap_or_default().to_owned();
        until("the reason is told", || told().contains("nobody could be made out"));
        assert!(told().contains(reason), "{case}: {}", told());
    }
    assert_eq!(bearer(&issued.daemon, &issued.token("private", &Value::Null.to_string())).status, 200);
}
