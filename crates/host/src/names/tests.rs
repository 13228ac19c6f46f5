//! Names of hostile servers (S1, S2).

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use super::*;

/// Names that a server could try.
const HOSTILE: [&str; 40] = [
    "",
    " ",
    "_",
    "__",
    "___",
    "-",
    "a",
    "b",
    "b__c",
    "b_c",
    "a__b",
    "_b",
    "__b",
    "c",
    "c_",
    "c__",
    "constructor",
    "__proto__",
    "toString",
    "hasOwnProperty",
    "search",
    "search_tools",
    "call_tool",
    "github__create_issue",
    "create_issue",
    "create_issue\0",
    "create_issue ",
    "create\nissue",
    "create\r\nissue",
    "cr\u{435}ate_issue",
    "create_issu\u{435}",
    "\u{202e}eussi_etaerc",
    "create_issue\u{200b}",
    "create_issue_00000000",
    "_00000000",
    "00000000",
    "a_deadbeef",
    "a_DEADBEEF",
    "ünïcödé",
    "\u{1f469}\u{200d}\u{1f680}",
];

fn ids() -> Vec<ServerId> {
    let keys = [
        "a",
        "b",
        "a-b",
        "a--b",
        "github",
        "evil",
        "x1a2b3c",
        "a-x1a2b3c",
        "GitHub",
        "my_server",
        "",
        "3d",
        "a-b-c-d-e-f-g-h",
    ];
    keys.iter().map(|key| ServerId::from_key(key)).collect()
}

/// Hostile names, their exposed forms, and random ones over a small alphabet, so that many are alike.
fn raws() -> Vec<String> {
    let mut raws: Vec<String> = HOSTILE.iter().map(|raw| (*raw).to_owned()).collect();
    raws.extend(["a".repeat(300), "a".repeat(301), "ä".repeat(150), "x".repeat(48), "x".repeat(45), "x".repeat(46)]);
    // The names that other names get.
    for id in ids() {
        let exposed: Vec<_> = raws.iter().take(46).map(|raw| exposed_name(&id, raw)).collect();
        raws.extend(exposed.iter().filter_map(|name| name.split_once("__")).map(|(_, raw)| raw.to_owned()));
    }
    let alphabet: Vec<char> = "ab_0f- .\u{435}".chars().collect();
    let mut random = 7_u64;
    for _ in 0..600 {
        let mut next = |most: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % most
        };
        let length = next(60);
        raws.push((0..length).map(|_| alphabet[next(alphabet.len())]).collect());
    }
    raws.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn s01_names_are_short_plain_and_injective() {
    let (ids, raws) = (ids(), raws());
    let mut owners = HashMap::new();
    for id in &ids {
        for raw in &raws {
            let name = exposed_name(id, raw);
            assert!(name.len() <= 48, "{name}");
            assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{name}");
            assert!(name.starts_with(&format!("{id}__")), "{name}");
            assert_eq!(name, exposed_name(&id.clone(), &raw.clone()));
            if let Some(other) = owners.insert(name.clone(), (id.clone(), raw.clone())) {
                panic!("{name}: {other:?} and {:?}", (id, raw));
            }
        }
    }
    assert!(owners.len() >= 10_000, "{}", owners.len());
}

#[test]
fn s01_prefixed_forms_of_others_stay_with_their_owners() {
    let [a, evil, github] = ["a", "evil", "github"].map(ServerId::from_key);
    let items = [(&a, "b__c"), (&evil, "search"), (&evil, "github__create_issue"), (&github, "create_issue")];
    let items = items.map(|(id, raw)| (id.clone(), Arc::<str>::from(raw), ()));
    let mut rotated = items.to_vec();
    let owner = |table: &NameTable<()>, name: &str| {
        table.get(name).map(|entry| (entry.server.to_string(), entry.raw.to_string()))
    };
    for _ in 0..items.len() {
        rotated.rotate_left(1);
        let table = NameTable::new(&Naming::qualified(), rotated.clone());
        assert!(table.collisions().is_empty());
        assert_eq!(owner(&table, "github__create_issue"), Some(("github".into(), "create_issue".into())));
        assert_eq!(owner(&table, "a__b__c"), Some(("a".into(), "b__c".into())));
        assert_eq!(owner(&table, "evil__github__create_issue"), Some(("evil".into(), "github__create_issue".into())));
        assert_eq!(owner(&table, "search"), None);
    }
    // A name does not depend on the other servers.
    let table = NameTable::new(&Naming::qualified(), items.into_iter().skip(3));
    assert_eq!(table.entries()[0].name.as_ref(), "github__create_issue");
}

