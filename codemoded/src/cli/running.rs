//! What is asked of a daemon that runs, over the Unix socket of its administration.

use std::io;
use std::path::PathBuf;

use clap::Args;
use http::{Method, StatusCode};

use crate::admin::client::{Answer, AskError, Reloaded, ask};
use crate::causes::all_with_causes;
use crate::config::{Config, ConfigFault, Sources, Transport};
use crate::daemon::Facts;
use crate::telemetry::Directives;

/// Shows which lines the running daemon logs, or changes that until it reloads or ends. For root and the daemon's own
/// user.
#[derive(Debug, Args)]
pub(super) struct LogLevel {
    /// The new levels, such as `debug` or `info,codemoded::run=debug`.
    levels: Option<Directives>,
    #[command(flatten)]
    at: At,
}

/// Where the daemon is asked.
#[derive(Debug, Args)]
pub(super) struct At {
    /// The daemon's Unix socket for administration; without this, the one of `admin.listen` in the configuration.
    #[arg(long, value_name = "PATH")]
    pub(super) socket: Option<PathBuf>,
}

/// Why a running daemon does not do it.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunningFault {
    #[error("{}", all_with_causes(.0))]
    Config(Vec<ConfigFault>),
    #[error(
        "admin.listen: there is no Unix socket, and nothing else takes changes; add one, such as \
         `listen = [\"127.0.0.1:8788\", \"unix:/run/codemoded/admin.sock\"]`, or name one with --socket"
    )]
    NoSocket,
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error("{0}")]
    Forbidden(String),
    #[error("the daemon answers with status {status}: {said}")]
    Unexpected { status: u16, said: String },
    #[error("the daemon's answer is not understood; is it of another version?")]
    NotUnderstood(#[source] serde_json::Error),
    /// One line each.
    #[error("{0}")]
    NotReloaded(String),
}

/// What the command prints: the levels that hold now.
pub(super) fn log_level(command: LogLevel, sources: &Sources) -> Result<String, RunningFault> {
    let (method, body) = match command.levels {
        None => (Method::GET, String::new()),
        Some(levels) => (Method::PUT, levels.to_string()),
    };
    let answer = command.at.asked(sources, method, "/log-level", body)?;
    match answer.status {
        StatusCode::OK => Ok(answer.text),
        _ => Err(answer.into()),
    }
}

/// The same of a reload: the generation that serves now, and what needs a restart.
pub(super) fn reload(at: &At, sources: &Sources) -> Result<String, RunningFault> {
    let answer = at.asked(sources, Method::POST, "/reload", String::new())?;
    if !matches!(answer.status, StatusCode::OK | StatusCode::UNPROCESSABLE_ENTITY) {
        return Err(answer.into());
    }
    let told: Reloaded = serde_json::from_str(&answer.text).map_err(RunningFault::NotUnderstood)?;
    let generation = told.generation;
    if !told.reloaded {
        return Err(RunningFault::NotReloaded(format!("{}\ngeneration {generation} goes on", told.reasons.join("\n"))));
    }
    let notes: String = told.notes.iter().map(|note| format!("{note}\n")).collect();
    Ok(format!("{notes}generation {generation} serves\n"))
}

/// What the running daemon serves, for telling a configuration from it.
pub(super) async fn facts(socket: Option<PathBuf>, config: &Config) -> Result<Facts, RunningFault> {
    let socket = socket.map_or_else(|| socket_of(config), Ok)?;
    let answer = ask(&socket, Method::GET, "/facts", String::new()).await?;
    match answer.status {
        StatusCode::OK => serde_json::from_str(&answer.text).map_err(RunningFault::NotUnderstood),
        _ => Err(answer.into()),
    }
}

impl At {
    fn asked(&self, sources: &Sources, method: Method, path: &str, body: String) -> Result<Answer, RunningFault> {
        let socket = match &self.socket {
            Some(socket) => socket.clone(),
            None => socket_of(&Config::load(sources, Transport::Http).map_err(RunningFault::Config)?)?,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(runtime.map_err(RunningFault::Runtime)?.block_on(ask(&socket, method, path, body))?)
    }
}

fn socket_of(config: &Config) -> Result<PathBuf, RunningFault> {
    config.admin.unix_socket().map(ToOwned::to_owned).ok_or(RunningFault::NoSocket)
}

impl From<Answer> for RunningFault {
    fn from(answer: Answer) -> Self {
        let said = answer.text.trim().replace('\n', "; ");
        match answer.status {
            StatusCode::FORBIDDEN => Self::Forbidden(said),
            status => Self::Unexpected { status: status.as_u16(), said },
        }
    }
}
