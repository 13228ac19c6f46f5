//! One rule of a policy.

use std::{fmt, sync::Arc};

use super::{
    Decision, Door, Effect, Flow, Glob, GlobError, Subject, Trust,
    arguments::{Condition, Holds},
};
use crate::names::Kind;

/// A decision for the requests that match all of its conditions.
///
/// In a configuration a rule is an object with `allow`, `ask` or `deny`, and optionally a `name` for logs:
///
/// ```
/// use couplet_host::policy::Rule;
///
/// let rules: Vec<Rule> = serde_json::from_str(r#"[
///     { "deny":  { "tool": "gh/delete_*" }, "name": "no-deletes" },
///     { "allow": { "tool": "files/write", "arguments": { "/path": { "within": "/srv/code" } } } },
///     { "ask":   { "effect": "destructive" } },
///     { "ask":   { "flow": "trifecta" } },
///     { "allow": { "effect": "read", "trust": "known" } }
/// ]"#)?;
/// assert_eq!(rules[2].to_string(), "ask effect destructive");
///
/// let error = serde_json::from_str::<Rule>(r#"{ "deny": { "tools": "gh/*" } }"#).unwrap_err();
/// assert!(error.to_string().starts_with("unknown condition `tools`: did you mean `tool`?"));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// | condition | matches |
/// |---|---|
/// | `tool`, `prompt`, `resource`, `template` | patterns `server/name`, or `*`; a resource is named by its URI. Any of them matches |
/// | `server`, `principal`, `profile` | patterns. A caller without a principal matches no pattern |
/// | `door` | the way to the target, such as `call` or `sampling`; `link` is the read of a resource that another server has linked to, with the trust of that server if it is lower |
/// | `effect` | for `allow` this class and safer ones; for `ask` and `deny` this class and riskier ones |
/// | `trust` | for `allow` this tier and higher ones; for `ask` and `deny` this tier and lower ones |
/// | `openWorld` | whether the target interacts with external systems |
/// | `flow` | `trifecta`: the call completes the three labels. Not for `allow` |
/// | `arguments` | predicates by JSON pointer |
///
/// A predicate is a pattern for a string, another scalar, a list of which one must hold, or an object with one of `equals`,
/// `within` (a folder that contains the absolute path), `min` and `max`, `present`, `not`. For an array, all of its elements
/// must match to allow, and one is enough to ask or deny. Arguments that cannot be judged, such as those with a key twice,
/// never allow.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) decision: Decision,
    pub(super) name: Option<Arc<str>>,
    pub(super) targets: Vec<(Kind, Target)>,
    pub(super) servers: Vec<Glob>,
    pub(super) principals: Vec<Glob>,
    pub(super) profiles: Vec<Glob>,
    pub(super) doors: Vec<Door>,
    pub(super) effect: Option<Effect>,
    pub(super) trust: Option<Trust>,
    pub(super) open_world: Option<bool>,
    pub(super) flow: bool,
    pub(super) arguments: Vec<Condition>,
}

/// How a rule relates to a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    Yes,
    /// It depends on arguments that this request does not have.
    Maybe,
    /// The condition that does not hold.
    No(&'static str),
}

impl Rule {
    /// Creates a rule that matches every request.
    pub fn any(decision: Decision) -> Self {
        Self {
            decision,
            name: None,
            targets: Vec::new(),
            servers: Vec::new(),
            principals: Vec::new(),
            profiles: Vec::new(),
            doors: Vec::new(),
            effect: None,
            trust: None,
            open_world: None,
            flow: false,
            arguments: Vec::new(),
        }
    }

