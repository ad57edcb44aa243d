//! Which paths a program asks for, in the language of `.gitignore` lines.
//!
//! A glob without `/` is about names at any depth, one with `/` about paths from the folder that is looked in, and one
//! that starts with `!` leaves out what it matches.

use codemode_plugin_api::prelude::*;
use ignore::overrides::{Override, OverrideBuilder};

use crate::error::FilesError;

/// Enough for any question, and few enough to compile quickly.
const MAX_GLOBS: usize = 64;
const MAX_GLOB_BYTES: usize = 1024;

/// One glob or several.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum GlobArgument {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug)]
pub(crate) struct Globs(Override);

impl Globs {
    /// Takes everything.
    pub(crate) fn all() -> Self {
        Self(Override::empty())
    }

    pub(crate) fn parse(argument: &GlobArgument) -> Result<Self, FilesError> {
        let globs = match argument {
            GlobArgument::One(glob) => std::slice::from_ref(glob),
            GlobArgument::Many(globs) => globs.as_slice(),
        };
        if globs.len() > MAX_GLOBS {
            let reason = format!("at most {MAX_GLOBS} globs can be given");
            return Err(FilesError::Glob { glob: "...".to_owned(), reason });
        }
        let mut builder = OverrideBuilder::new("");
        for glob in globs {
            builder.add(&line(glob)?).map_err(|error| refused(glob, &error))?;
        }
        builder.build().map(Self).map_err(|error| refused("...", &error))
    }

    /// `path` is relative to the folder that is looked in.
    pub(crate) fn take_file(&self, path: &str) -> bool {
        !self.0.matched(path, false).is_ignore()
    }

    /// Whether anything in this folder could be wanted.
    pub(crate) fn enter_folder(&self, path: &str) -> bool {
        !self.0.matched(path, true).is_ignore()
    }
}

/// The glob as a line of rules: what only an ignore file gives a meaning to is taken as it stands.
fn line(glob: &str) -> Result<String, FilesError> {
    let (exclude, pattern) = match glob.strip_prefix('!') {
        Some(pattern) => ("!", pattern),
        None => ("", glob),
    };
    let relative = pattern.strip_prefix("./");
    // `./x` speaks of one place, so it stays tied to it.
    let (anchor, pattern) = relative.map_or(("", pattern), |pattern| ("/", pattern));
    if pattern.trim_matches('/').is_empty() {
        return Err(FilesError::Glob { glob: glob.to_owned(), reason: "it matches nothing".to_owned() });
    }
    if pattern.len() > MAX_GLOB_BYTES {
        return Err(FilesError::Glob { glob: "...".to_owned(), reason: format!("longer than {MAX_GLOB_BYTES} bytes") });
    }
    let escape = if anchor.is_empty() && pattern.starts_with(['#', '!']) && exclude.is_empty() { "\\" } else { "" };
    // A folder stands for what is in it, unless it is left out as a whole.
    let contents = if pattern.ends_with('/') && exclude.is_empty() { "**" } else { "" };
    Ok(format!("{exclude}{anchor}{escape}{pattern}{contents}"))
}

fn refused(glob: &str, error: &ignore::Error) -> FilesError {
    let reason = match error {
        ignore::Error::Glob { err, .. } => err.clone(),
        other => other.to_string(),
    };
    FilesError::Glob { glob: glob.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(globs: &[&str], path: &str, expected: bool) {
        let argument = GlobArgument::Many(globs.iter().map(|glob| (*glob).to_owned()).collect());
        assert_eq!(Globs::parse(&argument).unwrap().take_file(path), expected, "{globs:?} {path}");
    }

    #[test]
    fn a_glob_without_a_slash_is_about_names_at_any_depth() {
        check(&["*.rs"], "main.rs", true);
        check(&["*.rs"], "a/b/main.rs", true);
        check(&["*.rs"], "main.rst", false);
    }

    #[test]
    fn a_glob_with_a_slash_is_about_paths() {
        check(&["src/*.rs"], "src/a.rs", true);
        check(&["src/*.rs"], "src/b/a.rs", false);
        check(&["src/*.rs"], "x/src/a.rs", false);
        check(&["/*.rs"], "a.rs", true);
        check(&["/*.rs"], "src/a.rs", false);
        check(&["./*.rs"], "src/a.rs", false);
        check(&["./*.rs"], "a.rs", true);
    }

    #[test]
    fn two_stars_cross_folders_and_none_is_enough() {
        check(&["**/*.rs"], "a.rs", true);
        check(&["**/*.rs"], "a/b/c.rs", true);
        check(&["src/**/*.rs"], "src/c.rs", true);
        check(&["src/**"], "src/a/b", true);
        check(&["**"], "a/b", true);
    }

    #[test]
    fn a_folder_stands_for_what_is_in_it() {
        check(&["src/"], "src/a.rs", true);
        check(&["src/"], "lib/a.rs", false);
    }

    #[test]
    fn several_globs_take_what_any_of_them_matches() {
        check(&["*.rs", "*.toml"], "a/Cargo.toml", true);
        check(&["*.{rs,toml}"], "a/Cargo.toml", true);
        check(&["*.rs", "*.toml"], "a/README.md", false);
    }

    #[test]
    fn an_exclamation_mark_leaves_out() {
        check(&["*.rs", "!*_test.rs"], "a_test.rs", false);
        check(&["*.rs", "!*_test.rs"], "a.rs", true);
        check(&["!*.md"], "a.rs", true);
        check(&["!*.md"], "a.md", false);
    }

    #[test]
    fn an_excluded_folder_is_not_entered() {
        let globs = Globs::parse(&GlobArgument::Many(vec!["*.rs".to_owned(), "!target/".to_owned()])).unwrap();
        assert!(!globs.enter_folder("target"));
        assert!(globs.enter_folder("src"));
    }

    #[test]
    fn a_number_sign_is_no_comment() {
        check(&["#*"], "#draft", true);
        check(&["#*"], "draft", false);
    }

    #[test]
    fn an_invalid_or_empty_glob_is_refused_by_name() {
        for glob in ["[", "{a", "", "/", "!"] {
            let refused = Globs::parse(&GlobArgument::One(glob.to_owned()));
            assert!(matches!(refused, Err(FilesError::Glob { glob: named, .. }) if named == glob), "{glob}");
        }
    }
}
