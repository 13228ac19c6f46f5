//! Log messages to clients about what is hidden from them.

use couplet_core::Call;
use couplet_types::{LoggingLevel, RawJson};

use crate::{
    names::Kind,
    service::{View, hidden::HiddenItem, snapshot::Snapshot},
};

/// The name of the logger.
const LOGGER: &str = "couplet";

impl View {
    /// Waits for servers that were never listed, at most one second and once for each.
    pub(crate) async fn await_catalogs(&self) {
        if let Some(host) = self.inner().host.upgrade() {
            host.list_new(&self.snapshot().profile).await;
        }
    }

    /// Reports how many definitions of a list wait for an approval.
    pub(crate) async fn report_blocked(&self, call: &Call, kind: Kind) {
        let snapshot = self.snapshot();
        let blocked = snapshot.hidden.unapproved(kind);
        if blocked > 0 && call.outbox.wants_log(LoggingLevel::Warning) {
            let text = format!(
                "{blocked} of the {kind}s are hidden: their definitions are new or have changed, and wait for an approval"
            );
            log(call, text).await;
        }
    }

    /// Reports a call of a definition that waits for an approval. The response does not differ from that for an unknown
    /// name.
    pub(crate) async fn report_call_of_blocked(&self, snapshot: &Snapshot, call: &Call, kind: Kind, name: &str) {
        let is_it = || snapshot.hidden.named(&snapshot.profile, kind, name).is_some_and(HiddenItem::is_unapproved);
        if call.outbox.wants_log(LoggingLevel::Warning) && is_it() {
            log(call, format!("`{name}` is blocked: its definition is new or has changed, and waits for an approval"))
                .await;
        }
    }
}

async fn log(call: &Call, text: String) {
    if let Ok(data) = RawJson::new(&text) {
        call.outbox.log(LoggingLevel::Warning, Some(LOGGER.to_owned()), data).await;
    }
}
