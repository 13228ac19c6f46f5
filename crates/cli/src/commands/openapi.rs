//! `couplet openapi SPEC`: serves a REST API as tools, on stdio or over HTTP.

use std::{
    env,
    fs::File,
    io::{self, Read},
    path::Path,
    sync::Arc,
    time::Duration,
};

use couplet::{
    Client,
    auth::fetch::{Fetcher, Reach},
    core::{Limits, Service, Transport},
    openapi::{Document, Filter, OpenApi, SpecError},
    stdio::stdio,
};
use couplet_serve::{Signals, SiteArgs, Socket, SocketArgs, serve_http, serve_until_signal};

use super::list::Offer;
use crate::{
    exit::{Exit, Failure},
    output::Output,
    target::{TlsArgs, pair},
    threads::ThreadArgs,
};

/// The maximum size of a document.
const LARGEST: usize = 64 << 20;

/// The number of tools that all hosts accept.
const MOST_TOOLS: usize = 128;

/// The arguments of `couplet openapi`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// OpenAPI 3 or Swagger 2 document in JSON or YAML: a file or a URL
    #[arg(value_name = "SPEC")]
    spec: String,
    /// List the tools and resources, and exit
    #[arg(long)]
    list: bool,
    /// Base URL of the API, instead of the document's servers; it may be private
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Value of a variable in the document's server URLs
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    variable: Vec<(String, String)>,
    /// Offer only operations that match: tag:T, method:M, path:P or name:N
    #[arg(long, value_name = "FILTER", value_parser = filter)]
    include: Vec<Filter>,
    /// Leave out operations that match
    #[arg(long, value_name = "FILTER", value_parser = filter)]
    exclude: Vec<Filter>,
    /// Credential of a security scheme: a value, or env:NAME for an environment variable
    #[arg(long, value_name = "SCHEME=VALUE", value_parser = pair)]
    auth: Vec<(String, String)>,
    /// Offer GET operations as resources, where their parameters fit into a URI
    #[arg(long)]
    resources: bool,
    /// Allow private addresses, and http, in URLs of the document and redirects
    #[arg(long)]
    allow_private: bool,
    /// Timeout of a request to the API (default: 30)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Maximum size of a response of the API, such as 512K or 64M (default: 1M)
    #[arg(long, value_name = "BYTES", value_parser = couplet_serve::bytes)]
    max_response: Option<usize>,
    /// Serve other machines although --auth is used: a proxy authenticates callers
    #[arg(long)]
    behind_proxy: bool,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    socket: SocketArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    site: SiteArgs,
}

impl Args {
    pub(crate) fn threads(&self) -> ThreadArgs {
        self.threads
    }

    /// Whether the command serves over HTTP.
    pub(crate) fn is_http(&self) -> bool {
        self.socket.is_http() && !self.list
    }
}

/// Parses a number of seconds. Without a limit, a request that is never answered would never end.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|time| !time.is_zero()).ok_or_else(|| "expected a number of seconds above 0".to_owned())
}

fn filter(text: &str) -> Result<Filter, String> {
    text.parse().map_err(|error: SpecError| error.to_string())
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let document = document(&args, output).await?;
    let service = service(&args, document, output)?;
    if args.list {
        return list(service, output).await;
    }
    let socket = args.socket.bind(&args.site).await?;
    // Before the address is printed, since a signal may follow it.
    let signals = Signals::new().map_err(|e| Failure::new(Exit::File, format!("cannot listen for signals: {e}")))?;
    match socket {
        Some(socket) => over_http(&args, service, socket, signals, output).await,
        None => over_stdio(service, signals, &args.site).await,
    }
}

/// Reads the document from its file or its URL.
async fn document(args: &Args, output: &Output) -> Result<Document, Failure> {
    let is_url = args.spec.starts_with("http://") || args.spec.starts_with("https://");
    if !is_url {
        let path = Path::new(&args.spec);
        let text = bytes(path).map_err(|e| Failure::file(path, "read", &e))?;
        return Document::parse_file(&text, path).map_err(|error| invalid(&args.spec, &error));
    }
    let uri = args.spec.parse().map_err(|_| Failure::usage(format!("`{}` is not a URL", args.spec)))?;
    let settings = args.tls.settings(output)?;
    let reach = if args.allow_private { Reach::Anywhere } else { Reach::Public };
    // The user chose this server; a redirect may lead anywhere.
    let client = Arc::new(settings.clone().build()?);
    let fetcher = Fetcher::with_settings(reach, settings)?.trust_origin(&uri, client).limit(LARGEST);
    let fetched = fetcher.get(&args.spec).await?;
    if !fetched.status.is_success() {
        let what = format!("`{}` answers with the status {}", args.spec, fetched.status.as_u16());
        return Err(Failure::new(Exit::Unreachable, what));
    }
    let document = Document::parse(&fetched.body).map_err(|error| invalid(&args.spec, &error))?;
    Ok(document.located_at(&args.spec))
}

