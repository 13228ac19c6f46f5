//! The steps of the suite, and which of them an SDK does not offer.

use std::collections::BTreeSet;

use super::report::Transport;

/// What a client does with a server that has everything, in this order.
pub(super) const STEPS: [&str; 12] = [
    "tools",
    "call",
    "resource",
    "prompt",
    "complete",
    "progress",
    "elicit",
    "sample",
    "cancel",
    "subscribe",
    "resume",
    "task",
];
/// What it does beside these while replicas come and go.
pub(super) const REPEATED: [&str; 2] = ["mark", "confirm"];
/// What is seen from outside when a client with a session ends.
pub(super) const DELETE: &str = "delete";

/// The revisions before there were tasks.
const WITHOUT_TASKS: [&str; 3] = ["2024-11-05", "2025-03-26", "2025-06-18"];

/// How revisions connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    Sessions,
    Stateless,
}

impl Era {
    pub(super) fn of(revision: &str) -> Self {
        if revision == "2026-07-28" { Self::Stateless } else { Self::Sessions }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// A step that one side does not offer.
struct Absent {
    side: Side,
    /// The name of the SDK.
    sdk: &'static str,
    /// The era in which it is not offered; both if there is none.
    era: Option<Era>,
    step: &'static str,
    why: &'static str,
}

const fn client(sdk: &'static str, era: Option<Era>, step: &'static str, why: &'static str) -> Absent {
    Absent { side: Side::Client, sdk, era, step, why }
}

const fn server(sdk: &'static str, era: Option<Era>, step: &'static str, why: &'static str) -> Absent {
    Absent { side: Side::Server, sdk, era, step, why }
}

const ABSENT: &[Absent] = &[
    client("python", Some(Era::Sessions), "task", "version 2 has the types of tasks, and no calls for them"),
    client("python", Some(Era::Stateless), "task", "version 2 does not come with the extension for tasks"),
    client("ts-v2", None, "task", "version 2 has the types of tasks, and no calls for them"),
    client("rmcp", Some(Era::Sessions), "task", "it has the tasks of the extension alone, which has no sessions"),
    server("python", Some(Era::Sessions), "subscribe", "`MCPServer` serves `subscriptions/listen` alone"),
    server("python", None, "task", "version 2 does not come with tasks"),
    server("python-v1", None, "subscribe", "`FastMCP` does not declare subscriptions"),
    server("python-v1", None, "task", "`FastMCP` has no tasks"),
    server("fastmcp", None, "subscribe", "it does not declare subscriptions"),
    server("fastmcp", None, "task", "its tasks need a worker that does not come with it"),
    server("ts-v2", None, "task", "version 2 has the types of tasks, and no tools that are tasks"),
    server("rmcp", Some(Era::Sessions), "task", "it has the tasks of the extension alone, which has no sessions"),
];

/// What one client does with one server, and what it leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// The steps that the client does.
    pub(super) steps: Vec<&'static str>,
    /// Whether it has a session that it deletes in the end.
    pub(super) deletes: bool,
    /// The steps that are not offered, each with a reason.
    pub(super) absent: Vec<(&'static str, String)>,
}

impl Plan {
    /// The plan for a client and a server. The eras are those that they speak, which differ if there is something between
    /// them.
    pub(super) fn new(
        (client, client_era): (&str, Era),
        (server, server_era): (&str, Era),
        transport: Transport,
    ) -> Self {
        let mut plan = Self { deletes: client_era == Era::Sessions && transport == Transport::Http, ..Self::default() };
        for step in STEPS {
            let sides = [(Side::Client, client, client_era), (Side::Server, server, server_era)];
            let missing = sides.into_iter().find_map(|(side, sdk, era)| absent(side, sdk, era, step));
            match missing.or_else(|| impossible(step, client_era, transport)) {
                Some(why) => plan.absent.push((step, why)),
                None => plan.steps.push(step),
            }
        }
        plan
    }

    /// The steps as clients get them, in `INTEROP_STEPS`.
    pub(super) fn variable(&self) -> String {
        self.steps.join(" ")
    }

    /// The same plan without what has to be between a client and a server of another SDK.
    pub(super) fn without_events(mut self, server: &str) -> Self {
        let why = format!("{server} server: it is not given a store of events");
        if self.steps.contains(&"resume") {
            self.steps.retain(|step| *step != "resume");
            self.absent.push(("resume", why));
        }
        self.deletes = false;
        self
    }

    /// The same plan for a server that notifies of an update only the session that made it, if it is subscribed.
    pub(super) fn without_updates(mut self, server: &str) -> Self {
        if self.steps.contains(&"subscribe") {
            self.steps.retain(|step| *step != "subscribe");
            let why = "it notifies only the session that made the change, and the gateway subscribes in another one";
            self.absent.push(("subscribe", format!("{server} server with sessions: {why}")));
        }
        self
    }

    /// The same plan without what a revision does not have.
    pub(super) fn in_revision(mut self, revision: &str) -> Self {
        if WITHOUT_TASKS.contains(&revision) && self.steps.contains(&"task") {
            self.steps.retain(|step| *step != "task");
            self.absent.push(("task", format!("{revision}: there are no tasks")));
        }
        self
    }

    /// The plan of a client with a server that counts executions.
    pub(super) fn counted(mut self) -> Self {
        self.steps.extend(REPEATED);
        self
    }
}

fn absent(side: Side, sdk: &str, era: Era, step: &str) -> Option<String> {
    let is_it = |absent: &&Absent| {
        absent.side == side && absent.sdk == sdk && absent.step == step && absent.era.is_none_or(|only| only == era)
    };
    let of = if side == Side::Client { "client" } else { "server" };
    ABSENT.iter().find(is_it).map(|absent| format!("{sdk} {of}: {}", absent.why))
}

/// Why revisions or a transport have no such step.
fn impossible(step: &str, client: Era, transport: Transport) -> Option<String> {
    match (step, client, transport) {
        ("resume", Era::Stateless, _) => Some("2026-07-28: streams are not resumed".to_owned()),
        ("resume", _, Transport::Stdio) => Some("stdio: there is no stream to resume".to_owned()),
        _ => None,
    }
}

/// The lines that say which steps are not offered, each once.
pub(super) fn not_offered<'a>(plans: impl Iterator<Item = &'a Plan>) -> String {
    let all: BTreeSet<String> =
        plans.flat_map(|plan| &plan.absent).map(|(step, why)| format!("  {step:<10}{why}")).collect();
    let lines = all.into_iter().collect::<Vec<_>>().join("\n");
    format!("not offered:\n{lines}")
}

/// The steps that are left out, for a cell of a table.
pub(super) fn left_out(plan: &Plan) -> String {
    match plan.absent.iter().map(|(step, _)| format!("-{step}")).collect::<Vec<_>>() {
        left if left.is_empty() => "all".to_owned(),
        left => left.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_done_or_has_a_reason_not_to_be() {
        for (sdk, era, transport, missing) in [
            ("ts-v1", Era::Sessions, Transport::Http, &[][..]),
            ("ts-v1", Era::Sessions, Transport::Stdio, &["resume"]),
            ("ts-v2", Era::Sessions, Transport::Http, &["task"]),
            ("rmcp", Era::Stateless, Transport::Http, &["resume"]),
            ("rmcp", Era::Sessions, Transport::Http, &["task"]),
        ] {
            let plan = Plan::new((sdk, era), ("couplet", era), transport);
            let absent: Vec<_> = plan.absent.iter().map(|(step, _)| *step).collect();
            assert_eq!(absent, missing, "{sdk}");
            assert_eq!(plan.steps.len() + absent.len(), STEPS.len());
            assert_eq!(plan.deletes, era == Era::Sessions && transport == Transport::Http);
        }
    }

    #[test]
    fn repeated_steps_are_more() {
        let plan = || Plan::new(("python-v1", Era::Sessions), ("couplet", Era::Sessions), Transport::Http);
        assert_eq!(plan().counted().steps.len(), plan().steps.len() + 2);
    }

    #[test]
    fn tasks_are_of_either_era() {
        let plan = |client, server| Plan::new(("ts-v1", client), ("couplet", server), Transport::Http);
        assert_eq!(left_out(&plan(Era::Sessions, Era::Sessions)), "all");
        assert_eq!(left_out(&plan(Era::Sessions, Era::Stateless)), "all");
    }

    #[test]
    fn a_step_needs_a_revision_that_has_it() {
        let plan = || Plan::new(("ts-v1", Era::Sessions), ("couplet", Era::Sessions), Transport::Http);
        assert_eq!(left_out(&plan().in_revision("2025-06-18")), "-task");
        assert_eq!(plan().in_revision("2025-11-25"), plan());
    }

    #[test]
    fn each_absence_is_about_a_step_that_there_is() {
        for absent in ABSENT {
            assert!(STEPS.contains(&absent.step), "{}", absent.step);
        }
    }
}
