//! A new plugin's project: what its files say, and where it gets the plugin API from.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use toml_edit::Value;

use crate::capability;
use crate::capability::catalog::RESERVED_ROOTS;

/// Where the daemon's package puts the crate.
const INSTALLED: &str = "/usr/share/codemoded/plugin-api";

/// An instance's name may be no longer.
const MAX_NAME_BYTES: usize = 64;

/// The project's files, by their paths in it.
const FILES: [(&str, &str); 7] = [
    ("Cargo.toml", include_str!("project/Cargo.toml.in")),
    ("src/lib.rs", include_str!("project/lib.rs.in")),
    ("src/tests.rs", include_str!("project/tests.rs.in")),
    ("README.md", include_str!("project/README.md.in")),
    (".gitignore", include_str!("project/gitignore.in")),
    ("codemode.toml", include_str!("project/codemode.toml.in")),
    ("example.star", include_str!("project/example.star.in")),
];

/// A plugin's name.
#[derive(Debug)]
pub(super) struct Name(String);

/// The text is no name for a plugin.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is no plugin's name: {why}{mend}")]
pub(in crate::cli) struct InvalidName {
    text: String,
    why: &'static str,
    mend: String,
}

/// Where a project gets the crate `codemode-plugin-api` from.
#[derive(Debug)]
pub(super) enum Api {
    Folder(PathBuf),
    /// The release of this version.
    Release,
}

#[derive(Debug, thiserror::Error)]
#[error("`{}` is not the folder of the crate `codemode-plugin-api`: it is `plugin-api` in a checkout", .0.display())]
pub(in crate::cli) struct ApiError(PathBuf);

/// The project is not there, or not whole.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum WriteError {
    #[error("`{}` is there and not empty: name another folder with --path", .0.display())]
    Occupied(PathBuf),
    #[error("cannot write `{}`", .0.display())]
    Write(PathBuf, #[source] io::Error),
}

impl Name {
    pub(super) fn new(text: &str) -> Result<Self, InvalidName> {
        let invalid = |why| InvalidName { text: text.to_owned(), why, mend: mend(text) };
        if !is_plain(text) {
            return Err(invalid("it is letters a to z, digits, `-` and `_`, after a letter, and 64 at most"));
        }
        let name = Self(text.to_owned());
        let root = name.namespace();
        if RESERVED_ROOTS.contains(&&*root) || capability::Name::new(&format!("{root}.x")).is_err() {
            return Err(invalid("programs know it as a word of their language"));
        }
        if text == "plugin-api" {
            return Err(invalid("the crate that every plugin is built with has it"));
        }
        Ok(name)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The first segment of the capabilities' names.
    fn namespace(&self) -> String {
        self.0.replace('-', "_")
    }
}

fn is_plain(text: &str) -> bool {
    text.len() <= MAX_NAME_BYTES
        && text.bytes().next().is_some_and(|first| first.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_')
}

/// The nearest name, where there is one.
fn mend(text: &str) -> String {
    let lowered = text.to_lowercase();
    let words: Vec<_> =
        lowered.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let near = words.join("-");
    let near = near.trim_start_matches(|char: char| !char.is_ascii_lowercase());
    match near.is_empty() {
        true => String::new(),
        false if near == text => format!("; try `my-{near}`"),
        false => format!("; try `{near}`"),
    }
}

impl Api {
    /// What the daemon's package has installed, or else the release.
    pub(super) fn found() -> Self {
        Self::at(Path::new(INSTALLED)).unwrap_or(Self::Release)
    }

    pub(super) fn at(folder: &Path) -> Result<Self, ApiError> {
        let no_api = || ApiError(folder.to_owned());
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).map_err(|_| no_api())?;
        // The project may be anywhere, so the path must not depend on where this command runs.
        let folder = folder.canonicalize().map_err(|_| no_api())?;
        let is_it = manifest.lines().any(|line| line.replace(' ', "") == "name=\"codemode-plugin-api\"");
        if is_it { Ok(Self::Folder(folder)) } else { Err(no_api()) }
    }

    fn dependency(&self) -> String {
        match self {
            Self::Folder(folder) => format!("{{ path = {} }}", Value::from(folder.to_string_lossy().into_owned())),
            Self::Release => {
                let (git, version) = (env!("CARGO_PKG_REPOSITORY"), env!("CARGO_PKG_VERSION"));
                format!("{{ git = \"{git}\", tag = \"v{version}\" }}")
            }
        }
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(f),
            Self::Release => write!(f, "{}, tag v{}", env!("CARGO_PKG_REPOSITORY"), env!("CARGO_PKG_VERSION")),
        }
    }
}

/// Writes the project into a folder that is empty or not there.
pub(super) fn write(folder: &Path, name: &Name, api: &Api) -> Result<(), WriteError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| WriteError::Write(path, error)
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    if fs::read_dir(folder).map_err(failed(folder))?.next().is_some() {
        return Err(WriteError::Occupied(folder.to_owned()));
    }
    fs::create_dir(folder.join("src")).map_err(failed(folder))?;
    let (package, namespace) = (format!("codemode-{}", name.0), name.namespace());
    let crate_name = package.replace('-', "_");
    for (path, template) in FILES {
        let text = template
            .replace("{{package}}", &package)
            .replace("{{crate}}", &crate_name)
            .replace("{{namespace}}", &namespace)
            .replace("{{api}}", &api.dependency());
        let path = folder.join(path);
        let written = File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(failed(&path))?;
    }
    Ok(())
}
