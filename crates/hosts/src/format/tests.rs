//! Inserts and removes one entry, in texts as users write them.

use super::*;

fn path(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|&key| key.to_owned()).collect()
}

fn entry() -> Node {
    let env = Node::table([("A B".to_owned(), Node::text("x\"y: #"))]);
    let members =
        [("command", Node::text("/bin/x")), ("args", Node::list(["-a".to_owned(), "b c".to_owned()])), ("env", env)];
    Node::table(members.map(|(key, value)| (key.to_owned(), value)))
}

/// Inserts the entry, compares, removes it, and expects the original text.
#[track_caller]
fn check(format: Format, keys: &[&str], text: &str, expected: &str, back: &str) {
    let path = path(keys);
    let with = format.set(text, &path, &entry()).unwrap_or_else(|e| panic!("{e:?} in\n{text}"));
    assert_eq!(with, expected, "from\n{text}");
    assert_eq!(format.unset(&with, &path).unwrap().as_deref(), Some(back), "from\n{with}");
}

const JSON_ENTRY: &str = "\"new\": {\n      \"command\": \"/bin/x\",\n      \"args\": [\"-a\", \"b c\"],\n      \"env\": {\n        \"A B\": \"x\\\"y: #\"\n      }\n    }";

#[test]
fn json_is_edited_in_place() {
    // `@` is where the entry is to come, with what comes with it in brackets.
    for text in [
        "{\n  \"s\": {\n    \"a\": {}[,]\n    @\n  }\n}\n",
        "{\n  \"s\": {\n    \"a\": {}[,] // about a\n    @\n  },\n  \"z\": 1\n}",
        "{\n  \"s\": {\n    \"a\": {}, // about a\n    @[,]\n    // the end\n  },\n}",
        "{\n  \"s\": {\n\n    \"a\": {}[,] /* a */ /* b */\n    @\n\n  }\n}",
        "{\n  // before\n  \"s\": { // why\n    \"a\": [1, 2][,]\n    @\n    // after\n  }\n}",
        "{\n  \"s\": {\n    // nothing yet\n    @\n  }\n}",
        "{\n  \"s\": { /* nothing yet */\n    @\n\n  }\n}",
        "\u{feff}{\n  \"s\": {\n    \"a\": {\"é\": \"ü\"}[,]\n    @\n  }\n}\n",
    ] {
        let before = text.replace("\n    @[,]", "").replace("\n    @", "").replace("[,]", "");
        let after = text.replace('@', JSON_ENTRY).replace("[,]", ",");
        check(Format::Jsonc, &["s", "new"], &before, &after, &before);
        // The same with other ends of lines.
        let [before, after] = [before, after].map(|text| text.replace('\n', "\r\n"));
        check(Format::Json, &["s", "new"], &before, &after, &before);
    }
}

#[test]
fn json_keeps_how_it_is_laid_out() {
    let flat = "\"new\": {\"command\": \"/bin/x\", \"args\": [\"-a\", \"b c\"], \"env\": {\"A B\": \"x\\\"y: #\"}}";
    let tabs = JSON_ENTRY.replace("        ", "\t\t\t\t").replace("      ", "\t\t\t").replace("    ", "\t\t");
    for (before, after) in [
        ("{\"s\": {\"a\": 1}}".to_owned(), format!("{{\"s\": {{\"a\": 1, {flat}}}}}")),
        ("{\"s\": {}}\n".to_owned(), format!("{{\"s\": {{{flat}}}}}\n")),
        (
            "{\n\t\"s\": {\n\t\t\"a\": 1\n\t}\n}".to_owned(),
            format!("{{\n\t\"s\": {{\n\t\t\"a\": 1,\n\t\t{tabs}\n\t}}\n}}"),
        ),
        ("{\n  \"s\": {}\n}\n".to_owned(), format!("{{\n  \"s\": {{\n    {JSON_ENTRY}\n  }}\n}}\n")),
    ] {
        check(Format::Json, &["s", "new"], &before, &after, &before);
    }
}

