//! Whether the plugins can serve, and whether the policy decides.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::Finding;
use crate::capability::{Hints, Id, Name};
use crate::causes::with_causes;
use crate::config::{self, Config};
use crate::daemon::{policy_source, specs};
use crate::identity::{Subject, SubjectId};
use crate::plugin::{self, PluginSpec, THIS_EXECUTABLE};
use crate::policy::{Asked, Decision, Policy, PolicyError, Question};

/// A capability that no plugin has, for a subject that nobody is.
const NOBODY: &str = "codemoded-doctor";
const NOTHING: &str = "doctor.probe";

pub(super) async fn findings(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    for spec in specs(config) {
        findings.extend(plugin(spec).await);
    }
    findings.extend(policy(config).await);
    findings
}

/// A plugin is started in a child and ended again: file, owner, ABI, settings, start.
async fn plugin(spec: PluginSpec) -> Vec<Finding> {
    let what = format!("plugin {}", spec.name);
    let tried = tokio::task::spawn_blocking(move || plugin::examine(&spec, Path::new(THIS_EXECUTABLE))).await;
    match tried {
        Ok(Ok(examined)) => {
            let found = format!("{}, ABI {}, {} capabilities", examined.version, examined.abi, examined.capabilities);
            vec![Finding::ok(what, found)]
        }
        Ok(Err(faults)) => {
            let mend = "do what the message says, or take the plugin out of the configuration";
            faults.into_iter().map(|fault| Finding::fault(what.clone(), fault.to_string(), mend)).collect()
        }
        Err(_) => vec![Finding::fault(what, "trying it failed inside this command", "look at the lines above")],
    }
}

async fn policy(config: &Config) -> Vec<Finding> {
    let what = "policy";
    let config::Policy::Rego(rego) = &config.policy else {
        return vec![Finding::ok(what, "allow-all: every call is allowed")];
    };
    let rego = rego.clone();
    let loading = tokio::task::spawn_blocking(move || Policy::load(&policy_source(&rego)?)).await;
    let loaded = loading.unwrap_or_else(|_| Err(vec![PolicyError::Compile("the loader panicked".to_owned())]));
    let mend = "mend the policy; `codemoded policy test` and `policy eval` try it";
    match loaded {
        Ok(policy) => vec![asked(config, &policy).await],
        Err(faults) => faults.iter().map(|fault| Finding::fault(what, with_causes(fault), mend)).collect(),
    }
}

async fn asked(config: &Config, policy: &Policy) -> Finding {
    let what = "policy";
    let (Ok(subject), Ok(name)) = (SubjectId::new(NOBODY), Name::new(NOTHING)) else {
        return Finding::ok(what, policy.summary());
    };
    let capability = Asked { id: Id::new(NOTHING), name, hints: Hints::default() };
    let question = Question { subject: Subject::new(subject), capability, arguments: Arc::default() };
    let said = match policy.decide(question, Instant::now() + config.limits.max_call_time).await {
        Decision::Allow => "allows",
        Decision::Deny { .. } => "denies",
        Decision::Failure(failure) => {
            return Finding::warning(
                what,
                format!("{}; of a call by a stranger it says neither yes nor no: {failure}", policy.summary()),
                "give the decision a default, such as `default allow := false`",
            );
        }
    };
    Finding::ok(what, format!("{}; {said} a stranger's call of a capability that is not there", policy.summary()))
}
