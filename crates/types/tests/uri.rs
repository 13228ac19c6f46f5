//! URI templates: the RFC's own examples, matching, and URIs sent to do harm.

use std::time::{Duration, Instant};

use couplet_types::{TemplateValue, UriTemplate};

/// The variables of RFC 6570, section 3.2.
fn rfc_values() -> Vec<(&'static str, TemplateValue)> {
    let list = |items: &[&str]| TemplateValue::List(items.iter().map(|item| (*item).to_owned()).collect());
    let map = |pairs: &[(&str, &str)]| {
        TemplateValue::Map(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    };
    vec![
        ("count", list(&["one", "two", "three"])),
        ("dom", list(&["example", "com"])),
        ("dub", "me/too".into()),
        ("hello", "Hello World!".into()),
        ("half", "50%".into()),
        ("var", "value".into()),
        ("who", "fred".into()),
        ("base", "http://example.com/home/".into()),
        ("path", "/foo/bar".into()),
        ("list", list(&["red", "green", "blue"])),
        ("keys", map(&[("semi", ";"), ("dot", "."), ("comma", ",")])),
        ("v", "6".into()),
        ("x", "1024".into()),
        ("y", "768".into()),
        ("empty", "".into()),
        ("empty_keys", map(&[])),
        ("empty_list", list(&[])),
        ("with_gap", list(&["", "x"])),
        ("blank", map(&[("k", "")])),
    ]
}

#[test]
fn expansion_gives_the_examples_of_the_rfc() {
    let values = rfc_values();
    let check = |template: &str, expected: &str| {
        let parsed = UriTemplate::parse(template).unwrap_or_else(|error| panic!("{template}: {error}"));
        assert_eq!(parsed.expand(&values), expected, "{template}");
    };
    for (template, expected) in RFC_EXAMPLES {
        check(template, expected);
    }
    check("x://caf\u{e9}/{var}", "x://caf%C3%A9/value");
    check("x://%41/{undef}", "x://%41/");
}

const RFC_EXAMPLES: &[(&str, &str)] = &[
    // 3.2.1, variable expansion.
    ("{count}", "one,two,three"),
    ("{count*}", "one,two,three"),
    ("{/count}", "/one,two,three"),
    ("{/count*}", "/one/two/three"),
    ("{;count}", ";count=one,two,three"),
    ("{;count*}", ";count=one;count=two;count=three"),
    ("{?count}", "?count=one,two,three"),
    ("{?count*}", "?count=one&count=two&count=three"),
    ("{&count*}", "&count=one&count=two&count=three"),
    // 3.2.2, simple.
    ("{var}", "value"),
    ("{hello}", "Hello%20World%21"),
    ("{half}", "50%25"),
    ("O{empty}X", "OX"),
    ("O{undef}X", "OX"),
    ("{x,y}", "1024,768"),
    ("{x,hello,y}", "1024,Hello%20World%21,768"),
    ("?{x,empty}", "?1024,"),
    ("?{x,undef}", "?1024"),
    ("?{undef,y}", "?768"),
    ("{var:3}", "val"),
    ("{var:30}", "value"),
    ("{list}", "red,green,blue"),
    ("{list*}", "red,green,blue"),
    ("{keys}", "semi,%3B,dot,.,comma,%2C"),
    ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
    // 3.2.3, reserved.
    ("{+var}", "value"),
    ("{+hello}", "Hello%20World!"),
    ("{+half}", "50%25"),
    ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
    ("{+base}index", "http://example.com/home/index"),
    ("O{+empty}X", "OX"),
    ("O{+undef}X", "OX"),
    ("{+path}/here", "/foo/bar/here"),
    ("here?ref={+path}", "here?ref=/foo/bar"),
    ("up{+path}{var}/here", "up/foo/barvalue/here"),
    ("{+x,hello,y}", "1024,Hello%20World!,768"),
    ("{+path,x}/here", "/foo/bar,1024/here"),
    ("{+path:6}/here", "/foo/b/here"),
    ("{+list}", "red,green,blue"),
    ("{+list*}", "red,green,blue"),
    ("{+keys}", "semi,;,dot,.,comma,,"),
    ("{+keys*}", "semi=;,dot=.,comma=,"),
    // 3.2.4, fragment.
    ("{#var}", "#value"),
    ("{#hello}", "#Hello%20World!"),
    ("{#half}", "#50%25"),
    ("foo{#empty}", "foo#"),
    ("foo{#undef}", "foo"),
    ("{#x,hello,y}", "#1024,Hello%20World!,768"),
    ("{#path,x}/here", "#/foo/bar,1024/here"),
    ("{#path:6}/here", "#/foo/b/here"),
    ("{#list}", "#red,green,blue"),
    ("{#list*}", "#red,green,blue"),
    ("{#keys}", "#semi,;,dot,.,comma,,"),
    ("{#keys*}", "#semi=;,dot=.,comma=,"),
    // 3.2.5, label.
    ("{.who}", ".fred"),
    ("{.who,who}", ".fred.fred"),
    ("{.half,who}", ".50%25.fred"),
    ("www{.dom*}", "www.example.com"),
    ("X{.var}", "X.value"),
    ("X{.empty}", "X."),
    ("X{.undef}", "X"),
    ("X{.var:3}", "X.val"),
    ("X{.list}", "X.red,green,blue"),
    ("X{.list*}", "X.red.green.blue"),
    ("X{.keys}", "X.semi,%3B,dot,.,comma,%2C"),
    ("X{.keys*}", "X.semi=%3B.dot=..comma=%2C"),
    ("X{.empty_keys}", "X"),
    ("X{.empty_keys*}", "X"),
    ("X{.empty_list}", "X"),
    // 3.2.6, path segments.
    ("{/who}", "/fred"),
    ("{/who,who}", "/fred/fred"),
    ("{/half,who}", "/50%25/fred"),
    ("{/who,dub}", "/fred/me%2Ftoo"),
    ("{/var}", "/value"),
    ("{/var,empty}", "/value/"),
    ("{/var,undef}", "/value"),
    ("{/var,x}/here", "/value/1024/here"),
    ("{/var:1,var}", "/v/value"),
    ("{/list}", "/red,green,blue"),
    ("{/list*}", "/red/green/blue"),
    ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
    ("{/keys}", "/semi,%3B,dot,.,comma,%2C"),
    ("{/keys*}", "/semi=%3B/dot=./comma=%2C"),
    // 3.2.7, path parameters.
    ("{;who}", ";who=fred"),
    ("{;half}", ";half=50%25"),
    ("{;empty}", ";empty"),
    ("{;v,empty,who}", ";v=6;empty;who=fred"),
    ("{;v,bar,who}", ";v=6;who=fred"),
    ("{;x,y}", ";x=1024;y=768"),
    ("{;x,y,empty}", ";x=1024;y=768;empty"),
    ("{;x,y,undef}", ";x=1024;y=768"),
    ("{;hello:5}", ";hello=Hello"),
    ("{;list}", ";list=red,green,blue"),
    ("{;list*}", ";list=red;list=green;list=blue"),
    ("{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"),
    ("{;keys*}", ";semi=%3B;dot=.;comma=%2C"),
    // 3.2.8, query.
    ("{?who}", "?who=fred"),
    ("{?half}", "?half=50%25"),
    ("{?x,y}", "?x=1024&y=768"),
    ("{?x,y,empty}", "?x=1024&y=768&empty="),
    ("{?x,y,undef}", "?x=1024&y=768"),
    ("{?var:3}", "?var=val"),
    ("{?list}", "?list=red,green,blue"),
    ("{?list*}", "?list=red&list=green&list=blue"),
    ("{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"),
    ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"),
    // 3.2.9, query continuation.
    ("{&who}", "&who=fred"),
    ("{&half}", "&half=50%25"),
    ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
    ("{&x,y,empty}", "&x=1024&y=768&empty="),
    ("{&var:3}", "&var=val"),
    ("{&list*}", "&list=red&list=green&list=blue"),
    ("{&keys*}", "&semi=%3B&dot=.&comma=%2C"),
    // Appendix A: empty members.
    ("{;with_gap*}", ";with_gap;with_gap=x"),
    ("{?with_gap*}", "?with_gap=&with_gap=x"),
    ("{/with_gap*}", "//x"),
    ("{?blank*}", "?k="),
    ("{;blank*}", ";k"),
    ("{blank*}", "k="),
];

#[test]
fn what_is_not_a_template_is_refused_with_the_place() {
    let check = |template: &str, offset: usize, reason: &str| {
        let error = UriTemplate::parse(template).expect_err(template);
        assert_eq!(error.to_string(), format!("uri template, byte {offset}: {reason}"), "{template}");
        assert_eq!(error.offset(), offset);
    };
    check("a{b", 1, "`{` is never closed");
    check("a}b", 1, "'}' cannot stand in a uri template, write it percent-encoded");
    check("a b", 1, "' ' cannot stand in a uri template, write it percent-encoded");
    check("a%2", 1, "'%' cannot stand in a uri template, write it percent-encoded");
    check("{}", 1, "a variable name is missing");
    check("{?}", 2, "a variable name is missing");
    check("{a,}", 3, "a variable name is missing");
    check("{!a}", 1, "the operator `!` is reserved");
    check("{a-b}", 2, "`a-b` is not a variable name");
    check("{a..b}", 3, "`a..b` is not a variable name");
    check("{caf\u{e9}}", 4, "`caf\u{e9}` is not a variable name");
    check("{a{b}}", 2, "`a{b` is not a variable name");
    check("{a:0}", 2, "`:` needs a number from 1 to 9999");
    check("{a:10000}", 2, "`:` needs a number from 1 to 9999");
    check("{a:+1}", 2, "`:` needs a number from 1 to 9999");
    check(&"a".repeat(8 * 1024 + 1), 8 * 1024, "the template is longer than 8 KiB");
    check(&"{a}/".repeat(257), 1024, "the template has more than 256 variables");
}

#[test]
fn what_cannot_be_matched_is_refused_with_the_place() {
    let check = |template: &str, offset: usize| {
        let error = UriTemplate::parse_for_matching(template).expect_err(template);
        assert_eq!(error.offset(), offset, "{template}: {error}");
        let parsed = UriTemplate::parse(template).expect(template);
        assert_eq!(parsed.matches("xx"), None, "{template}");
    };
    check("{a}{b}", 3);
    check("{a}{+b}", 3);
    check("{+a}{b}", 4);
    check("{+a}{.b}", 4);
    check("{+a}/{+b}", 5);
    check("{/a}{/b}", 4);
    check("{.a}{/b}{.c}", 8);
    check("{a}/{a}", 4);
    check("{/a*,b}", 0);
    check("{?a}x", 0);
    check("{?a}{?b}", 0);
    check("{?a}/{b}", 0);
    check("{#a}{b}", 0);
}

#[test]
fn matching_gives_the_values() {
    let check = |template: &str, uri: &str, expected: &[(&str, &str)]| {
        let parsed = UriTemplate::parse_for_matching(template).unwrap_or_else(|error| panic!("{template}: {error}"));
        let found = parsed.matches(uri).unwrap_or_else(|| panic!("{template} should match {uri}"));
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{template} on {uri}");
    };
    check("x://a", "x://a", &[]);
    check("x://{a}", "x://1", &[("a", "1")]);
    check("x://{a}/y/{b}", "x://1/y/2", &[("a", "1"), ("b", "2")]);
    check("user://{mail}", "user://ann@example.org", &[("mail", "ann@example.org")]);
    check("x://{a}.{b}", "x://f.tar.gz", &[("a", "f"), ("b", "tar.gz")]);
    check("x://{a}.json", "x://a.json.json", &[("a", "a.json")]);
    check("x://{a}a{b}", "x://aab", &[("a", "a"), ("b", "b")]);
    check("x://{x,y}", "x://1,2", &[("x", "1"), ("y", "2")]);
    check("x://{x,y}", "x://1", &[("x", "1")]);
    check("x://{l*}", "x://1,%2C,3", &[("l", "1"), ("l", ","), ("l", "3")]);
    check("x://{l}", "x://1,2", &[("l", "1,2")]);
    check("x://{a:3}", "x://%C3%A9%C3%A9%C3%A9", &[("a", "\u{e9}\u{e9}\u{e9}")]);
    // Decoded once, and what was encoded stays in its variable.
    check("x://{a}/{b}", "x://..%2F..%2Fetc/p", &[("a", "../../etc"), ("b", "p")]);
    check("x://{a}", "x://%252F", &[("a", "%2F")]);
    check("x://{+a}", "x://%252F/%2e%2e", &[("a", "%2F/..")]);
    check("x://{+a}", "x://h/p?q#f", &[("a", "h/p?q#f")]);
    // Spanning segments.
    check("f:///{+dir}/{name}", "f:///a/b/c", &[("dir", "a/b"), ("name", "c")]);
    check("f:///{+dir}/{name}.{ext}", "f:///a.b/c.tar.gz", &[("dir", "a.b"), ("name", "c.tar"), ("ext", "gz")]);
    check("{+p}.{a}.{b}", "w.x.y.z", &[("p", "w.x"), ("a", "y"), ("b", "z")]);
    check("f:///{+path}/edit", "f:///a/edit/b/edit", &[("path", "a/edit/b")]);
    check("f://{host}/{+path}{?q}{#f}", "f://h/a/b?q=1#z", &[("host", "h"), ("path", "a/b"), ("q", "1"), ("f", "z")]);
    check("x:{/p*}", "x:/a/b%2Fc/", &[("p", "a"), ("p", "b/c"), ("p", "")]);
    check("x:{/p*}/{name}", "x:/a/b/c", &[("p", "a"), ("p", "b"), ("name", "c")]);
    check("x:{/p*}/{name}", "x:/c", &[("name", "c")]);
    check("x:{/a,b}", "x:/1/2", &[("a", "1"), ("b", "2")]);
    check("x:{/a,b}", "x:/1", &[("a", "1")]);
    check("x:{/a,b}", "x:", &[]);
    check("x:{/a}/b", "x:/bar/b", &[("a", "bar")]);
    check("x:{/a}/b/{c}", "x:/b/7", &[("c", "7")]);
    // Marks.
    check("x:{a}{.ext}{/sub}", "x:n.txt/s", &[("a", "n"), ("ext", "txt"), ("sub", "s")]);
    check("x:{a}{.ext}{/sub}", "x:n/s", &[("a", "n"), ("sub", "s")]);
    check("x:{a}{.ext}", "x:n.tar.gz", &[("a", "n"), ("ext", "tar.gz")]);
    check("x:{a}{.ext*}", "x:n.tar.gz", &[("a", "n"), ("ext", "tar"), ("ext", "gz")]);
    check("x:{a}{;p,q}", "x:n;q=2;z=0;p", &[("a", "n"), ("p", ""), ("q", "2")]);
    check("x:{a}{;p*}", "x:n;p=1;p=2", &[("a", "n"), ("p", "1"), ("p", "2")]);
    // Queries.
    check("x:s{?q,lang}", "x:s?lang=en&utm=%zz&q=a+b%26c", &[("q", "a+b&c"), ("lang", "en")]);
    check("x:s{?q,lang}", "x:s", &[]);
    check("x:s{?q,lang}", "x:s?", &[]);
    check("x:s{?q}", "x:s?q=1&q=2", &[("q", "1")]);
    check("x:s{?q*}", "x:s?q=1&q=2", &[("q", "1"), ("q", "2")]);
    check("x:s{?q}{&r}{&s}", "x:s?s=3&q=1", &[("q", "1"), ("s", "3")]);
    check("x:s?a=1&b=2{&x,y}", "x:s?a=1&b=2&y=4&x=3", &[("x", "3"), ("y", "4")]);
    check("x:s?id={id}{&x}", "x:s?id=7&x=3", &[("id", "7"), ("x", "3")]);
    check("x:s?id={id}{&x}", "x:s?id=7", &[("id", "7")]);
    check("x:s{?q}{#f}", "x:s#a?q=1", &[("f", "a?q=1")]);
    check("x:#/r{?q}", "x:#/r?q=1", &[("q", "1")]);
    check("x:{#a,b}", "x:#1,2/3", &[("a", "1"), ("b", "2/3")]);
}

#[test]
fn other_uris_do_not_match() {
    let check = |template: &str, uri: &str| {
        let parsed = UriTemplate::parse_for_matching(template).unwrap_or_else(|error| panic!("{template}: {error}"));
        assert_eq!(parsed.matches(uri), None, "{template} on {uri}");
    };
    check("x://a", "x://a/");
    check("x://a%2F", "x://a%2f");
    check("x://{a}", "x://");
    check("x://{a}", "x://b/c");
    check("x://{a}", "x://b?c");
    check("x://{a}", "x://b#c");
    check("x://{a}", "y://b");
    check("x://{a}/{b}", "x:///b");
    check("x://{a}/{b}", "x://a/");
    check("x://{+a}", "x://");
    check("x://{+a}/z", "x:///z");
    check("x://{a:2}", "x://abc");
    check("x://{a}", "x://%");
    check("x://{a}", "x://%4");
    check("x://{a}", "x://%+1");
    check("x://{a}", "x://%zz");
    check("x://{a}", "x://%ff");
    check("x://{a}", "x://%C3");
    check("x:s{?q}", "x:s?q=%ff");
    check("x:s{?q}", "x:s?q=1#f");
    check("x:s{?q}", "x:t?q=1");
    check("x:{/a}", "x:/1/2");
    check("x:{/a,b}", "x:/1/2/3");
    check("x:{/a*}", "x:/1?2");
}

#[test]
fn what_was_expanded_matches_again() {
    let odd = "a/b c?d#e&f=g%2F%;,.\u{e9}\u{1f600}\0";
    let check = |template: &str, names: &[&str]| {
        let parsed = UriTemplate::parse_for_matching(template).expect(template);
        let values: Vec<_> = names.iter().map(|name| (*name, TemplateValue::from(odd))).collect();
        let uri = parsed.expand(&values);
        let found = parsed.matches(&uri).unwrap_or_else(|| panic!("{template} should match {uri}"));
        assert_eq!(found.iter().collect::<Vec<_>>(), names.iter().map(|name| (*name, odd)).collect::<Vec<_>>());
        assert_eq!(parsed.variables().collect::<Vec<_>>(), names);
    };
    check("x://{a}", &["a"]);
    check("x://{a}/{b}/c", &["a", "b"]);
    check("x:{/a,b}", &["a", "b"]);
    check("x:s{?q,r}", &["q", "r"]);
    check("x:s?f=1{&q,r}", &["q", "r"]);
    check("x:s/{id}{;q,r}", &["id", "q", "r"]);
    check("x:s{/a}{?q}", &["a", "q"]);
    check("caf\u{e9}://{a}-{b}", &["a", "b"]);

    let list: Vec<String> = [odd, "", "z"].map(str::to_owned).to_vec();
    for template in ["x:{/l*}", "x:{?l*}", "x:s{;l*}", "x:s{?k}{&l*}"] {
        let parsed = UriTemplate::parse_for_matching(template).expect(template);
        let uri = parsed.expand(&[("l", list.clone().into()), ("k", "1".into())]);
        assert_eq!(parsed.matches(&uri).expect(template).get_all("l"), list, "{template}");
    }
}

#[test]
fn a_template_shows_itself() {
    let template = UriTemplate::parse("x://{a}{?b*,c:3}").unwrap();
    assert_eq!(template.to_string(), "x://{a}{?b*,c:3}");
    assert_eq!(template, template.clone());
    assert!(!template.is_literal());
    assert_eq!(template.variables().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert!(UriTemplate::parse("").unwrap().is_literal());
    let found = template.matches("x://1").unwrap();
    assert_eq!((found.get("a"), found.get("b"), found.get("z")), (Some("1"), None, None));
}

#[test]
fn hostile_uris_take_linear_time() {
    let filled = |unit: &str| unit.repeat(64 * 1024 / unit.len());
    let names = |count: usize| (0..count).map(|n| format!("v{n}"));
    let templates = [
        "{+p}/a/{x}".to_owned(),
        "{a}/a/{b}".to_owned(),
        "{/p*}/a/b".to_owned(),
        "{+p}aaaaaaaaab{x}".to_owned(),
        format!("x{{?{}}}", names(256).collect::<Vec<_>>().join(",")),
        format!("x{}", names(256).map(|name| format!("{{&{name}}}")).collect::<String>()),
        names(256).map(|name| format!("{{{name}}}/a")).collect(),
        format!("{{+p}}{}", names(255).map(|name| format!("/a{{{name}}}")).collect::<String>()),
        format!("{{a}}{}", "a".repeat(8000)),
        format!("{{+a}}{}{{b}}", "a".repeat(8000)),
    ];
    let uris = [filled("/a"), filled("a"), filled("/"), filled("a/a."), filled("x?v1&v2&"), filled("&"), filled("%61")];
    let start = Instant::now();
    for template in &templates {
        let template = UriTemplate::parse_for_matching(template).unwrap();
        for uri in &uris {
            let _ = template.matches(uri);
            let _ = template.matches(&format!("x?{}", &uri[2..]));
        }
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let all = UriTemplate::parse_for_matching("{+a}").unwrap();
    assert!(all.matches(&"a".repeat(64 * 1024)).is_some());
    assert!(all.matches(&"a".repeat(64 * 1024 + 1)).is_none());
}
