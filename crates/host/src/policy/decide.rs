//! The decision.

use std::sync::Arc;

use super::{Decision, Rule, Subject, Verdict, rule::Match};

/// The rules of one source, such as the operator, the user or a project.
#[derive(Clone, Debug)]
pub struct Layer {
    pub(super) rules: Vec<(Arc<str>, Rule)>,
}

impl Layer {
    /// Creates a layer. A rule without a name has the id `name[index]`.
    pub fn new(name: &str, rules: impl IntoIterator<Item = Rule>) -> Self {
        let id =
            |(at, rule): (usize, Rule)| (rule.name.clone().unwrap_or_else(|| format!("{name}[{at}]").into()), rule);
        Self { rules: rules.into_iter().enumerate().map(id).collect() }
    }

    fn decide(&self, subject: &Subject<'_>) -> Option<(Decision, &Arc<str>)> {
        let mut floor = None;
        for (id, rule) in &self.rules {
            let decision = match (rule.check(subject), rule.decision) {
                (Match::No(_), _) | (Match::Maybe, Decision::Deny) => continue,
                (Match::Maybe, _) => Decision::Ask,
                (Match::Yes, decision) => decision,
            };
            // A rule about the flow never replaces a stricter one behind it.
            if rule.flow && decision < Decision::Deny {
                floor.get_or_insert((decision, id));
                continue;
            }
            return Some(stricter(floor, (decision, id)));
        }
        floor
    }
}

fn stricter<'a>(floor: Option<(Decision, &'a Arc<str>)>, found: (Decision, &'a Arc<str>)) -> (Decision, &'a Arc<str>) {
    floor.filter(|(decision, _)| *decision >= found.0).unwrap_or(found)
}

/// Rules in layers: one decision for every request.
///
/// Inside a layer the first rule that matches decides. A rule with `flow` is an exception: the rules behind it are still
/// applied, and the stricter decision counts. If no rule of the first layer matches, a person decides ([`Decision::Ask`]).
/// Every further layer can only make the decision stricter.
///
/// In a list there are no arguments: a rule with `arguments` does not hide its target, and makes it visible if it allows
/// some calls.
///
/// ```
/// use couplet_host::{names::{Kind, ServerId}, policy::{Decision, Door, Layer, Policy, Subject}};
///
/// let rules = serde_json::from_str::<Vec<_>>(r#"[ { "deny": { "tool": "gh/delete_*" } }, { "allow": {} } ]"#)?;
/// let policy = Policy::new(vec![Layer::new("policy", rules)]);
/// let gh = ServerId::from_key("gh");
/// let call = |raw| policy.decide(&Subject::new("default", &gh, Kind::Tool, raw, Door::Call));
///
/// assert_eq!(call("delete_repo").decision, Decision::Deny);
/// assert_eq!(call("delete_repo").rule.as_deref(), Some("policy[0]"));
/// assert_eq!(call("create_issue").decision, Decision::Allow);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Policy {
    /// `None` allows everything.
    pub(super) layers: Option<Vec<Layer>>,
}

impl Policy {
    /// Creates a policy that allows everything.
    pub fn allow_all() -> Self {
        Self { layers: None }
    }

    /// Creates a policy from layers, the most powerful first.
    pub fn new(layers: Vec<Layer>) -> Self {
        Self { layers: Some(layers) }
    }

    /// Returns whether the policy allows everything, so that no request needs a decision.
    pub fn is_open(&self) -> bool {
        self.layers.is_none()
    }

    /// Returns whether two principals may get different decisions, so that they cannot share a list.
    pub fn depends_on_principal(&self) -> bool {
        self.layers.iter().flatten().flat_map(|layer| &layer.rules).any(|(_, rule)| !rule.principals.is_empty())
    }

    /// Returns whether a rule asks or denies because of the data flow, so that labels must be tracked.
    pub fn depends_on_flow(&self) -> bool {
        self.layers.iter().flatten().flat_map(|layer| &layer.rules).any(|(_, rule)| rule.flow)
    }

    /// Decides a request.
    pub fn decide(&self, subject: &Subject<'_>) -> Verdict {
        let Some(layers) = &self.layers else { return Verdict { decision: Decision::Allow, rule: None } };
        let mut layers = layers.iter();
        let first = layers.next().and_then(|layer| layer.decide(subject));
        let (mut decision, mut rule) = first.map_or((Decision::Ask, None), |(decision, id)| (decision, Some(id)));
        for (narrower, id) in layers.filter_map(|layer| layer.decide(subject)) {
            if narrower > decision {
                (decision, rule) = (narrower, Some(id));
            }
        }
        Verdict { decision, rule: rule.cloned() }
    }
}
