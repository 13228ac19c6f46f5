//! `couplet login` and `couplet logout`: who one is to a server at a URL.

use std::sync::Arc;

use crate::{
    exit::Failure,
    output::{Output, text},
    show,
    target::{Opening, Place, Session, TargetArgs, oauth},
};

/// Where to log in or out.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
}

/// Connects, which logs in if the server asks for it.
pub(crate) async fn log_in(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = Opening::of(&args.target)?;
    url(&opening)?;
    Session::with(opening, output, async |session: &Session| {
        output.note(&format!(
            "you are let in by {}",
            show::heading(session.client.server(), &session.target, output.err)
        ));
        Ok(())
    })
    .await
}

/// Forgets the login.
pub(crate) async fn log_out(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = Opening::of(&args.target)?;
    oauth(output)?.forget(url(&opening)?).await?;
    output.note(&format!("the login at {} is forgotten", text::line(&opening.target.to_string())));
    Ok(())
}

fn url(opening: &Opening) -> Result<&str, Failure> {
    match &opening.target.place {
        Place::Url { url, .. } => Ok(url),
        Place::Program { .. } => Err(Failure::usage("only servers at a URL want a login")),
    }
}
