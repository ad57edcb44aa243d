//! The commands. All take the same configuration and go through the same code as a request.

mod audit;
mod configured;
mod doctor;
mod exit;
mod generate;
mod plugin;
mod policy;
mod reload;
mod running;
mod serve;
mod token;

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use audit::AuditCommand;
use clap::{Parser, Subcommand};
use configured::Configured;
use generate::{GenerateCommand, GenerateError};
use plugin::{PluginCommand, PluginError};
use tokio::runtime::Runtime;

use crate::causes::{all_with_causes, reasons};
use crate::config::{Config, ConfigFault, Flag, Sources, Transport};
use crate::daemon::StartError;
use crate::doctor::Severity;
use crate::failure::Failure;
use crate::file::FileFault;
use crate::mcp::stdio::StdioError;
use crate::mcp::text;
use crate::plugin::take_stdout;
use crate::position::Position;
use crate::supervisor::Supervisor;
use crate::telemetry::Directives;
use crate::unit;
use crate::value::JsonFault;
use reload::{Reload, ReloadFault};
use running::{At, LogLevel, RunningFault};
use token::{TokenCommand, TokenError};

/// One MCP endpoint whose tools find typed capabilities and run small programs that compose them.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// The configuration file.
    #[arg(long, global = true, value_name = "FILE", default_value = "codemode.toml")]
    config: PathBuf,
    /// Listens here instead of at `server.listen`.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Serves one local client on standard input and output instead of HTTP.
    #[arg(long)]
    stdio: bool,
    /// Which log lines reach standard error, such as `debug` or `info,codemoded::run=debug`; instead of `log.level`.
    #[arg(long, global = true, value_name = "LEVELS")]
    log: Option<Directives>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Configured(Configured),
    /// Says what this host gives and what to do about what it does not; ends with 1 for warnings, and with 78 where the
    /// daemon would not start or not serve.
    Doctor {
        /// Prints an array of findings instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Makes bearer tokens for `mode = "tokens"`.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Makes plugins, and looks at their libraries.
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Writes man pages and completions, for packages.
    #[command(subcommand, hide = true)]
    Generate(GenerateCommand),
    /// Reads back who called what.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Has the running daemon reload, through systemd or with `--socket` without it, and tells what came of it.
    Reload(Reload),
    LogLevel(LogLevel),
}

