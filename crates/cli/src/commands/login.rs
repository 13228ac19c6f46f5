//! `couplet login` and `couplet logout`: who one is to a server at a URL.

use std::sync::Arc;

use couplet::auth::client::LogOut;

use crate::{
    exit::Failure,
    output::{Output, text},
    show,
    target::{LoginWay, Opening, Place, Session, TargetArgs, oauth, or_interrupted},
};

/// Where to log in, and how.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Opens no browser: prints the page, and asks for the address that it leads back to; for a browser elsewhere
    #[arg(long)]
    no_browser: bool,
    /// Prints a code to enter on any device, where the authorization server offers that
    #[arg(long, conflicts_with = "no_browser")]
    device: bool,
}

/// Where to log out.
#[derive(clap::Args, Debug)]
pub(crate) struct OutArgs {
    #[command(flatten)]
    target: TargetArgs,
}

/// Connects, which logs in if the server asks for it.
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
        output.note(&format!(
            "you are let in by {}",
            show::heading(session.client.server(), &session.target, output.err)
        ));
        Ok(())
    })
    .await
}

/// Forgets the login, and revokes its tokens where that is possible.
pub(crate) async fn log_out(args: OutArgs, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = Opening::of(&args.target)?;
    let url = url(&opening)?;
    let settings = args.target.connection.tls.settings(output)?;
    let oauth = oauth(output, LoginWay::Browser)?.client_settings(settings);
    let outcome = or_interrupted(async { Ok(oauth.log_out(url).await?) }).await?;
    let place = text::line(&opening.target.to_string());
    match outcome {
        LogOut::NotLoggedIn => output.note(&format!("there was no login at {place}")),
        LogOut::Revoked => output.note(&format!("the login at {place} is forgotten, and its tokens are revoked")),
        LogOut::Failed(error) => output.warn(&text::visible(&format!(
            "the login at {place} is forgotten, but its tokens could not be revoked, and are good until they expire: {error}"
        ))),
        _ => output.note(&format!(
            "the login at {place} is forgotten; its tokens cannot be revoked, and are good until they expire"
        )),
    }
    Ok(())
}

fn url(opening: &Opening) -> Result<&str, Failure> {
    match &opening.target.place {
        Place::Url { url, .. } => Ok(url),
        Place::Program { .. } => Err(Failure::usage("only servers at a URL want a login")),
    }
}
