//! A path below a root, checked before it is used.

use std::fmt;

/// Folder names joined by `/`, without `.`, `..` or empty ones; the root itself is the empty path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RelativePath(String);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum PathError {
    #[error("path `{path}` must be relative to the root")]
    Absolute { path: String },
    #[error("path `{path}` must not contain `..`")]
    Parent { path: String },
    #[error("path must not contain a NUL character")]
    Nul,
}

impl RelativePath {
    pub(crate) fn parse(given: &str) -> Result<Self, PathError> {
        if given.contains('\0') {
            return Err(PathError::Nul);
        }
        if given.starts_with('/') {
            return Err(PathError::Absolute { path: given.to_owned() });
        }
        let mut names = Vec::new();
        for name in given.split('/') {
            match name {
                "" | "." => {}
                ".." => return Err(PathError::Parent { path: given.to_owned() }),
                name => names.push(name),
            }
        }
        Ok(Self(names.join("/")))
    }

    /// An omitted path is the root.
    pub(crate) fn parse_or_root(given: Option<&str>) -> Result<Self, PathError> {
        Self::parse(given.unwrap_or_default())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// What the file system is asked for.
    pub(crate) fn to_open(&self) -> &str {
        if self.0.is_empty() { "." } else { &self.0 }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    pub(crate) fn is_hidden(&self) -> bool {
        self.names().any(is_hidden_name)
    }

    pub(crate) fn join(&self, name: &str) -> Self {
        if self.0.is_empty() { Self(name.to_owned()) } else { Self(format!("{}/{name}", self.0)) }
    }
}

impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_open())
    }
}

pub(crate) fn is_hidden_name(name: &str) -> bool {
    name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &str, expected: Result<&str, PathError>) {
        assert_eq!(RelativePath::parse(given).as_ref().map(RelativePath::as_str), expected.as_ref().map(|path| *path));
    }

    #[test]
    fn needless_dots_and_slashes_are_dropped() {
        check("a/b.rs", Ok("a/b.rs"));
        check("./a//b/", Ok("a/b"));
        check(".", Ok(""));
        check("", Ok(""));
    }

    #[test]
    fn an_absolute_path_is_refused() {
        check("/etc/passwd", Err(PathError::Absolute { path: "/etc/passwd".to_owned() }));
    }

    #[test]
    fn a_parent_is_refused_wherever_it_stands() {
        for given in ["..", "../a", "a/..", "a/../b"] {
            check(given, Err(PathError::Parent { path: given.to_owned() }));
        }
        check("a..b/...", Ok("a..b/..."));
    }

    #[test]
    fn a_nul_is_refused() {
        check("a\0b", Err(PathError::Nul));
    }

    #[test]
    fn a_dot_at_the_start_of_any_name_hides_a_path() {
        for (given, hidden) in [(".env", true), ("a/.git/config", true), ("a.b/c.", false), ("./a", false)] {
            assert_eq!(RelativePath::parse(given).map(|path| path.is_hidden()), Ok(hidden), "{given}");
        }
    }
}