/// Why a command ended without doing what it is for.
#[derive(Debug, thiserror::Error)]
enum CommandError {
    #[error("{}", all_with_causes(.0))]
    Config(Vec<ConfigFault>),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("cannot start the runtime")]
    Runtime(#[source] std::io::Error),
    /// Files that arguments name.
    #[error("{}", all_with_causes(.0))]
    Files(Vec<FileFault>),
    #[error("`{}` must hold one JSON object", .0.display())]
    NoClaims(PathBuf),
    #[error("{}:{at}: {fault}; `--claims` wants one JSON object", path.display())]
    Claims { path: PathBuf, at: Position, fault: JsonFault },
    #[error("say for whom with --subject: the identity is not static")]
    NoSubject,
    #[error(
        "{} serves this configuration as `{user}`, who could not write what a plugin makes as root; as root, write \
         `runuser -u {user} -- codemoded …`",
        unit::NAME
    )]
    AsRoot { user: String },
    #[error("--diff names a configuration to compare with and --socket a daemon; give one of them")]
    TwoBefore,
    #[error("--subject: {0}")]
    Subject(crate::identity::InvalidSubject),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Plugin(#[from] PluginError),
    #[error(transparent)]
    Generate(#[from] GenerateError),
    #[error(transparent)]
    Audit(#[from] audit::AuditError),
    #[error("audit.to: {found}; {mend}")]
    NoPlace { found: String, mend: String },
    #[error("cannot start the thread that sends spans")]
    NoSpans(#[source] std::io::Error),
    #[error(transparent)]
    NoAudit(#[from] crate::audit::AuditError),
    #[error(transparent)]
    Reload(#[from] ReloadFault),
    #[error(transparent)]
    Running(#[from] RunningFault),
    #[error("cannot write the log")]
    Log(#[source] tracing_subscriber::util::TryInitError),
    #[error(transparent)]
    Trial(#[from] policy::TrialError),
    #[error("cannot write to standard output")]
    Write(#[source] std::io::Error),
    #[error("the conversation on standard input and output broke")]
    Stdio(#[source] StdioError),
    /// What the client of a request would read.
    #[error("{0}")]
    Failed(String),
    #[error("something is not as it should be; what to do is written above")]
    Unwell(Severity),
}

/// Reads the arguments, does what they say, and gives the exit code.
pub fn main() -> ExitCode {
    let supervisor = Supervisor::take();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(answer) => {
            // Help is asked for and goes to standard output; where that is gone, nobody misses it.
            drop(answer.print());
            return if answer.use_stderr() { exit::USAGE.into() } else { ExitCode::SUCCESS };
        }
    };
    match carry_out(arguments, supervisor) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            exit::code(&error).into()
        }
    }
}

/// One line a fault.
fn report(error: &CommandError) {
    let lines: Vec<_> = reasons(error).into_iter().map(|reason| format!("error: {reason}")).collect();
    // Nothing is left to tell where standard error is gone.
    let _ = writeln!(std::io::stderr(), "{}", lines.join("\n"));
}

fn carry_out(arguments: Arguments, supervisor: Supervisor) -> Result<(), CommandError> {
    let Arguments { config, listen, stdio, log, command } = arguments;
    let transport = if stdio { Transport::Stdio } else { Transport::Http };
    match command {
        Some(Command::Token(command)) => print(&token::carry_out(command)?),
        Some(Command::Plugin(command)) => plugin::carry_out(command),
        Some(Command::Generate(command)) => Ok(generate::carry_out(command)?),
        Some(Command::Audit(command)) => read_back(command, config),
        Some(Command::Doctor { json }) => diagnose(config, listen, json),
        Some(Command::Reload(command)) => print(&match command.socket {
            Some(_) => running::reload(&At { socket: command.socket }, &sources(config, None, None))?,
            None => reload::carry_out(&command)?,
        }),
        Some(Command::LogLevel(command)) => print(&running::log_level(command, &sources(config, None, None))?),
        Some(Command::Configured(command)) => {
            configured::carry_out(Some(command), sources(config, listen, log), transport, supervisor)
        }
        None => configured::carry_out(None, sources(config, listen, log), transport, supervisor),
    }
}

fn read_back(command: AuditCommand, file: PathBuf) -> Result<(), CommandError> {
    let configured = || {
        let config = Config::load(&sources(file, None, None), Transport::Http).map_err(CommandError::Config)?;
        Ok(config.audit.to)
    };
    audit::carry_out(command, take_stdout().map_err(CommandError::Write)?, configured)
}

fn sources(file: PathBuf, listen: Option<String>, log: Option<Directives>) -> Sources {
    let flag = |name: &str, key: &str, value| Flag { name: name.into(), key: key.into(), value };
    let listen = listen.map(|value| flag("--listen", "server.listen", value));
    let log = log.map(|levels| flag("--log", "log.level", levels.to_string()));
    Sources::new(file, std::env::vars_os(), listen.into_iter().chain(log))
}

fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

/// Does not stop at a configuration that cannot be used, starts no daemon, and logs nothing.
fn diagnose(file: PathBuf, listen: Option<String>, json: bool) -> Result<(), CommandError> {
    let out = take_stdout().map_err(CommandError::Write)?;
    let runtime = runtime().map_err(CommandError::Runtime)?;
    let diagnosis = runtime.block_on(doctor::carry_out(&sources(file, listen, None), json));
    // What a plugin's own threads do must not keep the process.
    runtime.shutdown_background();
    let (text, worst) = diagnosis.map_err(|cause| CommandError::Write(cause.into()))?;
    say(out, &text)?;
    match worst {
        Severity::Ok => Ok(()),
        Severity::Warning | Severity::Fault => Err(CommandError::Unwell(worst)),
    }
}

fn failed(failure: &Failure) -> CommandError {
    CommandError::Failed(text(failure))
}

fn pretty(value: &impl serde::Serialize) -> Result<String, CommandError> {
    let json = serde_json::to_string_pretty(value).map_err(|cause| CommandError::Write(cause.into()))?;
    Ok(json + "\n")
}

fn print(text: &str) -> Result<(), CommandError> {
    say(take_stdout().map_err(CommandError::Write)?, text)
}

fn say(mut out: File, text: &str) -> Result<(), CommandError> {
    match out.write_all(text.as_bytes()) {
        // Whoever reads has seen enough.
        Err(cause) if cause.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.map_err(CommandError::Write),
    }
}
