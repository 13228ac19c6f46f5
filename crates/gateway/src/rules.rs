//! Policies and classes of tools from a configuration.

use couplet_host::policy::{self, Effects, Glob, GlobError, Labels, Layer, Policy, Rule};
use serde_json::json;

use crate::{
    Config,
    config::{Effect, Label, Server, Settings, Tools, Trust},
};

impl Config {
    /// Returns the policy: the rules of the file, narrowed by the tools that servers are limited to and by the rules of
    /// approved projects. Without any of them, everything that is offered is allowed.
    #[must_use]
    pub fn policy(&self) -> Policy {
        let limits: Vec<_> = self.servers.iter().flat_map(Server::tool_rules).collect();
        if self.policy.is_none() && limits.is_empty() && self.project_policy.is_empty() {
            return Policy::allow_all();
        }
        let own = self.policy.clone().unwrap_or_else(|| vec![Rule::any(policy::Decision::Allow)]);
        let narrower = [("tools", limits), ("project", self.project_policy.clone())];
        let narrower = narrower.into_iter().filter(|(_, rules)| !rules.is_empty());
        let narrower = narrower.map(|(name, rules)| Layer::new(name, rules));
        Policy::new(std::iter::once(Layer::new("policy", own)).chain(narrower).collect())
    }
}

impl Server {
    /// Returns the trust in the server.
    #[must_use]
    pub fn trust(&self) -> policy::Trust {
        match self.settings.trust {
            Trust::Unknown => policy::Trust::Unknown,
            Trust::Known => policy::Trust::Known,
            Trust::Owned => policy::Trust::Owned,
        }
    }

    /// The rules for the tools that the server is limited to.
    fn tool_rules(&self) -> Vec<Rule> {
        let Tools { allow, deny, .. } = &self.settings.tools;
        let rule = |decision: &str, pattern: &str| {
            let tool = format!("{}/{pattern}", self.id.as_str());
            serde_json::from_value(json!({ decision: { "tool": tool }, "name": format!("tools of {}", self.key) })).ok()
        };
        let denied = deny.iter().filter_map(|pattern| rule("deny", pattern));
        let allowed = allow.iter().filter_map(|pattern| rule("allow", pattern));
        let others = if allow.is_empty() { None } else { rule("deny", "*") };
        denied.chain(allowed).chain(others).collect()
    }

    /// Returns the configured effects of tools; the first pattern that matches counts. A configured effect says nothing
    /// about external systems, so it counts as interacting with them.
    #[must_use]
    pub fn effects(&self) -> Vec<(Glob, Effects)> {
        let class = |effect: &Effect| match effect {
            Effect::Read => policy::Effect::Read,
            Effect::Write => policy::Effect::Write,
            Effect::Destructive => policy::Effect::Destructive,
        };
        let effects = |effect| Effects::new(class(effect), true);
        specific_first(&self.settings.effects).map(|(glob, effect)| (glob, effects(effect))).collect()
    }

    /// Returns the configured flow labels of tools; the first pattern that matches counts.
    #[must_use]
    pub fn labels(&self) -> Vec<(Glob, Labels)> {
        let label = |label: &Label| match label {
            Label::Private => Labels::PRIVATE,
            Label::Untrusted => Labels::UNTRUSTED,
            Label::Sends => Labels::SENDS,
        };
        let labels = |all: &Vec<Label>| all.iter().fold(Labels::NONE, |sum, one| sum | label(one));
        specific_first(&self.settings.labels).map(|(glob, all)| (glob, labels(all))).collect()
    }
}

impl Settings {
    /// Checks the patterns.
    pub(crate) fn check_patterns(&self) -> Result<(), GlobError> {
        let all = self.effects.keys().chain(self.labels.keys()).chain(&self.tools.allow).chain(&self.tools.deny);
        all.into_iter().try_for_each(|pattern| Glob::new(pattern).map(drop))
    }
}

/// The patterns of a table, whose order means nothing: exact names first, then longer patterns before shorter ones.
fn specific_first<'a, T>(table: impl IntoIterator<Item = (&'a String, &'a T)>) -> impl Iterator<Item = (Glob, &'a T)>
where
    T: 'a,
{
    let mut all: Vec<_> = table.into_iter().collect();
    all.sort_by_key(|(pattern, _)| (pattern.contains('*'), std::cmp::Reverse(pattern.len())));
    all.into_iter().filter_map(|(pattern, value)| Some((Glob::new(pattern).ok()?, value)))
}
