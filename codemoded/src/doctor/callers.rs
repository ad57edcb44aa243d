//! Whether callers can be told apart: keys, secrets, and a clock to judge tokens by.

use super::files::{self, Holds};
use super::{Finding, clock, with_causes};
use crate::config::{Config, Identity};
use crate::identity::jwt;
use crate::identity::tokens::Tokens;

pub(super) async fn findings(config: &Config) -> Vec<Finding> {
    let mut findings: Vec<_> =
        config.secret_files.iter().map(|path| files::finding("secret", path, Holds::Secrets)).collect();
    match &config.identity {
        Identity::Jwt(jwt) => {
            findings.push(keys(&jwt.rules).await);
            findings.push(clock::finding());
        }
        Identity::Tokens(path) => {
            findings.push(files::finding("tokens", path, Holds::Proofs));
            if let Err(error) = Tokens::open(path.clone()) {
                findings.push(Finding::fault(
                    "tokens",
                    with_causes(&error),
                    "write it as `codemoded token new` prints it",
                ));
            }
            findings.push(clock::finding());
        }
        Identity::Static(_) | Identity::Proxy(_) | Identity::Plugin(_) => {}
    }
    findings
}

async fn keys(rules: &jwt::Rules) -> Finding {
    match jwt::read_keys(rules).await {
        Ok(count) => Finding::ok("issuer's keys", format!("{count} at `{}`", rules.keys)),
        Err(fault) => Finding::fault(
            "issuer's keys",
            with_causes(&fault),
            "check `identity.jwks_url` or `jwks_file`, the way there, and the authorities that the system trusts",
        ),
    }
}