    /// Returns the decision.
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// Compares the cheap conditions first.
    pub(super) fn check(&self, subject: &Subject<'_>) -> Match {
        let allows = self.decision == Decision::Allow;
        let no = |holds: bool, name| if holds { None } else { Some(Match::No(name)) };
        let any = |globs: &[Glob], text: &str| globs.is_empty() || globs.iter().any(|glob| glob.matches(text));
        let class = subject.effects.class;
        let mismatch = no(self.doors.is_empty() || self.doors.contains(&subject.door), "door")
            .or_else(|| no(self.effect.is_none_or(|own| if allows { class <= own } else { class >= own }), "effect"))
            .or_else(|| {
                no(
                    self.trust.is_none_or(|own| if allows { subject.trust >= own } else { subject.trust <= own }),
                    "trust",
                )
            })
            .or_else(|| no(self.open_world.is_none_or(|own| own == subject.effects.open_world), "openWorld"))
            .or_else(|| no(!self.flow || subject.flow == Flow::Trifecta, "flow"))
            .or_else(|| no(any(&self.servers, subject.server.as_str()), "server"))
            .or_else(|| no(self.is_target(subject), "target"))
            .or_else(|| no(any(&self.profiles, subject.profile), "profile"))
            .or_else(|| {
                no(
                    self.principals.is_empty() || subject.principal.is_some_and(|own| any(&self.principals, own)),
                    "principal",
                )
            });
        mismatch.unwrap_or_else(|| self.check_arguments(subject))
    }

    fn is_target(&self, subject: &Subject<'_>) -> bool {
        let matches = |(kind, target): &(Kind, Target)| *kind == subject.kind && target.matches(subject);
        self.targets.is_empty() || self.targets.iter().any(matches)
    }

    fn check_arguments(&self, subject: &Subject<'_>) -> Match {
        if self.arguments.is_empty() {
            return Match::Yes;
        }
        let text = match (subject.arguments, subject.door) {
            (Some(arguments), _) => arguments.as_str(),
            (None, Door::Call | Door::Get | Door::Read | Door::Link) => "{}",
            (None, _) => return Match::Maybe,
        };
        let allows = self.decision == Decision::Allow;
        let holds = |condition: &Condition| match condition.check(text, allows) {
            Holds::Yes => true,
            Holds::No => false,
            // Arguments that the server may understand in another way never allow.
            Holds::Unclear => !allows,
        };
        if self.arguments.iter().all(holds) { Match::Yes } else { Match::No("arguments") }
    }
}

/// A pattern for the server, and one for the server's own name.
#[derive(Clone, Debug)]
pub(super) struct Target {
    server: Glob,
    raw: Glob,
}

impl Target {
    pub(super) fn new(pattern: &str) -> Result<Self, GlobError> {
        let (server, raw) = match pattern.split_once('/') {
            Some(parts) => parts,
            None if pattern == "*" => ("*", "*"),
            None => {
                let pattern = couplet_core::visible(pattern);
                return Err(GlobError::new(format!(
                    "`{pattern}` is not a pattern `server/name`: did you mean `*/{pattern}`?"
                )));
            }
        };
        Ok(Self { server: Glob::new(server)?, raw: Glob::new(raw)? })
    }

    fn matches(&self, subject: &Subject<'_>) -> bool {
        self.server.matches(subject.server.as_str()) && self.raw.matches(subject.raw)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.server, self.raw)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.decision)?;
        let globs = |f: &mut fmt::Formatter<'_>, name: &str, globs: &[Glob]| {
            globs.iter().try_for_each(|glob| write!(f, " {name} `{}`", couplet_core::visible(glob.as_str())))
        };
        for (kind, target) in &self.targets {
            write!(f, " {kind} `{}`", couplet_core::visible(&target.to_string()))?;
        }
        globs(f, "server", &self.servers)?;
        globs(f, "principal", &self.principals)?;
        globs(f, "profile", &self.profiles)?;
        self.doors.iter().try_for_each(|door| write!(f, " door {door}"))?;
        self.effect.iter().try_for_each(|effect| write!(f, " effect {effect}"))?;
        self.trust.iter().try_for_each(|trust| write!(f, " trust {trust}"))?;
        self.open_world.iter().try_for_each(|open| write!(f, " openWorld {open}"))?;
        if self.flow {
            f.write_str(" flow trifecta")?;
        }
        self.arguments.iter().try_for_each(|condition| write!(f, " {condition}"))
    }
}
