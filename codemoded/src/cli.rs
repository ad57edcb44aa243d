//! The commands. All take the same configuration and go through the same code as a request.

mod audit;
mod doctor;
mod exit;
mod generate;
mod plugin;
mod policy;
mod reload;
mod running;
mod serve;
mod token;

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use audit::AuditCommand;
use clap::{Parser, Subcommand};
use generate::{GenerateCommand, GenerateError};
use plugin::{PluginCommand, PluginError};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::audit::Audit;
use crate::causes::{reasons, with_causes};
use crate::config::{Config, ConfigFault, Flag, Identity, Sources, Transport};
use crate::daemon::{Daemon, Instruments, StartError};
use crate::doctor::Severity;
use crate::failure::Failure;
use crate::generation::Generation;
use crate::identity::{Subject, SubjectId};
use crate::mcp::stdio::StdioError;
use crate::mcp::{run_text, text};
use crate::metrics::Metrics;
use crate::plugin::take_stdout;
use crate::run::Request;
use crate::supervisor::Supervisor;
use crate::telemetry::spans::Spans;
use crate::telemetry::{self, Directives};
use crate::value::{Bounds, Value, read};
use reload::{Reload, ReloadFault};
use running::{At, LogLevel, RunningFault};
use token::{TokenCommand, TokenError};

/// How long tasks that are dropped at the end may take.
const SHUTDOWN_TIME: Duration = Duration::from_millis(500);

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

/// What needs a configuration.
#[derive(Debug, Subcommand)]
enum Configured {
    /// Checks the configuration, loads everything it names, and says what it found.
    Check {
        /// Says instead what a reload would change that comes from this configuration to the one of `--config`; without
        /// one, from what the running daemon serves.
        #[arg(long, value_name = "OLD")]
        diff: Option<Option<PathBuf>>,
        #[command(flatten)]
        at: At,
    },
    /// Lists the capabilities that programs can call.
    Catalog,
    /// Finds capabilities, as `search_api` does.
    Search {
        query: String,
        #[command(flatten)]
        caller: Caller,
    },
    /// Describes one capability, as `describe_api` does.
    Describe {
        name: String,
        #[command(flatten)]
        caller: Caller,
    },
    /// Tries the policy.
    #[command(subcommand)]
    Policy(policy::Command),
    /// Runs a program, as `execute` does, and prints its result as JSON.
    Run {
        /// The program; `-` reads standard input.
        file: PathBuf,
        #[command(flatten)]
        caller: Caller,
    },
}

/// For whom a command is carried out.
#[derive(Debug, clap::Args)]
struct Caller {
    /// The subject; where the identity is static, its subject is the default.
    #[arg(long, value_name = "ID")]
    subject: Option<String>,
    /// A JSON file with the claims that the policy sees.
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
}

