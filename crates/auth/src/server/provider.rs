//! Verifiers for common authorization servers: the issuer, the audience and the claims of their access tokens.
//!
//! Each function returns a [`Verifier`], which can be configured further. `resource` is the server's URL, exactly as clients
//! use it; tokens must be issued for it unless a function says otherwise. Issuers are compared with the token character by
//! character, so each function writes its issuer as the provider does. A domain may be given with or without `https://`.
//!
//! ```
//! use couplet_auth::server::provider;
//!
//! # fn main() -> Result<(), couplet_core::Error> {
//! let verifier = provider::auth0("https://mcp.example.com/mcp", "acme.eu.auth0.com")?.scopes(["notes:read"]);
//! # drop(verifier);
//! # Ok(())
//! # }
//! ```
//!
//! There is none for users of GitHub and Google: their access tokens are opaque and name no audience that a server could
//! check. Both can be a login method of a provider below. Consoles change: read the documentation of the provider as well.

use couplet_core::Error;

use super::{issuer::Issuer, verifier::Verifier};

/// Accepts access tokens of an [Auth0](https://auth0.com/ai/docs/mcp/intro/overview) tenant.
///
/// In the tenant: create an API with the server's URL as identifier, and enable the Resource Parameter Compatibility
/// Profile, since clients send `resource`, not `audience`. Without it, tokens are opaque or for another audience.
///
/// ```
/// use couplet_auth::server::provider;
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// let verifier = provider::auth0("https://mcp.example.com/mcp", "acme.eu.auth0.com")?;
/// # drop(verifier);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails as [`Verifier::new`] does, as all functions here.
pub fn auth0(resource: impl Into<String>, domain: &str) -> Result<Verifier, Error> {
    // With the slash.
    Verifier::new(resource, format!("{}/", origin(domain)))
}

/// Accepts access tokens of [WorkOS AuthKit](https://workos.com/docs/authkit/mcp).
///
/// In the dashboard: add the server's URL as a resource indicator, so that it is the audience of tokens.
///
/// ```
/// use couplet_auth::server::provider;
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// let verifier = provider::authkit("https://mcp.example.com/mcp", "acme-12345.authkit.app")?;
/// # drop(verifier);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails as [`Verifier::new`] does.
pub fn authkit(resource: impl Into<String>, domain: &str) -> Result<Verifier, Error> {
    Verifier::new(resource, origin(domain))
}

/// Accepts access tokens of an [Amazon Cognito](https://docs.aws.amazon.com/cognito/) user pool, and no ID tokens.
///
/// In the pool: create a resource server for the server's URL. Its scopes are called `IDENTIFIER/SCOPE`. A token has an
/// audience only if the client names the resource in its request.
///
/// ```
/// use couplet_auth::server::provider;
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// let verifier = provider::cognito("https://mcp.example.com/mcp", "eu-central-1", "eu-central-1_AbCdEfGhI")?;
/// # drop(verifier);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails as [`Verifier::new`] does.
pub fn cognito(resource: impl Into<String>, region: &str, pool: &str) -> Result<Verifier, Error> {
    let issuer = format!("https://cognito-idp.{region}.amazonaws.com/{pool}");
    Ok(Verifier::new(resource, issuer)?.require_claim("token_use", ["access"]))
}

/// Accepts access tokens of an MCP server resource of [Descope](https://docs.descope.com/mcp), by the issuer URL that its
/// settings show: `https://api.descope.com/v1/apps/agentic/PROJECT/SERVER`.
///
/// In the console: set the MCP server URL to the server's URL, which is then the audience of tokens.
///
/// ```
/// use couplet_auth::server::provider;
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// let issuer = "https://api.descope.com/v1/apps/agentic/P2abc/MS3def";
/// let verifier = provider::descope("https://mcp.example.com/mcp", issuer)?;
/// # drop(verifier);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails as [`Verifier::new`] does.
pub fn descope(resource: impl Into<String>, issuer: &str) -> Result<Verifier, Error> {
    let issuer = issuer.trim_end_matches("/.well-known/openid-configuration");
    Verifier::new(resource, origin(issuer))
}