#[test]
fn json_without_the_table_gets_it() {
    let whole = format!("{{\n  \"s\": {{\n    {JSON_ENTRY}\n  }}\n}}\n");
    for (before, after, back) in [
        ("".to_owned(), whole.clone(), "{\n  \"s\": {}\n}\n".to_owned()),
        ("// mine\n".to_owned(), format!("// mine\n{whole}"), "// mine\n{\n  \"s\": {}\n}\n".to_owned()),
        ("{}".to_owned(), whole.trim_end().to_owned(), "{\n  \"s\": {}\n}".to_owned()),
        (
            "{\n  \"z\": 1\n}\n".to_owned(),
            format!("{{\n  \"z\": 1,\n  \"s\": {{\n    {JSON_ENTRY}\n  }}\n}}\n"),
            "{\n  \"z\": 1,\n  \"s\": {}\n}\n".to_owned(),
        ),
    ] {
        check(Format::Jsonc, &["s", "new"], &before, &after, &back);
    }
    let deep = Format::Json.set("{\"p\": {\"/x\": {\"y\": 1}}}", &path(&["p", "/x", "s", "new"]), &Node::text("e"));
    assert_eq!(deep.unwrap(), "{\"p\": {\"/x\": {\"y\": 1, \"s\": {\"new\": \"e\"}}}}");
}

#[test]
fn json_entries_are_taken_out_wherever_they_are() {
    for (before, after) in [
        ("{\"s\": {\"new\": 1, \"b\": 2}}", "{\"s\": {\"b\": 2}}"),
        ("{\"s\": {\"a\": 1, \"new\": 1, \"b\": 2}}", "{\"s\": {\"a\": 1, \"b\": 2}}"),
        ("{\"s\": { \"new\" : 1 }}", "{\"s\": {}}"),
        ("{\"s\": {\n  \"new\": 1, // about new\n  \"b\": 2\n}}", "{\"s\": {\n  \"b\": 2\n}}"),
        ("{\"s\": {\n  // about new\n  \"new\": 1\n}}", "{\"s\": {\n  // about new\n}}"),
        ("{\"s\": {\n  // about new\n  \"new\": 1}}", "{\"s\": {\n  // about new\n}}"),
        ("{\"s\": { \"a\": 1, // c\n\"new\": 1, \"b\": 2}}", "{\"s\": { \"a\": 1, // c\n \"b\": 2}}"),
        ("{\"s\": {\n  \"a\": 1, // about a\n  \"new\": 1\n}}", "{\"s\": {\n  \"a\": 1 // about a\n}}"),
        ("{\"s\": {\n  \"a\": 1\n  , \"new\": {\"x\": 1} /* n */\n}}", "{\"s\": {\n  \"a\": 1\n  \n}}"),
    ] {
        assert_eq!(Format::Jsonc.unset(before, &path(&["s", "new"])).unwrap().as_deref(), Some(after), "{before}");
    }
    assert_eq!(Format::Json.unset("{\"s\": {}}", &path(&["s", "new"])), Ok(None));
    assert_eq!(Format::Json.unset("", &path(&["s", "new"])), Ok(None));
}

const TOML_ENTRY: &str = "[s.new]\ncommand = \"/bin/x\"\nargs = [\"-a\", \"b c\"]\nenv = { \"A B\" = 'x\"y: #' }";

#[test]
fn toml_is_edited_in_place() {
    for text in [
        "",
        "x = 1\n",
        "x = 1",
        "x = 1\n\n",
        "# mine\nx = 1 # odd\n\n[s.a]\ncommand = \"a\" # why\n\n# about z\n[z]\ny = 2",
        "[s]\na = { command = \"a\" }\nb.command = \"b\"\n[z]\n",
        "\u{feff}[s.a]\ncommand = \"a\"\n",
        "s.a.command = \"é\"\n",
        "[[z]]\na = 1\n[[z]]\na = 1979-05-27\n# end",
    ] {
        let (before, body) = (text, text.trim_start_matches('\u{feff}'));
        let gap = if body.is_empty() {
            ""
        } else if body.ends_with('\n') {
            "\n"
        } else {
            "\n\n"
        };
        let end = if body.is_empty() || body.ends_with('\n') { "\n" } else { "" };
        let after = format!("{before}{gap}{TOML_ENTRY}{end}");
        check(Format::Toml, &["s", "new"], before, &after, before);
        let after = Format::Toml.set(&before.replace('\n', "\r\n"), &path(&["s", "new"]), &entry()).unwrap();
        let back = Format::Toml.unset(&after, &path(&["s", "new"])).unwrap().unwrap();
        assert_eq!(back, before.replace('\n', "\r\n"));
        assert!(
            before.len() < 2 || after.matches('\n').count() == after.matches("\r\n").count() || !before.contains('\n')
        );
    }
    let inline = "command = \"/bin/x\", args = [\"-a\", \"b c\"], env = { \"A B\" = 'x\"y: #' }";
    for (before, after) in [
        ("s = { a = { b = 1 } } # c\n", format!("s = {{ a = {{ b = 1 }}, new = {{ {inline} }} }} # c\n")),
        ("s = {}\n", format!("s = {{new = {{ {inline} }}}}\n")),
    ] {
        check(Format::Toml, &["s", "new"], before, &after, before);
    }
}

