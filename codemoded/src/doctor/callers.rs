//! Whether callers can be told apart: keys, secrets, and a clock to judge tokens by.

use std::path::Path;
use std::time::SystemTime;

use super::files::{self, readable_by_daemon};
use super::{Finding, Severity, clock};
use crate::causes::with_causes;
use crate::config::{Config, Identity};
use crate::file::FileFault;
use crate::identity::jwt;
use crate::identity::tokens::{Census, TokenFileError, Tokens};

pub(super) async fn findings(config: &Config) -> Vec<Finding> {
    let mut findings: Vec<_> = config.secret_files.iter().map(|path| files::finding("secret", path)).collect();
    match &config.identity {
        Identity::Jwt(jwt) => {
            findings.push(keys(&jwt.rules).await);
            findings.push(clock::finding());
        }
        Identity::Tokens(path) => {
            findings.push(tokens(path));
            findings.push(clock::finding());
        }
        Identity::Static(_) | Identity::Proxy(_) | Identity::Plugin(_) => {}
    }
    findings
}

/// One finding: what hinders most.
fn tokens(path: &Path) -> Finding {
    let what = "tokens";
    let file = files::finding(what, path);
    match Tokens::open(path.to_owned()) {
        Err(error @ TokenFileError::File(FileFault::Forbidden { .. })) => {
            Finding::fault(what, with_causes(&error), readable_by_daemon(path))
        }
        Err(error) => Finding::fault(
            what,
            with_causes(&error),
            "write into it what `codemoded token new` prints below its comment",
        ),
        Ok(_) if file.severity == Severity::Fault => file,
        Ok(tokens) => counted(file, tokens.census(SystemTime::now())),
    }
}

fn counted(file: Finding, Census { all, expired, next }: Census) -> Finding {
    let found = format!("{}; {all} in it, {expired} expired", file.found);
    match next {
        Some(next) => Finding { found: format!("{found}, the next ends {next}"), ..file },
        None => Finding::warning(
            file.what,
            format!("{found}: nobody gets in"),
            "make one with `codemoded token new`, and append what it prints below its comment",
        ),
    }
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
