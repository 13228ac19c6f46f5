//! What is JSON and what is not.

use crate::message::scan::*;

impl Scanner<'_> {
    fn members(&mut self, depth: usize) -> Result<Members, Fault> {
        self.members_with(depth, &mut |s, _, _| s.value(depth + 1).map(|(_, place)| place))
    }
}

fn check(text: &str, fault: Option<&str>) {
    let found = JsonText::new(text.to_owned()).err().map(|f| f.to_string());
    match (fault, &found) {
        (None, None) => {}
        (Some(want), Some(got)) if got.contains(want) => {}
        _ => panic!("{text}: wanted {fault:?}, found {found:?}"),
    }
    // What we accept, serde_json accepts; the other way round we are stricter.
    if found.is_none() {
        serde_json::from_str::<serde_json::Value>(text).unwrap();
    }
}

#[test]
fn one_strict_scanner() {
    for good in ["{}", " [ 1 , -0.5e+3 ] ", r#""\ud83d\ude00 \u00e9""#, "true", "null", "0", r#"{"a":{"b":[[]]}}"#] {
        check(good, None);
    }
    for (bad, why) in [
        ("", "ends where a value"),
        ("{", "expected a key"),
        (r#"{"a" 1}"#, "expected `:`"),
        (r#"{"a":1,}"#, "expected a key"),
        ("[1 2]", "expected `,` or `]`"),
        ("01", "more text"),
        ("1.", "expected a digit"),
        ("1e", "expected a digit"),
        ("-", "expected a digit"),
        ("tru", "expected a value"),
        ("NaN", "expected a value"),
        ("'a'", "expected a value"),
        ("\"a\nb\"", "control character"),
        (r#""\x""#, "unknown escape"),
        (r#""\u12g4""#, "four hexadecimal"),
        (r#""\ud800""#, "surrogate"),
        (r#""\ud800\u0041""#, "surrogate"),
        (r#""\udc00""#, "surrogate"),
        ("\"abc", "ends inside a string"),
        ("{} {}", "more text"),
    ] {
        check(bad, Some(why));
    }
}

#[test]
fn depth_is_bounded_also_in_values_that_are_not_parsed() {
    check(&format!("{}{}", "[".repeat(64), "]".repeat(64)), None);
    check(&format!("{}{}", "[".repeat(65), "]".repeat(65)), Some("deeper than 64"));
    check(&"[".repeat(1_000_000), Some("deeper than 64"));
}

#[test]
fn nodes_are_bounded() {
    let mut scanner = Scanner::new("[1,2,3,4]", Bounds::new(64, 4));
    assert!(scanner.value(0).unwrap_err().to_string().contains("too many values"));
}

/// Each value is followed by more text: its kind, and the place where it ends.
#[test]
fn values_end_where_they_end() {
    let number = |integer| Kind::Number { integer };
    let string = |escaped| Kind::String { escaped };
    for (value, kind) in [
        ("0", number(true)),
        ("-0", number(true)),
        ("7", number(true)),
        ("-1234567890", number(true)),
        ("0.25", number(false)),
        ("-12.50", number(false)),
        ("1e5", number(false)),
        ("1E+05", number(false)),
        ("10e-12", number(false)),
        ("1.5e3", number(false)),
        ("true", Kind::True),
        ("false", Kind::False),
        ("null", Kind::Null),
        ("\"\"", string(false)),
        ("\"abcdefgh\"", string(false)),
        ("\"abcdefghijk 世界\"", string(false)),
        (r#""\"\\\/\b\f\n\r\t""#, string(true)),
        (r#""abcdefg\u00E9\uabCD!""#, string(true)),
        (r#""\ud83d\ude00\uD800\uDFFF!""#, string(true)),
        (r#""\ud7ff\ue000\udbff\udc00""#, string(true)),
        ("[]", Kind::Array),
        ("[ ]", Kind::Array),
        ("[1 ,\t[2]\r\n,{ }]", Kind::Array),
        ("{}", Kind::Object),
        ("{ }", Kind::Object),
        (r#"{ "a" : 1 , "b":{"c" :[null]} }"#, Kind::Object),
    ] {
        for rest in [",", "]", " }", "\n"] {
            let text = format!(" \t{value}{rest}");
            let mut scanner = Scanner::new(&text, Bounds::default());
            assert_eq!(scanner.value(0), Ok((kind, 2..2 + value.len())), "{text}");
            assert_eq!(scanner.position(), 2 + value.len(), "{text}");
        }
        let parsed: serde_json::Value = JsonText::new(value).unwrap().parse().unwrap();
        assert_eq!(parsed, serde_json::from_str::<serde_json::Value>(value).unwrap());
    }
}

#[test]
fn faults_have_their_place() {
    for (text, fault) in [
        ("[1,]", "expected a value at byte 3"),
        (r#"{"a":1 "b"}"#, "expected `,` or `}` at byte 7"),
        (r#"{"a":1,b}"#, "expected a key in quotes at byte 7"),
        (r#"{"a";1}"#, "expected `:` after a key at byte 4"),
        (r#"["abcdefghij\x"]"#, "unknown escape in a string at byte 12"),
        (r#""ab\u12""#, "`\\u` needs four hexadecimal digits at byte 3"),
        (r#""ab\ud83d""#, "half of a surrogate pair at byte 3"),
        (r#""ab\ud83d\ud83d""#, "half of a surrogate pair at byte 3"),
        (r#""ab\ud83dxxude00""#, "half of a surrogate pair at byte 3"),
        ("\"ab\u{1}\"", "control character in a string at byte 3"),
        ("-x", "expected a digit at byte 1"),
        ("1.x", "expected a digit at byte 2"),
        ("1e+x", "expected a digit at byte 3"),
        ("[nul]", "expected a value at byte 1"),
        ("1 2", "more text after the value at byte 2"),
    ] {
        assert_eq!(JsonText::new(text).unwrap_err().to_string(), fault, "{text}");
    }
    assert_eq!(JsonText::new(&b"\"a\xff\""[..]).unwrap_err().to_string(), "invalid UTF-8 at byte 2");
}

/// Values and keys count, wherever they are.
#[test]
fn values_and_keys_are_counted() {
    for (text, nodes) in [("1", 1), ("[]", 1), ("[1,2]", 3), (r#"{"a":1}"#, 3), (r#"{"a":{"b":[1]}}"#, 6)] {
        for (limit, expected) in [(nodes, true), (nodes - 1, false), (nodes + 1, true)] {
            let value = |s: &mut Scanner<'_>| s.value(0).map(drop);
            assert_eq!(value(&mut Scanner::new(text, Bounds::new(64, limit))).is_ok(), expected, "{text} in {limit}");
        }
    }
}

#[test]
fn members_are_found_by_their_name() {
    let text = r#"{"a":1,"\u0062":[2],"cc":"3"}"#;
    let members = Scanner::new(text, Bounds::default()).members(0).unwrap();
    let bytes = text.as_bytes();
    for (key, expected) in [("a", Some("1")), ("b", Some("[2]")), ("cc", Some("\"3\"")), ("c", None), ("\\u0062", None)]
    {
        assert_eq!(members.get(bytes, key).map(|place| &text[place]), expected, "{key}");
    }
    let all: Vec<_> = members.iter(bytes).map(|(key, place)| format!("{key}={}", &text[place])).collect();
    assert_eq!(all, ["a=1", "b=[2]", "cc=\"3\""]);
    let later = members.rebase(1);
    assert_eq!(later.get(&bytes[1..], "b").map(|place| &text[1..][place]), Some("[2]"));
}

#[test]
fn an_object_has_few_members_and_each_once() {
    let many = |count: usize| {
        let all: Vec<_> = (0..count).map(|at| format!("\"{at}\":0")).collect();
        format!("{{{}}}", all.join(","))
    };
    for (text, flaw) in [
        (many(256), None),
        (many(257), Some("more than 256 members")),
        (r#"{"a":1,"b":2,"ab":3}"#.to_owned(), None),
        (r#"{"a":1,"b":2,"a":3}"#.to_owned(), Some("`a` appears twice")),
        (r#"{"a":1,"\u0061":2}"#.to_owned(), Some("`a` appears twice")),
        (r#"{"\u0061":1,"a":2}"#.to_owned(), Some("`a` appears twice")),
        (r#"{"\u0061":1,"\u0062":2,"c":3}"#.to_owned(), None),
    ] {
        let members = Scanner::new(&text, Bounds::default()).members(0).unwrap();
        assert_eq!(members.flaw(), flaw, "{text}");
    }
    let deep = |bounds| Scanner::new(r#"{"a":[]}"#, bounds).members(0).is_ok();
    assert!(deep(Bounds::new(2, 9)) && !deep(Bounds::new(1, 9)));
}

#[test]
fn texts_are_copied_and_converted() {
    let text = JsonText::new(r#"{"a":1}"#).unwrap();
    let copy = text.detached();
    assert!(copy == text && copy.as_bytes().as_ptr() != text.as_bytes().as_ptr());
    assert_eq!(text.to_raw().get(), r#"{"a":1}"#);
    assert_eq!(JsonText::from(&text.to_raw()), text);
    assert_eq!(JsonText::empty_object().as_str(), "{}");
    assert_eq!(format!("{text:?}"), r#"{"a":1}"#);
}

/// What was checked before is passed without being checked again, and leads to the same places.
#[test]
fn known_values_are_skipped_where_they_end() {
    for value in [
        "1",
        "-0.5e+3",
        "true",
        "null",
        r#""""#,
        r#""a\\""#,
        r#""\"}],{[\\\"""#,
        "{}",
        "[]",
        r#"{"a":[{"b":"}]"},[[]]], "c" : "\u0022"}"#,
        r#"[1 , "x" ,{}]"#,
    ] {
        let text = format!(r#"{{ "first" : {value} ,"s\u0065cond":{value}, "third":"{}" }}"#, "x".repeat(200));
        let mut checked = Scanner::new(&text, Bounds::default());
        let expected = checked.members(0).unwrap();
        let places: Vec<_> = expected.places(text.as_bytes()).collect();
        let mut skipped = Scanner::new(&text, Bounds::default());
        let members = skipped.members_with(0, &mut |s, _, _| s.skip()).unwrap();
        assert_eq!(members.places(text.as_bytes()).collect::<Vec<_>>(), places, "{text}");
        assert_eq!(skipped.position(), checked.position(), "{text}");
        // A text that ends too early is a fault, never a panic.
        for end in 0..text.len() {
            let mut cut = Scanner::new(&text[..end], Bounds::default());
            let _ = cut.peek() == Some(b'{') && cut.members_with(0, &mut |s, _, _| s.skip()).is_ok();
        }
    }
}

#[test]
fn a_member_is_found_from_a_place_on() {
    let text = br#"{"_meta":{"name":"wrong","a":[1,{"b":"}"}]},"arguments":{"name":"x"},"name":"add","n\u0061me":1}"#;
    let after = text.iter().position(|byte| *byte == b']').unwrap() + 2;
    let found = |from, key| find_member(text, from, key).map(|place| std::str::from_utf8(&text[place]).unwrap());
    for from in [1, after] {
        assert_eq!(found(from, "name"), Some(r#""add""#));
        assert_eq!(found(from, "arguments"), Some(r#"{"name":"x"}"#));
        assert_eq!(found(from, "uri"), None);
    }
    assert_eq!((found(1, "_meta").is_some(), found(after, "_meta")), (true, None));
    for (text, from) in [(&b"{}"[..], 1), (b"{", 1), (b"", 0), (b"", 7), (br#"{"name""#, 1)] {
        assert_eq!(find_member(text, from, "name"), None);
    }
}
