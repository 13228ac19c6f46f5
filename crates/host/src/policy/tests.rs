//! Decisions (S14, S16).

use couplet_core::JsonText;
use couplet_types::ToolAnnotations;

use super::*;
use crate::names::{Kind, ServerId};

fn rules(text: &str) -> Vec<Rule> {
    serde_json::from_str(text).unwrap()
}

fn policy(text: &str) -> Policy {
    Policy::new(vec![Layer::new("policy", rules(text))])
}

/// Decides a call of `gh/RAW` with arguments.
fn call(policy: &Policy, raw: &str, arguments: &str) -> Verdict {
    let (gh, arguments) = (ServerId::from_key("gh"), JsonText::new(arguments.to_owned()).unwrap());
    policy.decide(&Subject { arguments: Some(&arguments), ..Subject::new("default", &gh, Kind::Tool, raw, Door::Call) })
}

fn decision(text: &str, change: impl FnOnce(&mut Subject<'_>)) -> (Decision, Option<String>) {
    let gh = ServerId::from_key("gh");
    let mut subject = Subject::new("default", &gh, Kind::Tool, "delete_repo", Door::Call);
    change(&mut subject);
    let verdict = policy(text).decide(&subject);
    (verdict.decision, verdict.rule.map(|rule| rule.to_string()))
}

#[test]
fn the_first_rule_that_matches_decides() {
    let text = r#"[
        {"deny": {"tool": "gh/delete_*"}, "name": "no-deletes"}, {"ask": {"effect": "destructive"}},
        {"allow": {"effect": "read", "trust": "known"}}, {"allow": {"prompt": ["gh/*", "files/x"]}}
    ]"#;
    use Decision::{Allow, Ask, Deny};
    assert_eq!(decision(text, |_| {}), (Deny, Some("no-deletes".into())));
    assert_eq!(decision(text, |s| s.raw = "create"), (Ask, Some("policy[1]".into())));
    let read = Effects::new(Effect::Read, true);
    assert_eq!(decision(text, |s| (s.raw, s.effects) = ("get", read)), (Ask, None));
    assert_eq!(
        decision(text, |s| (s.raw, s.effects, s.trust) = ("get", read, Trust::Owned)),
        (Allow, Some("policy[2]".into()))
    );
    assert_eq!(decision(text, |s| (s.kind, s.effects) = (Kind::Prompt, read)), (Allow, Some("policy[3]".into())));
}

