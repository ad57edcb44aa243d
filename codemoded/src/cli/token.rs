//! `codemoded token`: makes what clients of a daemon with `mode = "tokens"` send.

use std::time::Duration;

use clap::{Args, Subcommand};

use crate::identity::tokens::{MintError, mint};
use crate::identity::{InvalidSubject, SubjectId};

/// Stands between the secret and what may be kept. With it all that follows the first line can go into the file.
const FOR_THE_FILE: &str = "# for the tokens file:";

/// What can be done with tokens; none of it needs a configuration.
#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Makes a token and prints it, this once, and under a comment the line for the file of tokens.
    New(New),
}

#[derive(Debug, Args)]
pub(super) struct New {
    /// Whose token it is.
    #[arg(long, value_name = "ID")]
    subject: String,
    /// A group of the subject's, for the policy; may be repeated.
    #[arg(long = "group", value_name = "NAME")]
    groups: Vec<String>,
    /// For how many days it is good.
    #[arg(long, value_name = "DAYS", default_value = "90", value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub(super) enum TokenError {
    #[error("--subject: {0}")]
    Subject(InvalidSubject),
    #[error(transparent)]
    Mint(#[from] MintError),
}

/// What the command prints.
pub(super) fn carry_out(command: TokenCommand) -> Result<String, TokenError> {
    let TokenCommand::New(New { subject, groups, days }) = command;
    let subject = SubjectId::new(&subject).map_err(TokenError::Subject)?;
    let minted = mint(&subject, &groups, Duration::from_hours(24) * days)?;
    Ok(format!("{}\n{FOR_THE_FILE}\n{}\n", minted.token, minted.line))
}
