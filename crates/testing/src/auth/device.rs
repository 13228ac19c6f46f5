//! The device flow (RFC 8628).

use serde_json::json;

use super::{
    state::{Client, Grant, State, random},
    web::{Answer, Asked},
};

pub(super) const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// A device code that waits for approval.
pub(super) struct Device {
    pub(super) user_code: String,
    /// The decision of the user, if there is one.
    pub(super) approved: Option<bool>,
    grant: Grant,
}

impl State {
    /// Issues a device code.
    pub(super) fn device_authorization(&self, asked: &Asked) -> Answer {
        let Some(client) = self.client_of(asked) else {
            return Answer::error(401, "invalid_client", "the client is not authenticated");
        };
        let grant = Grant {
            user: self.lock().user.clone(),
            scope: asked.get("scope").unwrap_or_default().to_owned(),
            resource: asked.get("resource").map(str::to_owned),
            ..Grant::of(&client)
        };
        let (device_code, user_code) = (random(), random()[..8].to_uppercase());
        let page = format!("{}/device", self.issuer);
        let answer = json!({
            "device_code": device_code, "user_code": user_code, "verification_uri": page,
            "verification_uri_complete": format!("{page}?user_code={user_code}"), "expires_in": 600, "interval": 1,
        });
        self.lock().devices.insert(device_code, Device { user_code, approved: None, grant });
        Answer::json(200, &answer)
    }

    /// Exchanges a device code.
    pub(super) fn by_device(&self, asked: &Asked, client: &Client) -> Result<Grant, (&'static str, &'static str)> {
        let mut inner = self.lock();
        let code = asked.get("device_code").unwrap_or_default();
        let approved = inner.devices.get(code).filter(|device| device.grant.client == client.id).map(|d| d.approved);
        match approved {
            None => return Err(("expired_token", "the code is not known, or was used")),
            Some(None) => return Err(("authorization_pending", "the code has not been approved yet")),
            Some(Some(_)) => {}
        }
        match inner.devices.remove(code) {
            Some(Device { approved: Some(true), grant, .. }) => Ok(grant),
            _ => Err(("access_denied", "the user declined")),
        }
    }
}
