//! A connection to a server for the duration of a command.

use std::{path::Path, sync::Arc, time::Duration};

use couplet::{
    Client,
    client::ClientBuilder,
    core::Connect,
    stdio::{Command, children},
    tasks::ClientTasks,
    types::{LogParams, LoggingLevel, Root},
};

use super::{
    ConnectionArgs, Place, Recorder, Stop, Target, Timeout,
    diagnostics::Diagnostics,
    locked::guarded,
    login::oauth,
    observed::Observed,
    stop::{end_children, or_interrupted},
};
use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
    questions::{Questions, Script},
};

/// The settings of a session.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) target: Target,
    pub(crate) connection: ConnectionArgs,
    /// The answers from the command line.
    pub(crate) script: Script,
    /// The minimum level of log messages to request, if any.
    pub(crate) log: Option<LoggingLevel>,
    /// Records the responses, if set.
    pub(crate) recorder: Option<Recorder>,
    /// The lock file that the server must match, if any.
    pub(crate) lock: Option<std::path::PathBuf>,
}

/// A connected server.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) target: Target,
    diagnostics: Arc<Diagnostics>,
    questions: Arc<Questions>,
}

impl Opening {
    /// Resolves the target; no answers, no log messages.
    pub(crate) fn of(args: &super::TargetArgs) -> Result<Self, Failure> {
        Ok(Self::to(args.find()?, args.connection.clone()))
    }

    /// Creates the settings for a resolved target.
    pub(crate) fn to(target: Target, connection: ConnectionArgs) -> Self {
        Self { target, connection, script: Script::default(), log: None, recorder: None, lock: None }
    }
}

impl Session {
    /// Connects, runs `work`, and closes the connection. A signal cancels `work` and notifies the server.
    ///
    /// # Errors
    /// If connecting or `work` fails; the error has the diagnostics of the connection.
    pub(crate) async fn with<T>(
        opening: Opening,
        output: &Arc<Output>,
        work: impl AsyncFnOnce(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let stop = Stop::new(opening.connection.max_time);
        let work = async |session: &Self| stop.unless(Box::pin(work(session))).await;
        Self::hold(opening, output, work).await
    }

    /// Like [`Session::with`], but signals are left to `work` once connected.
    pub(crate) async fn hold<T>(
        opening: Opening,
        output: &Arc<Output>,
        work: impl AsyncFnOnce(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let diagnostics = Arc::new(Diagnostics::new(output));
        let (target, connection) = (opening.target.clone(), &opening.connection);
        let (stop, timeout) = (Stop::new(connection.max_time), connection.timeout);
        let is_locked = opening.lock.is_some();
        let opened = in_time(Self::open(opening, output, diagnostics.clone()), timeout, output);
        let session = match stop.unless(Box::pin(opened)).await {
            Ok(session) => session,
            Err(failure) => {
                end_children(&failure).await;
                return Err(target.explain(diagnostics.explain(failure)));
            }
        };
        diagnostics.met();
        let outcome = tokio::select! {
            outcome = Box::pin(work(&session)) => outcome,
            failure = session.questions.unanswerable() => Err(failure),
        };
        output.hide_bar();
        let outcome = outcome.map_err(|failure| diagnostics.explain(session.questions.explain(failure)));
        if outcome.as_ref().is_err_and(|failure| failure.exit == Exit::Unreachable) {
            // The connection is gone already.
            return outcome;
        }
        // A second signal does not wait for a server that does not exit.
        let closing = or_interrupted(async { Ok(session.client.close().await?) }).await;
        if is_locked {
            // The server is behind a host, which closing the client does not end.
            children::stop(Duration::from_secs(1)).await;
        }
        if let Err(failure) = closing
            && output.verbose
        {
            output.note(&text::visible(&format!("cannot close the connection: {}", failure.message)));
        }
        outcome
    }

    async fn open(opening: Opening, output: &Arc<Output>, diagnostics: Arc<Diagnostics>) -> Result<Self, Failure> {
        let Opening { target, connection, script, log, recorder, lock } = opening;
        let questions = Arc::new(Questions::new(output, script));
        let client = builder(&connection)?.extension(ClientTasks::new());
        let lines = output.clone();
        let client = questions.attach(client).on_log(move |line| log_line(&lines, &line));
        let place = Observed { recorder, ..target.connector(diagnostics.clone(), output)? };
        let place: Box<dyn Connect> = match lock {
            Some(file) => Box::new(guarded(&target, &connection, place, &file, output).await?),
            None => Box::new(place),
        };
        let client = client.connect(place).await?;
        questions.met(&client);
        if let Some(level) = log.filter(|_| client.server().capabilities.logging.is_some()) {
            // Some servers declare `logging` and do not support `logging/setLevel`.
            if let Err(error) = client.set_log_level(level).await
                && output.verbose
            {
                output.note(&text::visible(&format!("cannot set the log level: {error}")));
            }
        }
        Ok(Self { client, target, diagnostics, questions })
    }

    /// Returns the number of lines on the server's standard output that are not messages.
    pub(crate) fn strays(&self) -> usize {
        self.diagnostics.strays()
    }

    /// Adds the diagnostics of the connection to an error.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        self.diagnostics.explain(self.questions.explain(failure))
    }
}

/// Creates a client with the connection options.
pub(crate) fn builder(connection: &ConnectionArgs) -> Result<ClientBuilder, Failure> {
    /// A server of an older revision may ignore an unknown method.
    const PROBE: Duration = Duration::from_secs(10);
    let Timeout(timeout) = connection.timeout;
    // The probe takes at most half of the timeout, and leaves the rest for the handshake.
    let probe = timeout.map_or(PROBE, |timeout| (timeout / 2).min(PROBE));
    let mut client = Client::new("couplet", env!("CARGO_PKG_VERSION"))
        .title("Couplet")
        .timeout(timeout)
        .max_timeout(None)
        .probe_timeout(probe)
        .limits(connection.limits());
    if let Some(revision) = connection.revision {
        client = client.versions([revision]);
    }
    if !connection.root.is_empty() {
        client = client.roots(connection.root.iter().map(|folder| root(folder)).collect::<Result<Vec<_>, _>>()?);
    }
    Ok(client)
}

impl Target {
    /// Creates the connector, with diagnostics.
    ///
    /// # Errors
    /// If the TLS options are invalid, or the file of logins cannot be used.
    pub(crate) fn connector(&self, diagnostics: Arc<Diagnostics>, output: &Arc<Output>) -> Result<Observed, Failure> {
        match &self.place {
            Place::Url { url, headers, tls, login } => {
                let settings = tls.settings(output)?;
                let target = couplet::http::connect(url).client(Arc::new(settings.clone().build()?));
                let target = headers.iter().fold(target, |target, (name, value)| target.header(name, value));
                // With a token from the command line, no login is needed.
                let target = match headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
                    true => target,
                    false => target.authorize(oauth(output, *login)?.client_settings(settings)),
                };
                Ok(Observed { inner: Box::new(target), diagnostics, recorder: None })
            }
            Place::Program { words, env, cwd } => {
                let listener = diagnostics.clone();
                let command = program(words, env, cwd.as_deref()).on_stderr(move |line| listener.error_line(line));
                Ok(Observed { inner: Box::new(command), diagnostics, recorder: None })
            }
        }
    }
}