/// Why a command ended without doing what it is for.
#[derive(Debug, thiserror::Error)]
enum CommandError {
    #[error("{}", lines(.0))]
    Config(Vec<ConfigFault>),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("cannot start the runtime")]
    Runtime(#[source] std::io::Error),
    #[error("cannot read `{}`", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    #[error("`{}` must hold one JSON object", .0.display())]
    Claims(PathBuf),
    #[error("say for whom with --subject: the identity is not static")]
    NoSubject,
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

fn lines(faults: &[ConfigFault]) -> String {
    faults.iter().map(|fault| with_causes(fault)).collect::<Vec<_>>().join("\n")
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
    let command = match arguments.command {
        Some(Command::Token(command)) => {
            let made = token::carry_out(command)?;
            return say(take_stdout().map_err(CommandError::Write)?, &made);
        }
        Some(Command::Plugin(command)) => return plugin::carry_out(command),
        Some(Command::Generate(command)) => return Ok(generate::carry_out(command)?),
        Some(Command::Audit(command)) => {
            let out = take_stdout().map_err(CommandError::Write)?;
            let sources = Sources::new(arguments.config, std::env::vars_os(), None);
            let configured = || Config::load(&sources, Transport::Http).map(|config| config.audit.to);
            return audit::carry_out(command, out, || configured().map_err(CommandError::Config));
        }
        Some(Command::Doctor { json }) => return diagnose(arguments.config, arguments.listen, json),
        Some(Command::Reload(command)) => {
            let done = match command.socket.clone() {
                Some(socket) => running::reload(&At { socket: Some(socket) }, &sources(arguments.config, None, None))?,
                None => reload::carry_out(&command)?,
            };
            return say(take_stdout().map_err(CommandError::Write)?, &done);
        }
        Some(Command::LogLevel(command)) => {
            let done = running::log_level(command, &sources(arguments.config, None, None))?;
            return say(take_stdout().map_err(CommandError::Write)?, &done);
        }
        Some(Command::Configured(command)) => Some(command),
        None => None,
    };
    let sources = sources(arguments.config, arguments.listen, arguments.log);
    let transport = if arguments.stdio { Transport::Stdio } else { Transport::Http };
    let config = Arc::new(Config::load(&sources, transport).map_err(CommandError::Config)?);
    let levels = telemetry::start(&config.log).map_err(CommandError::Log)?;
    let out = take_stdout().map_err(CommandError::Write)?;
    let audit = start_audit(command.as_ref(), &config, &out)?;
    let spans = start_spans(command.as_ref(), &config)?;
    let runtime = runtime().map_err(CommandError::Runtime)?;
    let done = runtime.block_on(async {
        let instruments =
            Instruments { metrics: Metrics::default(), audit: audit.clone(), spans: spans.clone(), levels };
        let daemon = async || Daemon::start(&config, None, &instruments).await;
        audit.reopen_on_signal().map_err(CommandError::Runtime)?;
        let service = || serve::Service {
            sources: sources.clone(),
            config: Arc::clone(&config),
            supervisor,
            instruments: instruments.clone(),
        };
        match command {
            None if arguments.stdio => serve::over_stdio(service(), out).await,
            None => serve::over_http(service(), out).await,
            Some(Configured::Check { diff: None, .. }) => say(out, &check(&daemon().await?, &config).await?),
            Some(Configured::Check { diff: Some(Some(old)), .. }) => {
                let old = Config::load(&sources.with_file(old), transport).map_err(CommandError::Config)?;
                say(out, &differences(&Arc::new(old), &config, &instruments).await?)
            }
            Some(Configured::Check { diff: Some(None), at }) => {
                let before = running::facts(at, &config).await?;
                let after = daemon().await?;
                after.check_identity(&config).await?;
                say(out, &told(&before.differences(&after.facts(&config))))
            }
            Some(Configured::Catalog) => say(out, &catalog(&daemon().await?)),
            Some(Configured::Search { query, caller }) => {
                say(out, &search(&daemon().await?, subject(caller, &config)?, &query).await?)
            }
            Some(Configured::Describe { name, caller }) => {
                say(out, &describe(&daemon().await?, subject(caller, &config)?, &name).await?)
            }
            Some(Configured::Policy(policy::Command::Test { files })) => policy::test(&config, &files, out),
            Some(Configured::Policy(policy::Command::Eval { name, arguments, caller })) => {
                let subject = subject(caller, &config)?;
                say(out, &policy::eval(&daemon().await?, &config, subject, &name, &arguments).await?)
            }
            Some(Configured::Run { file, caller }) => {
                say(out, &run(&daemon().await?, subject(caller, &config)?, &file).await?)
            }
        }
    });
    // A handler that ignores its cancel signal must not keep the process. What is dropped now is recorded as cancelled.
    runtime.shutdown_timeout(SHUTDOWN_TIME);
    audit.stop();
    if let Some(spans) = spans {
        spans.stop();
    }
    done
}

/// Only of what runs programs.
fn start_spans(command: Option<&Configured>, config: &Config) -> Result<Option<Spans>, CommandError> {
    let runs_programs = matches!(command, None | Some(Configured::Run { .. }));
    let settings = config.traces.as_ref().filter(|_| runs_programs);
    settings.map(Spans::start).transpose().map_err(CommandError::NoSpans)
}

/// Only what runs programs is audited.
fn start_audit(command: Option<&Configured>, config: &Config, out: &File) -> Result<Audit, CommandError> {
    let out = match command {
        None => out.try_clone(),
        // Standard output is for the result; what the process knows as such by now is standard error.
        Some(Configured::Run { .. }) => std::io::stdout().as_fd().try_clone_to_owned().map(File::from),
        Some(
            Configured::Check { .. }
            | Configured::Catalog
            | Configured::Search { .. }
            | Configured::Describe { .. }
            | Configured::Policy(_),
        ) => return Ok(Audit::off()),
    };
    Ok(Audit::start(&config.audit, out.map_err(CommandError::Write)?)?)
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

async fn check(daemon: &Daemon, config: &Config) -> Result<String, CommandError> {
    daemon.check_identity(config).await?;
    let generation = daemon.current.get();
    let Generation { catalog, policy, plugins, .. } = &*generation;
    let loaded: Vec<_> = plugins
        .instances()
        .iter()
        .map(|each| format!("{} {} ({})", each.name(), each.version(), each.offers()))
        .collect();
    let disabled: Vec<_> = catalog.disabled().iter().map(ToString::to_string).collect();
    let mut text = format!("configuration  {}\nplugins        {}\n", config.summary, loaded.join(", "));
    let _ = write!(text, "catalog        {} enabled, {} disabled", catalog.len(), disabled.len());
    if !disabled.is_empty() {
        let _ = write!(text, " ({})", disabled.join(", "));
    }
    let workers = config.workers;
    let _ = write!(text, "\npolicy         {}\nidentity       {}\n", policy.summary(), config.identity);
    let _ = writeln!(text, "workers        {}, {} ready, sandbox {}", workers.start, workers.ready, workers.sandbox);
    Ok(text)
}

/// What a reload would change: the new generation is built beside the old one, as a reload builds it.
async fn differences(old: &Arc<Config>, new: &Arc<Config>, instruments: &Instruments) -> Result<String, CommandError> {
    let before = Daemon::start(old, None, instruments).await?;
    let after = before.beside(new).await?;
    after.check_identity(new).await?;
    Ok(told(&before.facts(old).differences(&after.facts(new))))
}

fn told(differences: &[String]) -> String {
    if differences.is_empty() { "no difference\n".to_owned() } else { differences.join("\n") + "\n" }
}

fn catalog(daemon: &Daemon) -> String {
    let generation = daemon.current.get();
    let mut text = String::new();
    for each in generation.catalog.iter() {
        let signature = crate::capability::signature::signature(&each.name, &each.input);
        let _ = writeln!(text, "{signature}\n    {}", each.summary);
        // What a policy goes by.
        if each.id.as_str() != each.name.as_str() {
            let _ = writeln!(text, "    ID {}", each.id.as_str());
        }
    }
    text
}

async fn search(daemon: &Daemon, subject: Subject, query: &str) -> Result<String, CommandError> {
    let found = daemon.current.get().search(&subject, query).await;
    pretty(&found.map_err(|failure| failed(&failure))?)
}

async fn describe(daemon: &Daemon, subject: Subject, name: &str) -> Result<String, CommandError> {
    let described = daemon.current.get().describe(&subject, name).await;
    pretty(&described.map_err(|failure| failed(&failure))?)
}

async fn run(daemon: &Daemon, subject: Subject, file: &Path) -> Result<String, CommandError> {
    let read = match file.as_os_str() == "-" {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(file),
    };
    let source = read.map_err(|cause| CommandError::Read(file.to_owned(), cause))?;
    let (cancelled, progress) = (CancellationToken::new(), watch::Sender::default());
    let generation = daemon.current.get();
    let request = Request { generation, subject, source, arrived: Instant::now(), cancelled, progress, remote: None };
    let report = daemon.runs.execute(request).await;
    match report.outcome {
        Ok(value) => Ok(value.to_json() + "\n"),
        Err(failure) => Err(CommandError::Failed(run_text(&failure, &report.calls))),
    }
}

fn subject(caller: Caller, config: &Config) -> Result<Subject, CommandError> {
    let mut subject = match (caller.subject, &config.identity) {
        (Some(id), _) => Subject::new(SubjectId::new(&id).map_err(CommandError::Subject)?),
        (None, Identity::Static(one)) => one.subject.clone(),
        (None, Identity::Proxy(_) | Identity::Jwt(_) | Identity::Tokens(_) | Identity::Plugin(_)) => {
            return Err(CommandError::NoSubject);
        }
    };
    if let Some(file) = caller.claims {
        let text = std::fs::read(&file).map_err(|cause| CommandError::Read(file.clone(), cause))?;
        match read(&text, Bounds { max_bytes: 1 << 20, max_depth: 32 }) {
            Ok(Value::Map(claims)) => subject.claims = claims.into(),
            Ok(_) | Err(_) => return Err(CommandError::Claims(file)),
        }
    }
    Ok(subject)
}

fn failed(failure: &Failure) -> CommandError {
    CommandError::Failed(text(failure))
}

fn pretty(value: &impl serde::Serialize) -> Result<String, CommandError> {
    let json = serde_json::to_string_pretty(value).map_err(|cause| CommandError::Write(cause.into()))?;
    Ok(json + "\n")
}

fn say(mut out: File, text: &str) -> Result<(), CommandError> {
    out.write_all(text.as_bytes()).map_err(CommandError::Write)
}