#[test]
fn toml_entries_are_taken_out_however_they_are_written() {
    for (before, after) in [
        ("[s.new]\na = 1\n\n[s.new.env]\nb = 2\n\n[s.b]\nc = 3\n", "\n[s.b]\nc = 3\n"),
        (
            "[s.a]\nb = 1\n\n[s.new]\na = 1\n# in\nb = [\n  1,\n]\n# about b\n[s.b]\n",
            "[s.a]\nb = 1\n# about b\n[s.b]\n",
        ),
        ("[s]\nnew = { a = 1 } # c\nb = 2\n", "[s]\nb = 2\n"),
        ("[s]\nnew.a = 1\nnew.b.c = 2\nb = 2\n", "[s]\nb = 2\n"),
        ("s.new.a = 1\ns.b.a = 2\n", "s.b.a = 2\n"),
        ("s = { new = 1, b = 2 }", "s = { b = 2 }"),
        ("[s.new]\na = 1\n[[s.new.tools]]\nb = 1\n[z]\n[[s.new.tools]]\nb = 2\n", "[z]\n"),
        ("[s.new.env]\na = 1\n[\"s\".'b']", "[\"s\".'b']"),
    ] {
        assert_eq!(Format::Toml.unset(before, &path(&["s", "new"])).unwrap().as_deref(), Some(after), "{before}");
    }
}

const YAML_ENTRY: &str =
    "  new:\n    command: /bin/x\n    args:\n      - \"-a\"\n      - \"b c\"\n    env:\n      \"A B\": \"x\\\"y: #\"";

#[test]
fn yaml_is_edited_in_place() {
    for text in [
        "s:\n  a:\n    b: 1 # why\n@\n",
        "s:\n  a:\n    b: 1 # why\n@",
        "# mine\nx: &x [1, 2]\ns: # the servers\n  # first\n  a: {b: *x}\n@\n\n# about z\nz: |\n  text\n   more\n",
        "s:\n  a:\n    b: >-\n      folded\n      text\n@\nz: 1\n",
        "s:\n  a:\n    b:\n    - 1\n    - c: 2\n@\nz: !tag 1\n",
        "s:\n  a:\n@\n",
        "---\ns:\n  \"a\":\n    é: ü\n@\n...\n",
        "s: {}[cut]\n@\nz: 1\n",
    ] {
        let before = text.replace("[cut]", "").replace("\n@", "");
        let after = text.replace(" {}[cut]", "").replace('@', YAML_ENTRY);
        check(Format::Yaml, &["s", "new"], &before, &after, &before);
        let [before, after] = [before, after].map(|text| text.replace('\n', "\r\n"));
        check(Format::Yaml, &["s", "new"], &before, &after, &before);
    }
    for (before, after, back) in [
        ("", format!("s:\n{YAML_ENTRY}\n"), "s: {}\n"),
        ("# mine\n", format!("# mine\ns:\n{YAML_ENTRY}\n"), "# mine\ns: {}\n"),
        ("z: 1", format!("z: 1\ns:\n{YAML_ENTRY}"), "z: 1\ns: {}"),
        ("s: # none\nz: 1\n", format!("s: # none\n{YAML_ENTRY}\nz: 1\n"), "s: {} # none\nz: 1\n"),
        (
            "s: {a: 1}\n",
            "s: {a: 1, \"new\": {command: /bin/x, args: [\"-a\", \"b c\"], env: {\"A B\": \"x\\\"y: #\"}}}\n"
                .to_owned(),
            "s: {a: 1}\n",
        ),
    ] {
        check(Format::Yaml, &["s", "new"], before, &after, back);
    }
}

