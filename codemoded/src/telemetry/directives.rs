//! Which lines reach the log: a level for the daemon, and others for single modules.
//!
//! Libraries keep to INFO whatever is asked: below that, those that speak HTTP write down what they send and receive,
//! tokens and all.

use std::fmt;
use std::str::FromStr;

use tracing_subscriber::filter::{LevelFilter, Targets};

/// The daemon's own modules, and those of its plugins' interface.
const OWN: [&str; 2] = ["codemoded", "codemode_plugin_api"];

/// What libraries say where nothing is said of them.
const LIBRARIES: LevelFilter = LevelFilter::WARN;

/// What a library says as a fault of its own, and is a client's.
const UNWANTED: &str = "rmcp::service";

/// Levels as they are written: `info`, or `info,codemoded::run=debug`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directives {
    text: String,
    own: LevelFilter,
    modules: Vec<(String, LevelFilter)>,
}

/// A part of the text says no level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no level; write one of error, warn, info, debug, trace and off, or MODULE=LEVEL, several with commas \
     between them"
)]
pub struct InvalidDirective(String);

impl Directives {
    pub(super) fn targets(&self) -> Targets {
        let mut targets = Targets::new().with_default(self.own.min(LIBRARIES)).with_target(UNWANTED, LevelFilter::OFF);
        for module in OWN {
            targets = targets.with_target(module, self.own);
        }
        for (module, level) in &self.modules {
            let most = if is_own(module) { LevelFilter::TRACE } else { LevelFilter::INFO };
            targets = targets.with_target(module.as_str(), (*level).min(most));
        }
        targets
    }
}

fn is_own(module: &str) -> bool {
    OWN.contains(&module.split("::").next().unwrap_or_default())
}

impl FromStr for Directives {
    type Err = InvalidDirective;

    fn from_str(text: &str) -> Result<Self, InvalidDirective> {
        let invalid = |part: &str| InvalidDirective(part.escape_debug().to_string());
        let level = |part: &str, level: &str| match level.trim().to_ascii_lowercase().as_str() {
            // The library would take numbers too.
            word @ ("error" | "warn" | "info" | "debug" | "trace" | "off") => word.parse().map_err(|_| invalid(part)),
            _ => Err(invalid(part)),
        };
        let mut directives = Self { text: text.to_owned(), own: LevelFilter::INFO, modules: Vec::new() };
        for part in text.split(',') {
            match part.split_once('=') {
                None => directives.own = level(part, part)?,
                Some((module, of)) => {
                    let module = module.trim();
                    let sound = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == ':';
                    if module.is_empty() || !module.chars().all(sound) {
                        return Err(invalid(part));
                    }
                    directives.modules.push((module.to_owned(), level(part, of)?));
                }
            }
        }
        Ok(directives)
    }
}

impl Default for Directives {
    fn default() -> Self {
        Self { text: "info".to_owned(), own: LevelFilter::INFO, modules: Vec::new() }
    }
}

impl fmt::Display for Directives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[track_caller]
    fn check(text: &str, target: &str, most: Option<Level>) {
        let targets = text.parse::<Directives>().unwrap().targets();
        for level in [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE] {
            let expected = most.is_some_and(|most| level <= most);
            assert_eq!(targets.would_enable(target, &level), expected, "{text}: {target} at {level}");
        }
    }

    #[test]
    fn a_bare_level_is_the_daemons() {
        check("info", "codemoded::run", Some(Level::INFO));
        check("trace", "codemoded::run", Some(Level::TRACE));
        check("trace", "hyper::proto", Some(Level::WARN));
        check("error", "hyper::proto", Some(Level::ERROR));
        check("off", "codemoded::run", None);
        check("off", "hyper::proto", None);
        check("info", "rmcp::service", None);
    }

    #[test]
    fn a_module_has_its_own_level_and_a_library_none_below_info() {
        check("warn, codemoded::run=debug", "codemoded::run::call", Some(Level::DEBUG));
        check("warn, codemoded::run=debug", "codemoded::audit", Some(Level::WARN));
        check("info,hyper=trace", "hyper::proto", Some(Level::INFO));
        check("info,ureq=off", "ureq", None);
        check("info,rmcp::service=debug", "rmcp::service", Some(Level::INFO));
        // Not ours, for all that its name begins alike.
        check("info,codemoded_other=trace", "codemoded_other", Some(Level::INFO));
    }

    #[test]
    fn anything_else_is_refused_and_said() {
        for text in ["", "loud", "info,,", "=info", "a b=info", "codemoded=loud", "3", "[run]=info", "info,\u{1b}"] {
            let error = text.parse::<Directives>().unwrap_err().to_string();
            assert!(error.contains("is no level") && !error.contains('\u{1b}'), "{text}: {error}");
        }
    }
}
