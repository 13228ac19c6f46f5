//! Profiles over HTTP, at paths of their own.

use std::sync::Arc;

use couplet_core::Service;
use couplet_http::server::{AllowList, Endpoint, Routes};

use crate::Gateway;

impl Gateway {
    /// Serves each profile at `PATH/NAME`, and follows the configuration until the future is dropped: profiles that are
    /// added or removed are served accordingly. A profile that changes goes on with its sessions.
    pub async fn route_profiles(
        &self,
        routes: &Routes,
        path: &str,
        endpoint: impl Fn(Arc<dyn Service>) -> Endpoint + Send + Sync,
    ) {
        let mut reloads = self.reloads();
        let mut served: Vec<String> = Vec::new();
        loop {
            reloads.mark_unchanged();
            let config = self.config();
            served.retain(|name| {
                let stays = config.profiles.contains_key(name);
                if !stays {
                    routes.remove(&at(path, name));
                }
                stays
            });
            for name in config.profiles.keys() {
                if served.contains(name) {
                    continue;
                }
                if let Ok(service) = self.service(Some(name)) {
                    routes.insert(at(path, name), endpoint(service));
                    served.push(name.clone());
                }
            }
            if reloads.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Gateway {
    /// Keeps the host names and origins of the configuration in a list, until the future is dropped.
    pub async fn follow_allowed(&self, list: &AllowList) {
        let mut reloads = self.reloads();
        loop {
            reloads.mark_unchanged();
            let config = self.config();
            list.replace(&config.listen.allow_hosts, &config.listen.allow_origins);
            if reloads.changed().await.is_err() {
                return;
            }
        }
    }
}

fn at(path: &str, name: &str) -> String {
    format!("{}/{name}", path.trim_end_matches('/'))
}