#[test]
fn values_are_replaced_where_they_are() {
    for (format, before, after) in [
        (
            Format::Json,
            "{\n  \"s\": {\n    \"new\": 1, // a\n    \"b\": 2\n  }\n}",
            format!("{{\n  \"s\": {{\n    {JSON_ENTRY}, // a\n    \"b\": 2\n  }}\n}}"),
        ),
        (Format::Toml, "[s.new]\na = 1\n\n[s.new.env]\nb = 1\n\n[z]\n", format!("{TOML_ENTRY}\n\n[z]\n")),
        (Format::Toml, "[s.new]\na = 1", TOML_ENTRY.to_owned()),
        (Format::Yaml, "s:\n  new:\n    a: 1\n  b: 2\n", format!("s:\n{YAML_ENTRY}\n  b: 2\n")),
        (Format::Yaml, "s:\n  new: 1", format!("s:\n{YAML_ENTRY}")),
    ] {
        assert_eq!(format.set(before, &path(&["s", "new"]), &entry()).unwrap(), after, "{before}");
    }
}

#[test]
fn what_is_odd_is_refused() {
    let deep = format!("{{\"s\": {}{}}}", "[".repeat(2000), "]".repeat(2000));
    for (format, text, expected) in [
        (Format::Json, "{\"s\": {}", "Broken"),
        (Format::Json, "{\"s\": {'a': 1}}", "Broken"),
        (Format::Json, &deep, "Broken"),
        (Format::Json, "[1]", "the file is a list, not a table"),
        (Format::Json, "{\"s\": null}", "`s` is null, not a table"),
        (Format::Json, "{\"s\": {},\n\"s\": {}}", "`s` occurs twice, on the lines 1 and 2"),
        (Format::Json, "{\"s\": {\"new\": 1, \"new\": 2}}", "`new` occurs twice"),
        (Format::Toml, "s = [", "Broken"),
        (Format::Toml, "s = 1", "`s` is a number, not a table"),
        (Format::Toml, "[s.new]\na = 1\n[s.new]\n", "Broken"),
        (Format::Toml, "[[s]]\n", "`s` is a list, not a table"),
        (Format::Toml, "s.new.a = 1", "Unsafe"),
        // Lines that belong to a block scalar would end up behind the entry.
        (Format::Yaml, "s:\n  a: |+\n    text\n\nz: 1\n", "Unsafe"),
        (Format::Yaml, "s: [", "Broken"),
        (Format::Yaml, "s: 1", "`s` is a number, not a table"),
        (Format::Yaml, "- a", "the file is a list, not a table"),
        (Format::Yaml, "s: {}\n---\ns: {}\n", "Broken"),
        (Format::Yaml, "s: {}\ns: {}\n", "`s` occurs twice, on the lines 1 and 2"),
        (Format::Yaml, "x: &a\n  b: 1\ns: *a\n", "`s` is something else, not a table"),
    ] {
        let refused = format.set(text, &path(&["s", "new"]), &entry()).unwrap_err();
        assert!(format!("{refused:?}").contains(expected), "{text:.60}: {refused:?}");
    }
}

#[test]
fn what_is_broken_is_shown_where_it_is() {
    for (format, text, at) in [
        (Format::Json, "{\n  \"a\": 1\n  \"b\": 2\n}", (2, 9)),
        (Format::Toml, "a = 1\nb = = 2\n", (2, 5)),
        (Format::Yaml, "a: 1\nb: [1, 2\n", (2, 4)),
    ] {
        assert_eq!(format.parse(text).unwrap_err().at, Some(at), "{text}");
    }
}

/// Numbers that look random, and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }

    /// Random white space and comments between two tokens.
    fn trivia(&mut self) -> String {
        let pieces =
            ["", "", " ", "\n", "\n\n    ", "\t", "\r\n  ", " /* c, } */ ", "/*\n*/", " // c \"{,\n", "//\n  "];
        (0..self.roll(3)).map(|_| self.pick(&pieces)).collect()
    }

    fn json(&mut self, depth: usize, fewest: usize) -> String {
        if depth == 0 {
            return self
                .pick(&["1", "-2.5e3", "true", "null", "\"\"", "\"a\\\"}, // b\"", "[]", "{}", "[1, /* x */ 2,]"])
                .to_owned();
        }
        let mut text = "{".to_owned();
        let count = fewest + self.roll(3);
        for index in 0..count {
            let (a, b, c, d) = (self.trivia(), self.trivia(), self.trivia(), self.trivia());
            let depth = self.roll(depth);
            let value = self.json(depth, 0);
            let comma = if index + 1 < count || self.roll(3) == 0 { "," } else { "" };
            text += &format!("{a}\"k{index}\"{b}:{c}{value}{d}{comma}");
        }
        text + &self.trivia() + "}"
    }
}