/// Accepts access tokens of a tenant of [Microsoft Entra ID](https://learn.microsoft.com/entra/identity-platform/), of
/// version 2. `application` is the application (client) id of the server, `scopes` are those that every request needs, by
/// the short names that they have in tokens (`scp`).
///
/// In the app registration of the server: set the server's URL as Application ID URI, since Entra ID compares it with the
/// `resource` of clients, and `requestedAccessTokenVersion` to 2. Clients request a scope by its full name, which is the
/// short one after that URI; so those are advertised, and `#[tool(scopes(..))]` can use both names of the scopes given here.
/// Tokens of applications have no scopes but `roles`, see [`Claims::get`](super::Claims::get). A tenant is a GUID: tokens
/// never name `common` or `organizations` as issuer.
///
/// ```
/// use couplet_auth::server::provider;
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// let (tenant, application) = ("aaaabbbb-0000-cccc-1111-dddd2222eeee", "00001111-aaaa-2222-bbbb-3333cccc4444");
/// let verifier = provider::entra("https://mcp.example.com/mcp", tenant, application, ["Notes.Read"])?;
/// # drop(verifier);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails as [`Verifier::new`] does.
pub fn entra<'a>(
    resource: impl Into<String>,
    tenant: &str,
    application: &str,
    scopes: impl IntoIterator<Item = &'a str>,
) -> Result<Verifier, Error> {
    let resource = resource.into();
    let issuer = format!("https://login.microsoftonline.com/{tenant}/v2.0");
    let mut verifier = Verifier::new(&*resource, issuer)?.audience(application);
    let mut needed = Vec::new();
    for scope in scopes {
        let full = format!("{}/{scope}", resource.trim_end_matches('/'));
        verifier = verifier.implies(scope, [&*full]);
        needed.push(full);
    }
    Ok(verifier.scopes(needed))
}

/// Accepts tokens of [GitHub Actions](https://docs.github.com/actions/reference/security/oidc) for workflows in the
/// repositories of these owners. There are no scopes; clients send the token with `HttpTarget::bearer`.
///
/// In the workflow: the permission `id-token: write`, and the server's URL as audience of the token. Any repository can
/// request a token for any audience, so tell repositories, branches or environments apart with
/// [`Verifier::require_claim`].
///
/// ```
/// use couplet_auth::server::provider;
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// let verifier = provider::github_actions("https://mcp.example.com/mcp", ["acme"])?
///     .require_claim("repository", ["acme/website"])
///     .require_claim("ref", ["refs/heads/main"]);
/// # drop(verifier);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails as [`Verifier::new`] does.
pub fn github_actions<'a>(
    resource: impl Into<String>,
    owners: impl IntoIterator<Item = &'a str>,
) -> Result<Verifier, Error> {
    let issuer = Issuer::new("https://token.actions.githubusercontent.com").unlisted();
    Ok(Verifier::new(resource, issuer)?.require_claim("repository_owner", owners))
}

/// Accepts ID tokens of these [Google Cloud service accounts](https://cloud.google.com/docs/authentication/get-id-token),
/// by their e-mail addresses. There are no scopes; clients send the token with `HttpTarget::bearer`.
///
/// The caller requests the token with the server's URL as audience and with its e-mail address (`format=full` at the
/// metadata server, `includeEmail` in the API). Any service account can request a token for any audience.
///
/// ```
/// use couplet_auth::server::provider;
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// let accounts = ["reports@acme.iam.gserviceaccount.com"];
/// let verifier = provider::google_service_accounts("https://mcp.example.com/mcp", accounts)?;
/// # drop(verifier);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails as [`Verifier::new`] does.
pub fn google_service_accounts<'a>(
    resource: impl Into<String>,
    accounts: impl IntoIterator<Item = &'a str>,
) -> Result<Verifier, Error> {
    let verifier = Verifier::new(resource, Issuer::new("https://accounts.google.com").unlisted())?;
    Ok(verifier.require_claim("email", accounts).require_claim("email_verified", ["true"]))
}

