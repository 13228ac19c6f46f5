//! `couplet-sqlite`: the server over stdio or HTTP.

use std::{error::Error, path::PathBuf, process::ExitCode, sync::Arc};

use clap::Parser;
use couplet_serve::{ServeArgs, SharedArgs, serve};
use couplet_sqlite::{Database, Limits};

/// Model Context Protocol server that explores a SQLite database
#[derive(Parser)]
#[command(version, max_term_width = 80)]
struct Flags {
    /// Database file (default: a sample database about the solar system)
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Directory of the sample database (default: the user's data directory)
    #[arg(long, value_name = "FOLDER", conflicts_with = "db")]
    data: Option<PathBuf>,
    /// Allow writes, with the tool `execute`
    #[arg(long)]
    write: bool,
    /// Maximum number of rows of a query
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    rows: usize,
    #[command(flatten)]
    shared: SharedArgs,
    #[command(flatten)]
    serve: ServeArgs,
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stderr, reason = "a program reports its errors")]
async fn main() -> ExitCode {
    match run(Flags::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("couplet-sqlite: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(flags: Flags) -> Result<(), Box<dyn Error>> {
    let shared = flags.shared.open()?;
    let mut limits = Limits::default();
    limits.rows = flags.rows;
    let database = match (flags.db, flags.data.or_else(data_folder)) {
        (Some(file), _) => Database::open(file)?,
        (None, Some(folder)) => Database::sample_in(folder)?,
        (None, None) => Database::sample()?,
    };
    let database = if flags.write { database.writable() } else { database };
    // Each replica polls the file by itself.
    let server = couplet_sqlite::server_with(database.limits(limits), |server| shared.configure_calls(server)).await?;
    serve(Arc::new(server), &flags.serve, &shared).await
}

/// Returns the user's data directory.
fn data_folder() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::home_dir();
    let data = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Application Support"))
    } else {
        folder("XDG_DATA_HOME").or_else(|| home().map(|home| home.join(".local/share")))
    };
    data.map(|data| data.join("couplet"))
}