#[test]
fn odd_json_comes_back_too() {
    let mut dice = Dice(42);
    let path = path(&["s", "new"]);
    let mut refused = 0;
    for _ in 0..3_000 {
        let (before, inner, after) = (dice.json(2, 1), dice.json(2, 1), dice.json(1, 1));
        let text = format!(
            "{}{{\"a\": {before}, \"s\":{}{inner}, \"z\": {after}}}{}",
            dice.trivia(),
            dice.trivia(),
            dice.trivia()
        );
        match Format::Jsonc.set(&text, &path, &entry()) {
            Ok(with) => {
                assert_eq!(Format::Jsonc.unset(&with, &path).unwrap().as_deref(), Some(text.as_str()), "{with}");
            }
            Err(_) => refused += 1,
        }
        // Removing an existing entry removes nothing else.
        let first = path_of("s", "k0");
        let without = Format::Jsonc.unset(&text, &first).unwrap_or_else(|e| panic!("{e:?} {text}")).unwrap();
        assert!(is_within(&without, &text), "{text}\n{without}");
    }
    assert_eq!(refused, 0);
}

#[test]
fn odd_toml_comes_back_too() {
    let mut dice = Dice(7);
    let path = path(&["s", "new"]);
    for _ in 0..2_000 {
        let newline = dice.pick(&["\n", "\r\n"]);
        let mut lines = vec![];
        for index in 0..dice.roll(8) {
            let line = match dice.roll(6) {
                0 => dice.pick(&["", "  ", "# c [x]", "# a = 1"]).to_owned(),
                1 => format!("[t{index}.\"a b\"] # c"),
                2 => format!("[s.e{index}]"),
                3 => format!("[[l{index}]]"),
                4 => format!("k{index} = [{newline}  1, # c{newline}]"),
                _ => format!("d{index}.e = '''a{newline}[b]''' # c"),
            };
            lines.push(line);
        }
        let text = lines.join(newline) + dice.pick(&["", newline]);
        let with = Format::Toml.set(&text, &path, &entry()).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        assert_eq!(Format::Toml.unset(&with, &path).unwrap().as_deref(), Some(text.as_str()), "{with}");
    }
}

#[test]
fn odd_yaml_comes_back_too() {
    let mut dice = Dice(1);
    let path = path(&["s", "new"]);
    for _ in 0..2_000 {
        let newline = dice.pick(&["\n", "\r\n"]);
        let values = [
            "1",
            "a b # c",
            "\"a: b\"",
            "|\n      x\n\n      # y",
            ">-\n      x\n      y",
            "[1, {a: 2}]",
            "\n      - 1\n      # c\n      - a: 2\n        b: 3",
            "",
            "~ # c",
            "'it''s'",
            "&x 1",
            "!t 1",
        ];
        let mut text = dice.pick(&["", "# c\n", "---\n", "a: 1\n\n"]).to_owned()
            + "s:"
            + dice.pick(&["\n", " # c\n", "\n\n  # c\n"]);
        for index in 0..=dice.roll(3) {
            text += &format!("  k{index}:{}", dice.pick(&["\n", " # c\n"]));
            for inner in 0..=dice.roll(2) {
                text += &format!("    m{inner}: {}\n", dice.pick(&values));
            }
            text += dice.pick(&["", "", "\n", "  # c\n", "# c\n"]);
        }
        text += dice.pick(&["", "z: 1\n", "\n# c\nz:\n  - 1\n", "..."]);
        let text = text.replace('\n', newline);
        let text = if dice.roll(3) == 0 { text.trim_end().to_owned() } else { text };
        let with = Format::Yaml.set(&text, &path, &entry()).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        assert_eq!(Format::Yaml.unset(&with, &path).unwrap().as_deref(), Some(text.as_str()), "{with}");
    }
}

fn path_of(table: &str, name: &str) -> Vec<String> {
    path(&[table, name])
}

/// Whether one text is the other with parts removed.
fn is_within(inner: &str, outer: &str) -> bool {
    let mut rest = outer.chars();
    inner.chars().all(|c| rest.any(|other| other == c))
}
