//! The device authorization grant (RFC 8628).

use std::time::Duration;

use couplet_core::{Error, ErrorKind};
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::{
    browser,
    config::Shower,
    identity::Identity,
    obtain::Obtain,
    token::{Issued, Refused},
    words::shown,
};
use crate::{Secret, fetch::failed};

pub(crate) const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The redirect URI for registrations that require one; it is never used.
const NOWHERE: &str = "http://127.0.0.1/callback";

/// A device code: the page where the user logs in, and the code to enter there.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceCode {
    /// The page to open, on any machine.
    pub verification_uri: String,
    /// The code to enter there.
    pub user_code: String,
    /// The page with the code filled in, for a link or a QR code.
    pub verification_uri_complete: Option<String>,
    /// The time until the code expires.
    pub expires_in: Duration,
}

#[derive(Deserialize)]
struct Answer {
    device_code: String,
    user_code: String,
    // The name of the member before the standard.
    #[serde(alias = "verification_url")]
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: u64,
    interval: Option<u64>,
}

impl Obtain<'_> {
    /// The upper limit of a code's lifetime, whatever the authorization server says.
    const LONGEST: Duration = Duration::from_secs(30 * 60);
    /// The number of consecutive connection failures that are tolerated.
    const LOST: u32 = 5;

    pub(crate) async fn by_device(&self, show: &Shower) -> Result<Issued, Refused> {
        let endpoint = self.found.server.device_authorization_endpoint.as_deref();
        let endpoint = endpoint
            .ok_or_else(|| failed("the authorization server does not support device codes; log in with a browser"))?;
        let identity = match self.known().await? {
            Some(identity) => identity,
            None => self.register(NOWHERE).await?,
        };
        let scope = self.scopes.join(" ");
        let mut fields = vec![self.resource()];
        fields.extend((!scope.is_empty()).then_some(("scope", &*scope)));
        let answer: Answer = self.endpoint(&identity).post(endpoint, &fields).await?.json()?;
        let code = self.checked(&answer)?;
        let (device_code, interval) = (Secret::new(answer.device_code), answer.interval.unwrap_or(5).clamp(1, 300));
        show(code.clone()).await?;
        self.poll(&identity, &device_code, Duration::from_secs(interval), code.expires_in).await
    }

    /// Sanitizes the code and the page before they are shown.
    fn checked(&self, answer: &Answer) -> Result<DeviceCode, Error> {
        let page = |page: &str| browser::checked(page, self.reach).map(str::to_owned);
        Ok(DeviceCode {
            verification_uri: page(&answer.verification_uri)?,
            user_code: shown(&answer.user_code),
            verification_uri_complete: answer.verification_uri_complete.as_deref().map(page).transpose()?,
            expires_in: Duration::from_secs(answer.expires_in).min(Self::LONGEST),
        })
    }

    /// Polls until the user has entered the code.
    async fn poll(
        &self,
        identity: &Identity,
        code: &Secret,
        mut interval: Duration,
        lasts: Duration,
    ) -> Result<Issued, Refused> {
        let fields = [("grant_type", DEVICE_CODE), ("device_code", code.reveal()), self.resource()];
        let (end, mut lost) = (Instant::now() + lasts, 0);
        let over = || failed("the code was not entered in time; log in again");
        loop {
            if Instant::now() + interval > end {
                return Err(over().into());
            }
            sleep(interval).await;
            let refused = match self.endpoint(identity).ask(&fields).await {
                Ok(issued) => return Ok(issued),
                Err(refused) => refused,
            };
            match refused.code.as_deref() {
                Some("authorization_pending") => lost = 0,
                Some("slow_down") => interval += Duration::from_secs(5),
                Some("expired_token") => return Err(over().into()),
                None if refused.error.kind() == ErrorKind::Transport && lost < Self::LOST => {
                    lost += 1;
                    interval *= 2;
                }
                _ => return Err(refused),
            }
        }
    }
}