#[test]
fn tiers_widen_to_the_safe_side() {
    use Effect::{Destructive, Read, Write};
    for (rule, matches) in [
        ("allow", [(Read, true), (Write, true), (Destructive, false)]),
        ("ask", [(Read, false), (Write, true), (Destructive, true)]),
        ("deny", [(Read, false), (Write, true), (Destructive, true)]),
    ] {
        for (class, expected) in matches {
            let text = format!(r#"[{{"{rule}": {{"effect": "write"}}}}]"#);
            let (_, id) = decision(&text, |s| s.effects.class = class);
            assert_eq!(id.is_some(), expected, "{rule} {class}");
        }
    }
    use Trust::{Known, Owned, Unknown};
    for (rule, matches) in [
        ("allow", [(Unknown, false), (Known, true), (Owned, true)]),
        ("deny", [(Unknown, true), (Known, true), (Owned, false)]),
    ] {
        for (trust, expected) in matches {
            let text = format!(r#"[{{"{rule}": {{"trust": "known"}}}}]"#);
            let (_, id) = decision(&text, |s| s.trust = trust);
            assert_eq!(id.is_some(), expected, "{rule} {trust}");
        }
    }
}

#[test]
fn conditions_are_all_needed() {
    let text = r#"[{"deny": {"server": "g*", "principal": ["alice", "b*"], "profile": "work", "openWorld": true, "door": ["call", "read"]}}]"#;
    let matches = |change: fn(&mut Subject<'_>)| {
        decision(text, |s| {
            (s.principal, s.profile) = (Some("bob"), "work");
            change(s);
        })
        .1
        .is_some()
    };
    assert!(matches(|_| {}));
    assert!(!matches(|s| s.principal = None));
    assert!(!matches(|s| s.principal = Some("carol")));
    assert!(!matches(|s| s.profile = "home"));
    assert!(!matches(|s| s.effects.open_world = false));
    assert!(!matches(|s| s.door = Door::List));
}

#[test]
fn s16_denied_is_denied_on_every_way() {
    let gh = ServerId::from_key("gh");
    let kinds = [
        (Kind::Tool, "tool", "gh/x*"),
        (Kind::Prompt, "prompt", "gh/x*"),
        (Kind::Resource, "resource", "gh/x*"),
        (Kind::Template, "template", "*/x*"),
    ];
    for (kind, word, pattern) in kinds {
        for decision in ["allow", "ask", "deny"] {
            let text = format!(r#"[{{"{decision}": {{"{word}": "{pattern}"}}}}, {{"deny": {{}}}}]"#);
            let policy = policy(&text);
            for door in Door::ALL {
                for flow in [Flow::Clear, Flow::Trifecta] {
                    for principal in [None, Some("alice")] {
                        let subject = |raw| Subject { flow, principal, ..Subject::new("p", &gh, kind, raw, door) };
                        let verdict = policy.decide(&subject("xyz"));
                        assert_eq!(verdict.decision.as_str(), decision, "{word} {door}");
                        assert_eq!(verdict.rule.as_deref(), Some("policy[0]"));
                        let other = policy.decide(&subject("abc"));
                        assert_eq!(other.decision, Decision::Deny, "{word} {door}");
                    }
                }
            }
        }
    }
}

#[test]
fn s16_lists_and_calls_agree_where_rules_have_arguments() {
    // A list shows a target exactly if some call of it is not denied.
    let list = |text: &str| decision(text, |s| (s.door, s.raw) = (Door::List, "x")).0;
    for (text, expected) in [
        (r#"[{"allow": {"tool": "gh/x", "arguments": {"/a": 1}}}, {"deny": {}}]"#, Decision::Ask),
        (r#"[{"ask": {"tool": "gh/x", "arguments": {"/a": 1}}}, {"deny": {}}]"#, Decision::Ask),
        (r#"[{"deny": {"tool": "gh/x", "arguments": {"/a": 1}}}, {"allow": {}}]"#, Decision::Allow),
        (r#"[{"deny": {"tool": "gh/x", "arguments": {"/a": 1}}}, {"deny": {}}]"#, Decision::Deny),
        (r#"[{"ask": {"flow": "trifecta"}}, {"deny": {"tool": "gh/x"}}]"#, Decision::Deny),
        (r#"[{"deny": {"flow": "trifecta"}}, {"allow": {}}]"#, Decision::Allow),
    ] {
        assert_eq!(list(text), expected, "{text}");
    }
}

#[test]
fn lower_layers_only_narrow() {
    let gh = ServerId::from_key("gh");
    let all = ["[]", r#"[{"allow": {}}]"#, r#"[{"ask": {}}]"#, r#"[{"deny": {}}]"#];
    for first in all {
        let layers = |rest: &[&str]| {
            let texts = [first].into_iter().chain(rest.iter().copied());
            Policy::new(
                texts.zip(["user", "project", "folder"]).map(|(text, name)| Layer::new(name, rules(text))).collect(),
            )
        };
        let decide = |policy: &Policy| policy.decide(&Subject::new("p", &gh, Kind::Tool, "x", Door::Call));
        let alone = decide(&layers(&[])).decision;
        for second in all {
            for third in all {
                let verdict = decide(&layers(&[second, third]));
                assert!(verdict.decision >= alone, "{first} {second} {third}");
                let strictest =
                    if [second, third].iter().any(|text| text.contains("deny")) { Decision::Deny } else { alone };
                assert!(verdict.decision >= strictest);
                if verdict.decision > alone {
                    assert!(verdict.rule.is_some_and(|rule| rule.starts_with("project") || rule.starts_with("folder")));
                }
            }
        }
    }
    // Without a match a person decides, whatever a project allows.
    let policy = Policy::new(vec![Layer::new("user", []), Layer::new("project", rules(r#"[{"allow": {}}]"#))]);
    let verdict = policy.decide(&Subject::new("p", &gh, Kind::Tool, "x", Door::Call));
    assert_eq!(verdict, Verdict { decision: Decision::Ask, rule: None });
}

#[test]
fn a_flow_rule_never_replaces_a_stricter_one() {
    let text = r#"[{"ask": {"flow": "trifecta"}}, {"deny": {"tool": "gh/delete_*"}}, {"allow": {}}]"#;
    let trifecta = |s: &mut Subject<'_>| s.flow = Flow::Trifecta;
    assert_eq!(decision(text, trifecta), (Decision::Deny, Some("policy[1]".into())));
    assert_eq!(decision(text, |s| (s.raw, s.flow) = ("x", Flow::Trifecta)), (Decision::Ask, Some("policy[0]".into())));
    assert_eq!(decision(text, |s| s.raw = "x"), (Decision::Allow, Some("policy[2]".into())));
    let text = r#"[{"deny": {"flow": "trifecta"}}, {"allow": {}}]"#;
    assert_eq!(decision(text, trifecta), (Decision::Deny, Some("policy[0]".into())));
}

#[test]
fn predicates_match_values() {
    for (predicate, value, expected) in [
        (r#""a*""#, r#""abc""#, true),
        (r#""a*""#, r#""\u0061bc""#, true),
        (r#""a*""#, r#""cba""#, false),
        (r#""1""#, "1", false),
        ("1", "1.0", true),
        ("true", "true", true),
        ("true", "false", false),
        ("null", "null", true),
        (r#"["a", 2]"#, "2", true),
        (r#"["a", 2]"#, "3", false),
        (r#"{"min": 2, "max": 4}"#, "3", true),
        (r#"{"max": 4}"#, "4.5", false),
        (r#"{"max": 4}"#, r#""3""#, false),
        (r#"{"equals": "a*"}"#, r#""a*""#, true),
        (r#"{"equals": "a*"}"#, r#""ab""#, false),
        (r#"{"equals": [1, 2]}"#, "[1,2]", true),
        (r#"{"not": "a*"}"#, r#""b""#, true),
        (r#"{"not": "a*"}"#, r#""a""#, false),
        (r#"{"present": true}"#, "null", true),
        (r#"{"present": false}"#, "1", false),
        (r#"{"within": "/srv"}"#, r#""/srv/a""#, true),
        (r#"{"within": "/srv"}"#, r#""/srv/../etc/passwd""#, false),
        (r#"{"within": "/srv"}"#, r#""/srv/./a//b/..""#, true),
        (r#"{"within": "/srv"}"#, r#""/srvx""#, false),
        (r#"{"within": "/srv"}"#, r#""a""#, false),
        (r#"{"within": "/srv"}"#, r#""/srv\\..\\x""#, false),
    ] {
        let policy = policy(&format!(r#"[{{"allow": {{"arguments": {{"/a/0": {predicate}}}}}}}]"#));
        let verdict = call(&policy, "x", &format!(r#"{{"a": [{value}]}}"#));
        assert_eq!(verdict.decision == Decision::Allow, expected, "{predicate} {value}");
    }
    for (predicate, expected) in [(r#""*""#, false), (r#"{"present": false}"#, true), (r#"{"not": "a"}"#, true)] {
        let policy = policy(&format!(r#"[{{"allow": {{"arguments": {{"/a": {predicate}}}}}}}]"#));
        assert_eq!(call(&policy, "x", "{}").decision == Decision::Allow, expected, "{predicate}");
    }
}

#[test]
fn arrays_are_judged_on_the_safe_side() {
    let allow = policy(r#"[{"allow": {"arguments": {"/paths": {"within": "/srv"}}}}]"#);
    let deny = policy(r#"[{"deny": {"arguments": {"/paths": "/etc/*"}}}, {"allow": {}}]"#);
    for (paths, allowed, denied) in [
        (r#"["/srv/a", "/srv/b"]"#, true, false),
        (r#"["/srv/a", "/etc/b"]"#, false, true),
        (r#"[["/srv/a"], ["/etc/b"]]"#, false, true),
        ("[]", false, false),
        (r#"{"0": "/etc/b"}"#, false, false),
    ] {
        let arguments = format!(r#"{{"paths": {paths}}}"#);
        assert_eq!(call(&allow, "x", &arguments).decision == Decision::Allow, allowed, "{paths}");
        assert_eq!(call(&deny, "x", &arguments).decision == Decision::Deny, denied, "{paths}");
    }
}

#[test]
fn s14_a_key_that_appears_twice_never_allows() {
    let (safe, evil) = (r#""/srv/a""#, r#""/etc/passwd""#);
    let allow = policy(r#"[{"allow": {"arguments": {"/path": "/srv/*"}}}]"#);
    let deny = policy(r#"[{"deny": {"arguments": {"/path": "/etc/*"}}}, {"allow": {}}]"#);
    assert_eq!(call(&allow, "x", &format!(r#"{{"path": {safe}}}"#)).decision, Decision::Allow);
    for (first, second) in [(safe, evil), (evil, safe)] {
        for key in ["path", "p\\u0061th"] {
            let arguments = format!(r#"{{"path": {first}, "{key}": {second}}}"#);
            assert_eq!(call(&allow, "x", &arguments).decision, Decision::Ask, "{arguments}");
            assert_eq!(call(&deny, "x", &arguments).decision, Decision::Deny, "{arguments}");
        }
    }
}

#[test]
fn misspelt_rules_name_the_nearest_word() {
    for (text, expected) in [
        (r#"{"alow": {}}"#, "unknown key `alow`: did you mean `allow`?"),
        (r#"{"deny": {"efect": "read"}}"#, "unknown condition `efect`: did you mean `effect`?"),
        (r#"{"deny": {"zzz": 1}}"#, "unknown condition `zzz`: expected one of `tool`"),
        (r#"{"deny": {"tool": "delete_*"}}"#, "did you mean `*/delete_*`?"),
        (r#"{"deny": {"tool": []}}"#, "the list is empty"),
        (r#"{"deny": {"tool": ""}}"#, "is not a pattern"),
        (r#"{"deny": {"server": ""}}"#, "a pattern is empty"),
        (r#"{"deny": {"effect": "reed"}}"#, "unknown variant `reed`"),
        (r#"{"deny": {"flow": "trifekta"}}"#, "did you mean `trifecta`?"),
        (r#"{"allow": {"flow": "trifecta"}}"#, "cannot allow"),
        (r#"{"allow": {}, "deny": {}}"#, "write two rules"),
        (r#"{"name": "x"}"#, "expected `allow`, `ask` or `deny`"),
        (r#"{"deny": {"tool": "a/b", "tool": "c/d"}}"#, "appears twice"),
        (r#"{"deny": {"arguments": {"path": 1}}}"#, "did you mean `/path`?"),
        (r#"{"deny": {"arguments": {"/p": {"minn": 1}}}}"#, "did you mean `min`?"),
        (r#"{"deny": {"arguments": {"/p": {"min": 1, "not": 1}}}}"#, "a predicate has one of"),
        (r#"{"deny": {"arguments": {"/p": {"within": "srv"}}}}"#, "not an absolute path"),
        ("[]", "expected an object with `allow`"),
    ] {
        let error = serde_json::from_str::<Rule>(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let error = serde_json::from_str::<Labels>(r#"["privat"]"#).unwrap_err().to_string();
    assert!(error.contains("did you mean `private`?"), "{error}");
}

#[test]
fn effects_are_believed_only_of_pinned_definitions_of_trusted_servers() {
    let hints = ToolAnnotations::new().read_only_hint(true).open_world_hint(false);
    let read = Effects::new(Effect::Read, false);
    for (trust, is_pinned, expected) in [
        (Trust::Known, true, read),
        (Trust::Owned, true, read),
        (Trust::Known, false, Effects::STRICTEST),
        (Trust::Unknown, true, Effects::STRICTEST),
    ] {
        assert_eq!(Effects::of_tool(Some(&hints), trust, is_pinned), expected);
    }
    let write = ToolAnnotations::new().destructive_hint(false);
    assert_eq!(Effects::of_tool(Some(&write), Trust::Known, true), Effects::new(Effect::Write, true));
    assert_eq!(Effects::of_tool(Some(&ToolAnnotations::new()), Trust::Owned, true), Effects::STRICTEST);
    assert_eq!(Effects::of_tool(None, Trust::Owned, true), Effects::STRICTEST);
    assert_eq!(Effects::of_kind(Kind::Resource, Trust::Unknown), Effects::STRICTEST);
    assert_eq!(Effects::of_kind(Kind::Resource, Trust::Known).class, Effect::Read);
}

#[test]
fn explanations_name_the_rule_and_the_condition() {
    let policy = policy(
        r#"[{"allow": {"effect": "read"}}, {"deny": {"tool": "gh/*", "arguments": {"/n": {"min": 1, "max": 2}}}}, {"ask": {}}]"#,
    );
    let gh = ServerId::from_key("gh");
    let arguments = JsonText::new(r#"{"n": 2}"#).unwrap();
    let subject = Subject { arguments: Some(&arguments), ..Subject::new("p", &gh, Kind::Tool, "x\u{1b}", Door::Call) };
    assert_eq!(
        policy.explain(&subject),
        "call of the tool `gh/x\\u{1b}`: deny by policy[1]\n  \
         policy[0]: allow effect read (no: effect)\n  \
         policy[1]: deny tool `gh/*` argument `/n` min 1 max 2 (matches)\n"
    );
    assert_eq!(
        Policy::allow_all().explain(&subject),
        "call of the tool `gh/x\\u{1b}`: allow, because there is no policy\n"
    );
}

#[test]
fn globs_match_in_linear_time() {
    for (pattern, text, expected) in [
        ("*", "", true),
        ("a*a", "a", false),
        ("a*a", "aa", true),
        ("*b*", "abc", true),
        ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "a-c-b", false),
        ("ab", "abc", false),
        ("**", "x", true),
        ("*ä*", "xäy", true),
    ] {
        assert_eq!(Glob::new(pattern).unwrap().matches(text), expected, "{pattern} {text}");
    }
    // A matcher that tries all ways would not end.
    let glob = Glob::new(&"*a".repeat(512)).unwrap();
    assert!(!glob.matches(&"ab".repeat(100_000)));
    assert!(Glob::new(&"a".repeat(1025)).is_err() && Glob::new("").is_err());
}
