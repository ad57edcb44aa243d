//! `codemoded generate`: man pages and completions, made from the commands themselves for packages to ship.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;

use super::Arguments;

/// What the command's own page says beside its options.
const SECTIONS: &str = include_str!("generate/sections.roff");

/// What can be made.
#[derive(Debug, Subcommand)]
pub(super) enum GenerateCommand {
    /// One page for each command.
    Man {
        /// An existing folder.
        folder: PathBuf,
    },
    /// One file for each of bash, elvish, fish, PowerShell and zsh, named as each looks for it.
    Completions {
        /// An existing folder.
        folder: PathBuf,
    },
}

/// A file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write into `{}`", .0.display())]
pub(super) struct GenerateError(PathBuf, #[source] io::Error);

pub(super) fn carry_out(command: GenerateCommand) -> Result<(), GenerateError> {
    match command {
        GenerateCommand::Man { folder } => man(&folder).map_err(|error| GenerateError(folder, error)),
        GenerateCommand::Completions { folder } => completions(&folder).map_err(|error| GenerateError(folder, error)),
    }
}

fn completions(folder: &Path) -> io::Result<()> {
    for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
        clap_complete::generate_to(shell, &mut Arguments::command(), "codemoded", folder)?;
    }
    Ok(())
}

fn man(folder: &Path) -> io::Result<()> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    pages(&command, "codemoded", folder)?;
    let own = folder.join("codemoded.1");
    let text = fs::read_to_string(&own)?;
    fs::write(own, text + SECTIONS)
}

fn pages(command: &clap::Command, name: &str, folder: &Path) -> io::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let page = command.clone().display_name(name.to_owned()).version(version);
    let mut text = Vec::new();
    // Without a date a page is the same whenever it is made.
    Man::new(page).title(name).manual("codemoded").source(format!("codemoded {version}")).render(&mut text)?;
    fs::write(folder.join(format!("{name}.1")), text)?;
    for child in command.get_subcommands().filter(|child| !child.is_hide_set()) {
        pages(child, &format!("{name}-{}", child.get_name()), folder)?;
    }
    Ok(())
}
