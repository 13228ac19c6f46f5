//! `couplet read`: the contents of a resource.

use std::{path::PathBuf, sync::Arc};

use couplet::{
    client::Media,
    types::{ResourceBody, ResourceTemplate, UriTemplate, code},
};

use super::TalkArgs;
use crate::{
    arguments::{Offered, nearest, strings},
    exit::Failure,
    output::Output,
    show::{self, Renderer, Saver},
    target::{Session, TargetArgs},
};

/// The arguments of `couplet read`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// URI or name of a resource, or a template such as notes://{name}
    uri: String,
    /// Values for the template: key=value
    arguments: Vec<String>,
    /// File or directory for binary content; a path that ends with / is created
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    talk: TalkArgs,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let opening = args.talk.open(&args.target)?;
    Session::with(opening, output, async |session: &Session| {
        read(session, &args.uri, &args.arguments, args.output, output).await
    })
    .await
}

/// Reads a resource and prints it.
pub(crate) async fn read(
    session: &Session,
    uri: &str,
    words: &[String],
    wanted: Option<PathBuf>,
    output: &Arc<Output>,
) -> Result<(), Failure> {
    let uri = address(session, uri, words).await?;
    let result = match session.client.read(&uri).await {
        Ok(result) => result,
        Err(error) => return Err(not_read(session, &uri, error.into()).await),
    };
    if output.json {
        return output.print(&show::json_line(&result)?);
    }
    // Binary content goes to a pipe unchanged.
    if let ([one], None, false) = (result.contents.as_slice(), &wanted, output.out.terminal)
        && let ResourceBody::Blob(_) = one.body
    {
        return output.write(&Media::from_contents(one)?.bytes);
    }
    let mut renderer = Renderer::new(output, Saver::new(wanted, &uri));
    for contents in &result.contents {
        output.print(&renderer.contents(contents)?)?;
    }
    Ok(())
}

/// Resolves a URI, a template with its variables, or a name.
async fn address(session: &Session, uri: &str, words: &[String]) -> Result<String, Failure> {
    if uri.contains('{') {
        return expand(uri, words);
    }
    if !words.is_empty() {
        return Err(
            Failure::usage("only a template takes arguments").hint("a template has variables, such as notes://{name}")
        );
    }
    if uri.contains(':') {
        return Ok(uri.to_owned());
    }
    let resources = session.client.resources().await?;
    match resources.iter().find(|resource| resource.name == uri) {
        Some(resource) => Ok(resource.uri.clone()),
        None => {
            let names = resources.iter().flat_map(|resource| [resource.name.as_str(), resource.uri.as_str()]);
            Err(super::list::unknown("resource", uri, names))
        }
    }
}

fn expand(template: &str, words: &[String]) -> Result<String, Failure> {
    let template =
        UriTemplate::parse(template).map_err(|e| Failure::usage(format!("`{template}` is not a URI template: {e}")))?;
    let offered: Vec<_> =
        template.variables().map(|name| Offered { name, description: None, required: true }).collect();
    let given = strings(words, &offered)?;
    let values: Vec<_> = given.iter().map(|(name, value)| (name, value.as_str().into())).collect();
    Ok(template.expand(&values))
}

/// Adds the nearest resource or a matching template as a hint, if the resource does not exist.
async fn not_read(session: &Session, uri: &str, failure: Failure) -> Failure {
    let missing = failure.rpc().is_some_and(|e| matches!(e.code, code::RESOURCE_NOT_FOUND | code::INVALID_PARAMS));
    if !missing {
        return failure;
    }
    let resources = session.client.resources().await.unwrap_or_default();
    let templates = session.client.resource_templates().await.unwrap_or_default();
    match nearest(uri, resources.iter().map(|resource| resource.uri.as_str())) {
        Some(near) if near != uri => failure.hint(format!("did you mean `{near}`?")),
        _ => match fitting(uri, &templates) {
            Some(template) => {
                failure.hint(format!("the URI matches `{}`; check the values in it", template.uri_template))
            }
            None => failure.hint("`couplet list TARGET resources` lists the resources"),
        },
    }
}

fn fitting<'a>(uri: &str, templates: &'a [ResourceTemplate]) -> Option<&'a ResourceTemplate> {
    let fits = |template: &UriTemplate| template.matches(uri).is_some();
    templates.iter().find(|t| UriTemplate::parse(&t.uri_template).as_ref().is_ok_and(fits))
}
