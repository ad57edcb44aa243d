//! `codemoded doctor`: what this host gives, and what to do about what it does not.

use crate::config::{Config, Sources, Transport};
use crate::doctor::{Finding, Severity, Table, as_root, examine, unusable};
use crate::unit;

/// What the command prints, and how bad the worst of it is.
pub(super) async fn carry_out(sources: &Sources, json: bool) -> Result<(String, Severity), serde_json::Error> {
    let findings = match Config::load(sources, Transport::Http) {
        Ok(config) => match unit::instead_of_root(config.origin.file()) {
            Some(user) => as_root(&user),
            None => examine(&config).await,
        },
        Err(faults) => unusable(&faults),
    };
    let worst = findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Ok);
    let text = if json { lines(&findings)? } else { Table(&findings).to_string() };
    Ok((text, worst))
}

fn lines(findings: &[Finding]) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(findings)? + "\n")
}