/// Reads a file, as far as a document can be long: it may also be a pipe or a device.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn invalid(spec: &str, error: &SpecError) -> Failure {
    Failure::new(Exit::File, format!("`{spec}` cannot be used: {error}"))
}

fn service(args: &Args, document: Document, output: &Output) -> Result<Arc<dyn Service>, Failure> {
    let usage = |error: SpecError| {
        let (failure, what) = (Failure::usage(error.to_string()), error.to_string());
        match () {
            () if what.contains("set a base URL") => failure.hint("name the API with --base-url URL"),
            () if what.contains("use filters") => failure.hint("select operations with --include or --exclude"),
            () => failure,
        }
    };
    let mut api = OpenApi::new(document).http(args.tls.settings(output)?);
    if let Some(url) = &args.base_url {
        api = api.base_url(url).map_err(usage)?;
    }
    api = args.variable.iter().fold(api, |api, (name, value)| api.variable(name, value));
    api = args.include.iter().cloned().fold(api, OpenApi::include);
    api = args.exclude.iter().cloned().fold(api, OpenApi::exclude);
    for (scheme, value) in &args.auth {
        let value = match value.strip_prefix("env:") {
            Some(name) => env::var(name).map_err(|_| {
                Failure::usage(format!("the environment variable `{name}`, for --auth {scheme}, is not set"))
            })?,
            None => value.clone(),
        };
        api = api.auth(scheme, value);
    }
    if let Some(timeout) = args.timeout {
        api = api.timeout(timeout);
    }
    if let Some(bytes) = args.max_response {
        api = api.max_response(bytes);
    }
    if args.resources {
        api = api.gets_as_resources();
    }
    if args.allow_private {
        api = api.allow_private();
    }
    Ok(Arc::new(api.into_server().map_err(usage)?.build()))
}

async fn list(service: Arc<dyn Service>, output: &Output) -> Result<(), Failure> {
    let client = Client::new("couplet", env!("CARGO_PKG_VERSION")).connect(service).await?;
    let offer = Offer::from_client(&client, None).await?;
    let text = if output.json { offer.to_json(client.server())? } else { offer.to_text(output) };
    output.print(text.trim_start_matches('\n'))?;
    let tools = offer.tools.len();
    if tools > MOST_TOOLS && !output.json {
        output.note(&format!("note: {tools} tools are more than some hosts accept ({MOST_TOOLS})"));
        output.note("hint: select some with --include or --exclude, by tag:T, path:P or name:N");
    }
    client.close().await?;
    Ok(())
}

async fn over_http(
    args: &Args,
    service: Arc<dyn Service>,
    socket: Socket,
    signals: Signals,
    output: &Output,
) -> Result<(), Failure> {
    if !socket.is_local() && !args.auth.is_empty() && !args.behind_proxy {
        let what = "other machines could connect to this address, and use the credentials of --auth";
        return Err(
            Failure::usage(what).hint("listen on 127.0.0.1, or use --behind-proxy if a proxy authenticates callers")
        );
    }
    output.note(&format!("serving at {}", output.err.name(socket.url(&args.site))));
    if let Some(url) = socket.metrics_url() {
        output.note(&format!("serving metrics at {}", output.err.name(url)));
    }
    let transport = args.site.transport(socket);
    Ok(serve_http(signals, service, Limits::default(), transport, &args.site).await?)
}

async fn over_stdio(service: Arc<dyn Service>, signals: Signals, site: &SiteArgs) -> Result<(), Failure> {
    let (begin, begun) = tokio::sync::oneshot::channel::<()>();
    let serving = stdio().with_graceful_shutdown(async { drop(begun.await) }).serve(service, Limits::default());
    let drain = move || {
        let _ = begin.send(());
    };
    Ok(serve_until_signal(signals, serving, drain, site.grace).await?)
}
