//! What needs a configuration: serving, and the commands that do what a request would.

use std::fmt::Write as _;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Subcommand;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::running;
use super::{CommandError, failed, policy, pretty, runtime, say, serve};
use crate::audit::Audit;
use crate::config::{Config, Identity, Sources, Transport};
use crate::daemon::{Daemon, Instruments, StartError};
use crate::doctor;
use crate::failure::Failure;
use crate::file::{self, FileFault};
use crate::generation::Generation;
use crate::identity::tokens::Tokens;
use crate::identity::{Subject, SubjectId};
use crate::limits::Limit;
use crate::mcp::run_text;
use crate::metrics::Metrics;
use crate::plugin::take_stdout;
use crate::position::Position;
use crate::run::Request;
use crate::supervisor::Supervisor;
use crate::telemetry;
use crate::telemetry::spans::Spans;
use crate::unit;
use crate::value::{Bounds, Map, Value, read};

/// How long tasks that are dropped at the end may take.
const SHUTDOWN_TIME: Duration = Duration::from_millis(500);
const MAX_CLAIMS_BYTES: u64 = 1 << 20;

/// What needs a configuration.
#[derive(Debug, Subcommand)]
pub(super) enum Configured {
    /// Checks the configuration, loads everything it names, and says what it found.
    Check {
        /// Says instead what a reload would change that comes from this configuration to the one of `--config`; without
        /// one, from what the running daemon serves.
        #[arg(long, value_name = "OLD")]
        diff: Option<Option<PathBuf>>,
        /// The Unix socket where the running daemon is asked; without this, the one of `admin.listen`.
        #[arg(long, value_name = "PATH", requires = "diff")]
        socket: Option<PathBuf>,
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
pub(super) struct Caller {
    /// The subject; where the identity is static, its subject is the default. Its groups are those of its tokens.
    #[arg(long, value_name = "ID")]
    subject: Option<String>,
    /// A JSON file with the claims that the policy sees.
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
}

/// Serves, where there is no command.
pub(super) fn carry_out(
    command: Option<Configured>,
    sources: Sources,
    transport: Transport,
    supervisor: Supervisor,
) -> Result<(), CommandError> {
    let config = Arc::new(Config::load(&sources, transport).map_err(CommandError::Config)?);
    if command.as_ref().is_some_and(Configured::starts_plugins)
        && let Some(user) = unit::instead_of_root(config.origin.file())
    {
        return Err(CommandError::AsRoot { user });
    }
    let levels = telemetry::start(&config.log).map_err(CommandError::Log)?;
    let out = take_stdout().map_err(CommandError::Write)?;
    let audit = start_audit(command.as_ref(), &config, &out)?;
    let spans = start_spans(command.as_ref(), &config)?;
    let runtime = runtime().map_err(CommandError::Runtime)?;
    let instruments = Instruments { metrics: Metrics::default(), audit: audit.clone(), spans: spans.clone(), levels };
    let service = serve::Service { sources, config, supervisor, instruments };
    let done = runtime.block_on(async {
        audit.reopen_on_signal().map_err(CommandError::Runtime)?;
        match (command, transport) {
            (Some(command), _) => command.carry_out(&service, transport, out).await,
            (None, Transport::Stdio) => serve::over_stdio(service, out).await,
            (None, Transport::Http) => serve::over_http(service, out).await,
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

impl Configured {
    fn starts_plugins(&self) -> bool {
        match self {
            Self::Policy(policy::Command::Test { .. }) => false,
            Self::Check { .. }
            | Self::Catalog
            | Self::Search { .. }
            | Self::Describe { .. }
            | Self::Policy(policy::Command::Eval { .. })
            | Self::Run { .. } => true,
        }
    }

    async fn carry_out(self, service: &serve::Service, transport: Transport, out: File) -> Result<(), CommandError> {
        let serve::Service { sources, config, instruments, .. } = service;
        let text = match self {
            Self::Check { diff: None, .. } => asked(service, async |daemon| check(daemon, config).await).await?,
            Self::Check { diff: Some(Some(_)), socket: Some(_) } => return Err(CommandError::TwoBefore),
            Self::Check { diff: Some(Some(old)), .. } => {
                let old = Config::load(&sources.with_file(old), transport).map_err(CommandError::Config)?;
                differences(&Arc::new(old), config, instruments).await?
            }
            Self::Check { diff: Some(None), socket } => {
                let before = running::facts(socket, config).await?;
                asked(service, async |after| {
                    after.check_identity(config).await?;
                    Ok(told(&before.differences(&after.facts(config))))
                })
                .await?
            }
            Self::Catalog => asked(service, async |daemon| Ok(catalog(daemon))).await?,
            Self::Search { query, caller } => {
                asked(service, async |daemon| search(daemon, subject(caller, config)?, &query).await).await?
            }
            Self::Describe { name, caller } => {
                asked(service, async |daemon| describe(daemon, subject(caller, config)?, &name).await).await?
            }
            Self::Policy(policy::Command::Test { files }) => return policy::test(config, &files, out),
            Self::Policy(policy::Command::Eval { name, arguments, caller }) => {
                let subject = subject(caller, config)?;
                asked(service, async |daemon| policy::eval(daemon, config, subject, &name, &arguments).await).await?
            }
            Self::Run { file, caller } => {
                asked(service, async |daemon| run(daemon, subject(caller, config)?, &file).await).await?
            }
        };
        say(out, &text)
    }
}

/// What a daemon of this configuration says, which ends then as one that serves.
async fn asked(
    service: &serve::Service,
    ask: impl AsyncFnOnce(&Daemon) -> Result<String, CommandError>,
) -> Result<String, CommandError> {
    let daemon = Daemon::start(&service.config, None, &service.instruments).await?;
    let said = ask(&daemon).await;
    daemon.end().await;
    said
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

async fn check(daemon: &Daemon, config: &Config) -> Result<String, CommandError> {
    daemon.check_identity(config).await?;
    if let Some((found, mend)) = doctor::no_place(&config.audit.to) {
        return Err(CommandError::NoPlace { found, mend });
    }
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
    let after = match before.beside(new).await {
        Ok(after) => after,
        Err(error) => {
            before.end().await;
            return Err(error.into());
        }
    };
    let checked = after.check_identity(new).await;
    let differences = before.facts(old).differences(&after.facts(new));
    Daemon::end_together([before, after]).await;
    checked?;
    Ok(told(&differences))
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
    let source = program(file, daemon.current.get().limits.max_source_bytes)?;
    let (cancelled, progress) = (CancellationToken::new(), watch::Sender::default());
    let generation = daemon.current.get();
    let request = Request { generation, subject, source, arrived: Instant::now(), cancelled, progress, remote: None };
    let report = daemon.runs.execute(request).await;
    match report.outcome {
        Ok(value) => Ok(value.to_json() + "\n"),
        Err(failure) => Err(CommandError::Failed(run_text(&failure, &report.calls))),
    }
}

/// A program's text, from a file, a pipe or standard input. No more of it is read than would run.
fn program(file: &Path, max_bytes: usize) -> Result<String, CommandError> {
    let max_bytes = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    let read = match file.as_os_str() == "-" {
        true => file::bounded(file, std::io::stdin(), max_bytes),
        false => file::read_stream(file, max_bytes),
    };
    read.and_then(|bytes| file::text(file, bytes)).map_err(|fault| match fault {
        // In the tool's words.
        FileFault::TooLarge { .. } => failed(&Failure::Limit(Limit::MaxSourceBytes)),
        fault => CommandError::Files(vec![fault]),
    })
}

fn subject(caller: Caller, config: &Config) -> Result<Subject, CommandError> {
    let mut subject = match (caller.subject, &config.identity) {
        (Some(id), identity) => {
            let id = SubjectId::new(&id).map_err(CommandError::Subject)?;
            let known = match identity {
                Identity::Tokens(path) => Tokens::open(path.clone()).map_err(StartError::Tokens)?.subject(&id),
                Identity::Static(_) | Identity::Proxy(_) | Identity::Jwt(_) | Identity::Plugin(_) => None,
            };
            known.unwrap_or_else(|| Subject::new(id))
        }
        (None, Identity::Static(one)) => one.subject.clone(),
        (None, Identity::Proxy(_) | Identity::Jwt(_) | Identity::Tokens(_) | Identity::Plugin(_)) => {
            return Err(CommandError::NoSubject);
        }
    };
    if let Some(file) = caller.claims {
        subject.claims = claims(file)?.into();
    }
    Ok(subject)
}

fn claims(path: PathBuf) -> Result<Map, CommandError> {
    let text = file::read_stream(&path, MAX_CLAIMS_BYTES).map_err(|fault| CommandError::Files(vec![fault]))?;
    match read(&text, Bounds { max_bytes: text.len(), max_depth: 32 }) {
        Ok(Value::Map(claims)) => Ok(claims),
        Ok(_) => Err(CommandError::NoClaims(path)),
        Err(error) => {
            let at = Position::in_bytes(&text, error.at);
            Err(CommandError::Claims { path, at, fault: error.fault })
        }
    }
}