/// Accepts access tokens of a realm of [Keycloak](https://www.keycloak.org/securing-apps/mcp-authz-server). `url` is the one
/// before `/realms`, with `/auth` if the installation has it.
///
/// In the realm: add a client scope with an audience mapper for the server's URL. Without it tokens have another audience,
/// or none.
///
/// ```
/// use couplet_auth::server::provider;
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// let verifier = provider::keycloak("https://mcp.example.com/mcp", "https://login.example.com", "acme")?;
/// # drop(verifier);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails as [`Verifier::new`] does.
pub fn keycloak(resource: impl Into<String>, url: &str, realm: &str) -> Result<Verifier, Error> {
    Verifier::new(resource, format!("{}/realms/{realm}", origin(url)))
}

/// Accepts access tokens of a custom authorization server of [Okta](https://developer.okta.com/docs/api/openapi/okta-oauth/guides/overview/), by
/// its id, such as `default`, and its audience, such as `api://default`.
///
/// In the authorization server: an access policy with a rule for the client, and the scopes. Its audience is that of all its
/// tokens; with one for each server it can be the server's URL. Tokens of the org authorization server are not for other
/// servers and cannot be verified.
///
/// ```
/// use couplet_auth::server::provider;
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// let verifier = provider::okta("https://mcp.example.com/mcp", "acme.okta.com", "default", "api://default")?;
/// # drop(verifier);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails as [`Verifier::new`] does.
pub fn okta(resource: impl Into<String>, domain: &str, server: &str, audience: &str) -> Result<Verifier, Error> {
    Ok(Verifier::new(resource, format!("{}/oauth2/{server}", origin(domain)))?.audience(audience))
}

/// Accepts access tokens of [Stytch Connected Apps](https://stytch.com/docs/guides/connected-apps/mcp-servers), by the
/// domain and the id of the project.
///
/// The id of the project is an audience of all tokens of the project, so they are not only for this server. In the
/// dashboard: use a custom domain, so that authorization responses name the same issuer as tokens.
///
/// ```
/// use couplet_auth::server::provider;
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// let verifier = provider::stytch("https://mcp.example.com/mcp", "login.example.com", "project-live-1234")?;
/// # drop(verifier);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails as [`Verifier::new`] does.
pub fn stytch(resource: impl Into<String>, domain: &str, project: &str) -> Result<Verifier, Error> {
    Ok(Verifier::new(resource, origin(domain))?.audience(project))
}

/// Accepts access tokens of a project of [Supabase](https://supabase.com/docs/guides/auth/oauth-server/mcp-authentication),
/// by its URL.
///
/// All tokens of signed-in users of the project have the audience `authenticated`, so they are not only for this server, and
/// they have no scopes for it. In the project: enable the OAuth server, and an asymmetric signing key. Anonymous users are
/// excluded with `require_claim("is_anonymous", ["false"])`.
///
/// ```
/// use couplet_auth::server::provider;
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// let verifier = provider::supabase("https://mcp.example.com/mcp", "https://abcdefgh.supabase.co")?;
/// # drop(verifier);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails as [`Verifier::new`] does.
pub fn supabase(resource: impl Into<String>, project: &str) -> Result<Verifier, Error> {
    Ok(Verifier::new(resource, format!("{}/auth/v1", origin(project)))?.audience("authenticated"))
}

/// Returns the URL of a domain or a URL, without a slash at its end.
fn origin(domain: &str) -> String {
    let domain = domain.trim_end_matches('/');
    if domain.contains("://") { domain.to_owned() } else { format!("https://{domain}") }
}

#[cfg(test)]
mod tests;