#[test]
fn s01_a_bare_collision_hides_all_claimants() {
    let [gh, evil] = ["github", "evil"].map(ServerId::from_key);
    let items = [(&gh, "search"), (&gh, "open"), (&evil, "search"), (&evil, "open."), (&evil, "open.")];
    for reverse in [false, true] {
        let mut items = items.map(|(id, raw)| (id.clone(), Arc::<str>::from(raw), ())).to_vec();
        if reverse {
            items.reverse();
        }
        let table = NameTable::new(&Naming::bare(), items);
        let names: Vec<_> = table.entries().iter().map(|entry| &*entry.name).collect();
        assert_eq!(names, ["open"]);
        let hidden: BTreeSet<_> =
            table.collisions().iter().map(|collision| (&*collision.name, collision.claimants.len())).collect();
        assert_eq!(hidden, [("search", 2), ("open.", 2)].into());
    }
}

#[test]
fn s02_reserved_names_are_never_taken() {
    let evil = ServerId::from_key("evil");
    let naming = Naming::bare().reserve("search_tools").reserve("call_tool");
    let items = HOSTILE.iter().map(|raw| (evil.clone(), Arc::<str>::from(*raw), *raw));
    let table = NameTable::new(&naming, items);
    assert!(table.get("search_tools").is_none() && table.get("call_tool").is_none());
    assert_eq!(table.collisions().len(), 2);
    assert_eq!(
        table.collisions()[0].to_string(),
        "the name `search_tools` is reserved: `evil/search_tools` is hidden; rename it"
    );
    assert_eq!(table.entries().len(), HOSTILE.len() - 2);
    for entry in table.entries() {
        assert_eq!(table.get(&entry.name).map(|found| found.value), Some(entry.value));
        assert!(entry.name.chars().all(|c| c.is_ascii_graphic()), "{}", entry.name);
    }
    // Names of an object in JavaScript are names as any other, and a homoglyph is another name.
    assert_eq!(table.get("__proto__").map(|entry| entry.value), Some("__proto__"));
    assert_eq!(table.get("create_issue").map(|entry| entry.value), Some("create_issue"));
    assert_eq!(exposed_name(&evil, "cr\u{435}ate_issue"), exposed_name(&evil, "cr\u{435}ate_issue"));
    assert_ne!(exposed_name(&evil, "cr\u{435}ate_issue"), exposed_name(&evil, "create_issue"));
}

#[test]
fn a_view_renames() {
    let [gh, files] = ["gh", "files"].map(ServerId::from_key);
    let naming =
        || Naming::qualified().rename(gh.clone(), "create_issue", "new issue").alias(files.clone(), "read", "cat");
    let items =
        || [(&gh, "create_issue"), (&gh, "read"), (&files, "read")].map(|(id, raw)| (id.clone(), raw.into(), ()));
    let table = NameTable::new(&naming().unwrap(), items());
    let names: Vec<_> = table.entries().iter().map(|entry| &*entry.name).collect();
    assert_eq!(names, [&*exposed_name(&gh, "new issue"), "gh__read", "cat"]);
    assert_eq!(table.get("cat").map(|entry| &*entry.raw), Some("read"));

    // An alias cannot take the name of another.
    let naming = naming().unwrap().alias(files.clone(), "read", "gh__read").unwrap();
    let table = NameTable::new(&naming, items());
    assert_eq!((table.entries().len(), table.collisions().len()), (1, 1));
    for wrong in ["", "a b", "ä", &"a".repeat(49), "a\0"] {
        assert!(Naming::bare().alias(files.clone(), "read", wrong).is_err(), "{wrong}");
    }
}

#[test]
fn keys_become_ids() {
    for (key, id) in [("files", "files"), ("a-1", "a-1"), ("abcdefghijklmnop", "abcdefghijklmnop")] {
        assert_eq!(ServerId::from_key(key).as_str(), id);
        assert_eq!(ServerId::parse(key).unwrap(), ServerId::from_key(key));
    }
    let mut keys: Vec<String> = HOSTILE.iter().map(|key| (*key).to_owned()).collect();
    keys.extend(
        ["Files", "FILES", "fi les", "files ", "1files", "abcdefghijklmnopq", "abcdefghijklmnopr"].map(Into::into),
    );
    keys.push("k".repeat(300));
    // The ids of other keys.
    keys.extend(keys.clone().iter().map(|key| ServerId::from_key(key).to_string()));
    let keys: BTreeSet<_> = keys.into_iter().collect();
    let ids: HashSet<_> = keys.iter().map(|key| ServerId::from_key(key)).collect();
    assert_eq!(ids.len(), keys.len());
    for id in ids {
        assert_eq!(ServerId::parse(id.as_str()).as_ref(), Ok(&id));
    }
    for wrong in ["", "A", "1a", "-a", "a_b", "a b", "abcdefghijklmnopq", "ä"] {
        assert!(ServerId::parse(wrong).is_err(), "{wrong}");
    }
}
