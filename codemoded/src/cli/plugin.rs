//! `codemoded plugin`: what an author of plugins and whoever gets one need; none of it takes a configuration.

mod project;
mod report;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::{CommandError, pretty, say};
use crate::plugin::inspection::Inspection;
use crate::plugin::{Reason, THIS_EXECUTABLE, take_stdout};
use project::{Api, ApiError, InvalidName, Name, WriteError};

/// What can be done with plugins.
#[derive(Debug, Subcommand)]
pub(super) enum PluginCommand {
    /// Makes a plugin's project: it builds, passes its tests, and loads.
    New(New),
    /// Says what a library offers, without trusting it: it is loaded in a confined process and not started.
    Inspect(Inspect),
}

#[derive(Debug, Args)]
pub(super) struct New {
    /// The plugin's name and the first segment of its capabilities' names: letters, digits, `-` and `_`.
    name: String,
    /// The folder to make; the name where there is none.
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// The folder of the crate `codemode-plugin-api` that the project builds with. Without it, the one that the
    /// daemon's package has installed, or else the one of this version's release.
    #[arg(long, value_name = "DIR")]
    api: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct Inspect {
    /// The shared library.
    library: PathBuf,
    /// Prints everything as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Why there is no project, or nothing that can be said of a library.
#[derive(Debug, thiserror::Error)]
pub(super) enum PluginError {
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error("--api: {0}")]
    Api(#[from] ApiError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("{}", lines(.0, .1))]
    Useless(PathBuf, Vec<Reason>),
    #[error("{}", .0.join("\n"))]
    Faulty(Vec<String>),
}

impl PluginError {
    /// As in `sysexits.h`.
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Name(_) | Self::Api(_) => 64,
            Self::Useless(_, reasons) => match reasons.as_slice() {
                [Reason::Missing | Reason::Unreadable(_) | Reason::NoFile] => 66,
                _ => 65,
            },
            Self::Faulty(_) => 65,
            Self::Write(_) => 73,
        }
    }
}

fn lines(path: &Path, reasons: &[Reason]) -> String {
    let line = |reason: &Reason| report::plain(&format!("`{}` {reason}", path.display()));
    reasons.iter().map(line).collect::<Vec<_>>().join("\n")
}

pub(super) fn carry_out(command: PluginCommand) -> Result<(), CommandError> {
    let out = take_stdout().map_err(CommandError::Write)?;
    match command {
        PluginCommand::New(new) => say(out, &make(new)?),
        PluginCommand::Inspect(Inspect { library, json }) => {
            let inspection = Inspection::of(&library, Path::new(THIS_EXECUTABLE))
                .map_err(|reasons| PluginError::Useless(library.clone(), reasons))?;
            // JSON escapes what would steer a terminal by itself.
            say(out, &if json { pretty(&inspection)? } else { report::text(&inspection) })?;
            let faults: Vec<_> = inspection.faults.iter().map(|fault| report::plain(fault)).collect();
            if faults.is_empty() { Ok(()) } else { Err(PluginError::Faulty(faults).into()) }
        }
    }
}

fn make(New { name, path, api }: New) -> Result<String, PluginError> {
    let name = Name::new(&name)?;
    let api = api.map_or_else(|| Ok(Api::found()), |folder| Api::at(&folder))?;
    let folder = path.unwrap_or_else(|| PathBuf::from(name.as_str()));
    project::write(&folder, &name, &api)?;
    Ok(format!(
        "made {} with codemode-plugin-api from {api}\nnext:  cd {} && cargo test && cargo build\n       \
         codemoded --config codemode.toml run example.star\n",
        folder.display(),
        folder.display()
    ))
}
