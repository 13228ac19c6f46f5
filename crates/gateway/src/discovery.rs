//! How clients find the tools of a profile: in a list, or with a search.

use std::sync::{
    Arc, Mutex, Weak,
    atomic::{AtomicBool, Ordering},
};

use couplet_core::{Change, Service, Wrap, sync::lock};
use couplet_transform::ToolSearch;

use crate::config::{Config, Discovery};

/// The services of profiles that are in use, which follow the configuration.
#[derive(Default)]
pub(crate) struct Discoveries(Mutex<Vec<(String, Weak<ProfileService>)>>);

/// The service of a profile.
struct ProfileService {
    listed: Arc<dyn Service>,
    searched: Arc<dyn Service>,
    /// Which of the two is served. A reload changes it.
    is_search: AtomicBool,
}

impl Discoveries {
    /// The service of a profile, around that of its view.
    pub(crate) fn service(&self, config: &Config, profile: &str, view: Arc<dyn Service>) -> Arc<dyn Service> {
        let service = Arc::new(ProfileService {
            searched: Arc::new(ToolSearch::new(view.clone())),
            listed: view,
            is_search: AtomicBool::new(is_search(config, profile)),
        });
        let mut services = lock(&self.0);
        services.retain(|(_, service)| service.strong_count() > 0);
        services.push((profile.to_owned(), Arc::downgrade(&service)));
        service
    }

    /// Follows another configuration. Clients are notified of lists that have changed.
    pub(crate) fn replace(&self, config: &Config) {
        let services = lock(&self.0).clone();
        for (name, service) in services {
            let Some(service) = service.upgrade() else { continue };
            let is_search = is_search(config, &name);
            if service.is_search.swap(is_search, Ordering::AcqRel) != is_search {
                service.listed.hub().send(Change::Tools);
            }
        }
    }
}

fn is_search(config: &Config, profile: &str) -> bool {
    config.profiles.get(profile).is_some_and(|profile| profile.discovery == Discovery::Search)
}

impl Wrap for ProfileService {
    fn inner(&self) -> &Arc<dyn Service> {
        if self.is_search.load(Ordering::Acquire) { &self.searched } else { &self.listed }
    }
}