/// Creates the command for a program. It ends with this one, even if that is killed, where a guard can be started.
pub(crate) fn program(words: &[String], env: &[(String, String)], cwd: Option<&Path>) -> Command {
    /// How long to wait for a server to exit before it is stopped.
    const GRACE: Duration = Duration::from_secs(1);
    let _ = children::guard();
    let (program, args) = words.split_first().map_or((String::new(), &[][..]), |(p, a)| (p.clone(), a));
    let command = Command::new(program).args(args).grace(GRACE);
    let command = env.iter().fold(command, |command, (key, value)| command.env(key, value));
    cwd.into_iter().fold(command, |command, folder| command.current_dir(folder))
}

/// Applies the timeout to the whole handshake. A login has no timeout.
async fn in_time<T>(
    opening: impl Future<Output = Result<T, Failure>>,
    Timeout(timeout): Timeout,
    output: &Output,
) -> Result<T, Failure> {
    let Some(timeout) = timeout else { return opening.await };
    let late = async {
        tokio::time::sleep(timeout).await;
        if output.has_asked() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        opened = opening => opened,
        () = late => {
            Err(Failure::new(Exit::Timeout, format!("no connection within {}", text::time(timeout))))
        }
    }
}

fn log_line(output: &Output, line: &LogParams) {
    let level = match line.level {
        LoggingLevel::Debug | LoggingLevel::Info => output.err.faint(line.level),
        LoggingLevel::Notice | LoggingLevel::Warning => output.err.warning(line.level),
        _ => output.err.error(line.level),
    };
    let words = line.data.parse::<String>().unwrap_or_else(|_| line.data.get().to_owned());
    let logger = line.logger.as_ref().map_or(String::new(), |logger| format!("{}: ", text::line(logger)));
    output.note(&format!("{level} {logger}{}", text::visible(&words)));
}

/// Converts a directory to a root.
fn root(folder: &Path) -> Result<Root, Failure> {
    let folder = folder.canonicalize().map_err(|e| Failure::file(folder, "used as a root", &e))?;
    let path = folder.to_string_lossy().replace('\\', "/");
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~:".contains(&b);
    let encoded: String =
        path.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect();
    let name = folder.file_name().map(|n| n.to_string_lossy().into_owned());
    let root = Root::new(format!("file://{}{encoded}", if encoded.starts_with('/') { "" } else { "/" }));
    Ok(match name {
        Some(name) => root.name(name),
        None => root,
    })
}
