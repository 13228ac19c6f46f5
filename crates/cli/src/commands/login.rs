//! `couplet login` and `couplet logout`: OAuth for servers at a URL.

use std::sync::Arc;

use couplet::auth::client::LogOut;

use crate::{
    exit::Failure,
    output::{Output, text},
    show,
    target::{LoginWay, Opening, Place, Session, TargetArgs, oauth, or_interrupted},
};

/// The arguments of `couplet login`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Print the login URL and read the redirect URL from the terminal, for a browser on another machine
    #[arg(long)]
    no_browser: bool,
    /// Log in with a device code, if the authorization server supports it
    #[arg(long, conflicts_with = "no_browser")]
    device: bool,
}

/// The arguments of `couplet logout`.
#[derive(clap::Args, Debug)]
pub(crate) struct OutArgs {
    #[command(flatten)]
    target: TargetArgs,
}

/// Connects, which logs in if the server requires it.
pub(crate) async fn log_in(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let mut opening = Opening::of(&args.target)?;
    url(&opening)?;
    if let Place::Url { login, .. } = &mut opening.target.place {
        *login = match (args.device, args.no_browser) {
            (true, _) => LoginWay::Device,
            (false, true) => LoginWay::Paste,
            (false, false) => LoginWay::Browser,
        };
    }
    Session::with(opening, output, async |session: &Session| {
        output.note(&format!("logged in to {}", show::heading(session.client.server(), &session.target, output.err)));
        Ok(())
    })
    .await
}

/// Deletes the stored login, and revokes its tokens if the authorization server supports it.
pub(crate) async fn log_out(args: OutArgs, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = Opening::of(&args.target)?;
    let url = url(&opening)?;
    let settings = args.target.connection.tls.settings(output)?;
    let oauth = oauth(output, LoginWay::Browser)?.client_settings(settings);
    let outcome = or_interrupted(async { Ok(oauth.log_out(url).await?) }).await?;
    let place = text::line(&opening.target.to_string());
    match outcome {
        LogOut::NotLoggedIn => output.note(&format!("not logged in to {place}")),
        LogOut::Revoked => output.note(&format!("logged out of {place}; its tokens are revoked")),
        LogOut::Failed(error) => output.warn(&text::visible(&format!(
            "logged out of {place}, but its tokens could not be revoked and are valid until they expire: {error}"
        ))),
        _ => {
            output
                .note(&format!("logged out of {place}; its tokens cannot be revoked and are valid until they expire"));
        }
    }
    Ok(())
}

fn url(opening: &Opening) -> Result<&str, Failure> {
    match &opening.target.place {
        Place::Url { url, .. } => Ok(url),
        Place::Program { .. } => {
            Err(Failure::usage("`couplet login` and `couplet logout` need a URL, and TARGET is a command"))
        }
    }
}
