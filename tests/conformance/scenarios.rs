//! Every scenario of both required sets: where it has to pass, or why it does not apply.

/// Where a scenario proves something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The daemon as it comes.
    Daemon,
    /// The daemon with sessions.
    Sessions,
    /// The suite's fixture tools behind the daemon's transport.
    Fixtures,
    /// Both, but for the checks that call fixture tools.
    DaemonAndFixtures,
    Nowhere(&'static str),
}

impl Place {
    /// Whether a scenario of this place is run at the other. What passes without sessions passes with them.
    pub(super) fn includes(self, run: Self) -> bool {
        match self {
            Self::Daemon => matches!(run, Self::Daemon | Self::Sessions),
            Self::DaemonAndFixtures => matches!(run, Self::Daemon | Self::Sessions | Self::Fixtures),
            Self::Sessions | Self::Fixtures => self == run,
            Self::Nowhere(_) => false,
        }
    }
}

const ASKS_NOTHING: Place =
    Place::Nowhere("the daemon asks its clients nothing: it takes no responses, and a run never waits for one");
const NOT_RESUMABLE: Place =
    Place::Nowhere("no stream is resumable: without a listener a run ends or, in a session, goes on unheard");
const NOTHING_TO_COMPLETE: Place =
    Place::Nowhere("the daemon has no prompts and no resource templates, so there is nothing to complete");
const NO_RESOURCES: Place = Place::Nowhere("the daemon has no resources: its list of them is empty");
const NO_SUBSCRIPTIONS: Place = Place::Nowhere("the daemon has no resources, and declares no subscriptions");
const NO_PROMPTS: Place = Place::Nowhere("the daemon has no prompts: its list of them is empty");
const NO_TASKS: Place =
    Place::Nowhere("an extension that the daemon does not declare: a run is answered within its budget");

const HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// Revision, scenario, place.
pub(super) const SCENARIOS: [(&str, &str, Place); 83] = [
    (HANDSHAKE, "server-initialize", Place::Daemon),
    (HANDSHAKE, "ping", Place::Daemon),
    (HANDSHAKE, "tools-list", Place::Daemon),
    (HANDSHAKE, "resources-list", Place::Daemon),
    (HANDSHAKE, "prompts-list", Place::Daemon),
    (HANDSHAKE, "dns-rebinding-protection", Place::Daemon),
    (HANDSHAKE, "server-session-lifecycle", Place::Sessions),
    (HANDSHAKE, "server-sse-multiple-streams", Place::Sessions),
    (HANDSHAKE, "logging-set-level", Place::Fixtures),
    (HANDSHAKE, "tools-call-simple-text", Place::Fixtures),
    (HANDSHAKE, "tools-call-image", Place::Fixtures),
    (HANDSHAKE, "tools-call-audio", Place::Fixtures),
    (HANDSHAKE, "tools-call-embedded-resource", Place::Fixtures),
    (HANDSHAKE, "tools-call-mixed-content", Place::Fixtures),
    (HANDSHAKE, "tools-call-with-logging", Place::Fixtures),
    (HANDSHAKE, "tools-call-error", Place::Fixtures),
    (HANDSHAKE, "tools-call-with-progress", Place::Fixtures),
    (HANDSHAKE, "json-schema-2020-12", Place::Fixtures),
    (HANDSHAKE, "tools-call-sampling", ASKS_NOTHING),
    (HANDSHAKE, "tools-call-elicitation", ASKS_NOTHING),
    (HANDSHAKE, "elicitation-sep1034-defaults", ASKS_NOTHING),
    (HANDSHAKE, "elicitation-sep1330-enums", ASKS_NOTHING),
    (HANDSHAKE, "server-sse-polling", NOT_RESUMABLE),
    (HANDSHAKE, "completion-complete", NOTHING_TO_COMPLETE),
    (HANDSHAKE, "resources-read-text", NO_RESOURCES),
    (HANDSHAKE, "resources-read-binary", NO_RESOURCES),
    (HANDSHAKE, "resources-templates-read", NO_RESOURCES),
    (HANDSHAKE, "resources-subscribe", NO_SUBSCRIPTIONS),
    (HANDSHAKE, "resources-unsubscribe", NO_SUBSCRIPTIONS),
    (HANDSHAKE, "prompts-get-simple", NO_PROMPTS),
    (HANDSHAKE, "prompts-get-with-args", NO_PROMPTS),
    (HANDSHAKE, "prompts-get-embedded-resource", NO_PROMPTS),
    (HANDSHAKE, "prompts-get-with-image", NO_PROMPTS),
    (STATELESS, "tools-list", Place::Daemon),
    (STATELESS, "server-sse-multiple-streams", Place::Daemon),
    (STATELESS, "resources-list", Place::Daemon),
    (STATELESS, "prompts-list", Place::Daemon),
    (STATELESS, "dns-rebinding-protection", Place::Daemon),
    (STATELESS, "caching", Place::Daemon),
    (STATELESS, "sep-2164-resource-not-found", Place::Daemon),
    (STATELESS, "input-required-result-unsupported-methods", Place::Daemon),
    (STATELESS, "http-header-validation", Place::Daemon),
    (STATELESS, "server-stateless", Place::DaemonAndFixtures),
    (STATELESS, "tools-call-simple-text", Place::Fixtures),
    (STATELESS, "tools-call-image", Place::Fixtures),
    (STATELESS, "tools-call-audio", Place::Fixtures),
    (STATELESS, "tools-call-embedded-resource", Place::Fixtures),
    (STATELESS, "tools-call-mixed-content", Place::Fixtures),
    (STATELESS, "tools-call-error", Place::Fixtures),
    (STATELESS, "tools-call-with-progress", Place::Fixtures),
    (STATELESS, "json-schema-2020-12", Place::Fixtures),
    (STATELESS, "http-custom-header-server-validation", Place::Fixtures),
    (STATELESS, "input-required-result-basic-elicitation", Place::Fixtures),
    (STATELESS, "input-required-result-basic-sampling", Place::Fixtures),
    (STATELESS, "input-required-result-basic-list-roots", Place::Fixtures),
    (STATELESS, "input-required-result-request-state", Place::Fixtures),
    (STATELESS, "input-required-result-multiple-input-requests", Place::Fixtures),
    (STATELESS, "input-required-result-multi-round", Place::Fixtures),
    (STATELESS, "input-required-result-missing-input-response", Place::Fixtures),
    (STATELESS, "input-required-result-result-type", Place::Fixtures),
    (STATELESS, "input-required-result-tampered-state", Place::Fixtures),
    (STATELESS, "input-required-result-capability-check", Place::Fixtures),
    (STATELESS, "input-required-result-ignore-extra-params", Place::Fixtures),
    (STATELESS, "input-required-result-validate-input", Place::Fixtures),
    (STATELESS, "input-required-result-non-tool-request", NO_PROMPTS),
    (STATELESS, "completion-complete", NOTHING_TO_COMPLETE),
    (STATELESS, "resources-read-text", NO_RESOURCES),
    (STATELESS, "resources-read-binary", NO_RESOURCES),
    (STATELESS, "resources-templates-read", NO_RESOURCES),
    (STATELESS, "prompts-get-simple", NO_PROMPTS),
    (STATELESS, "prompts-get-with-args", NO_PROMPTS),
    (STATELESS, "prompts-get-embedded-resource", NO_PROMPTS),
    (STATELESS, "prompts-get-with-image", NO_PROMPTS),
    (STATELESS, "tasks-lifecycle", NO_TASKS),
    (STATELESS, "tasks-capability-negotiation", NO_TASKS),
    (STATELESS, "tasks-wire-fields", NO_TASKS),
    (STATELESS, "tasks-request-state-removal", NO_TASKS),
    (STATELESS, "tasks-mrtr-input", NO_TASKS),
    (STATELESS, "tasks-request-headers", NO_TASKS),
    (STATELESS, "tasks-dispatch-and-envelope", NO_TASKS),
    (STATELESS, "tasks-status-notifications", NO_TASKS),
    (STATELESS, "tasks-required-task-error", NO_TASKS),
    (STATELESS, "tasks-mrtr-composition", NO_TASKS),
];
