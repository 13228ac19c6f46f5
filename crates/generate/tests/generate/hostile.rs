//! Text of a server never becomes code.

use couplet_generate::{Definitions, Generator, Language};
use couplet_types::{Prompt, PromptArgument, RawJson, ResourceTemplate, Tool};
use serde_json::json;

use super::lexed::bare;

/// A word that only occurs in texts of the server; in identifiers it is written in another case.
const WORD: &str = "PWNED";

/// Texts that would end a comment or a string, or would be executed in one, and names that mean something.
const ATTACKS: &[&str] = &[
    "*/ export const PWNED = 1; /*",
    "\"\"\"\nPWNED = 1\n\"\"\"",
    "'''\nPWNED\n'''",
    "\"; PWNED(); //",
    "'); PWNED(); //",
    "\\\"; PWNED",
    "\\",
    "`${PWNED}`",
    "\n}\npub fn PWNED() {}\n",
    "\r#PWNED",
    "\u{2028}PWNED()",
    "\u{2029}PWNED()",
    "\u{b}PWNED \u{c}PWNED \u{85}PWNED",
    "```\nPWNED();\n```",
    "    PWNED();\n\tPWNED();",
    "-     PWNED();",
    "~~~\nPWNED();\n~~~",
    "``\n```rust\nPWNED",
    "<script>PWNED</script>",
    "[PWNED](x) [`PWNED`]",
    ">>> PWNED()",
    "// @ts-nocheck PWNED",
    "*\u{200b}/ PWNED",
    "\u{202e} PWNED \u{2066}",
    "\0PWNED",
    "}} PWNED {{",
    "#[PWNED] #![PWNED]",
    "{PWNED} %PWNED% $PWNED",
    "\"''\"\"\"''' PWNED \"",
    "\u{1f600}PWNED",
    "__proto__ constructor then __init__ self Self crate super None client new clone toString",
    "\"",
    "\"\"",
];

/// Names that mean something in one of the languages.
const NAMES: &[&str] = &[
    "__proto__",
    "constructor",
    "then",
    "__init__",
    "self",
    "Self",
    "crate",
    "super",
    "None",
    "client",
    "new",
    "clone",
    "toString",
    "",
    " ",
    "1",
    "-",
    "_",
    "__",
    "r#fn",
    "b'",
    "str",
    "list",
    "float",
    "Any",
    "type",
    "match",
    "arguments",
];

fn check(definitions: &Definitions) {
    let generator = Generator::new(definitions);
    for language in Language::ALL {
        for text in [generator.code(language), generator.tests(language, "module")] {
            assert!(!bare(&text, language).contains(WORD), "{language}: {text}");
            let is_direction = |c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            assert!(!text.contains(|c: char| c.is_control() && c != '\n' || is_direction(c)), "{language}");
        }
    }
    rust(&(generator.code(Language::Rust) + &generator.tests(Language::Rust, "module")));
}

/// Rust is parsed: only items that are generated occur, and documentation has nothing that is executed.
fn rust(code: &str) {
    let file = syn::parse_file(code).unwrap_or_else(|e| panic!("{e}: {code}"));
    for item in &file.items {
        use syn::Item::{Enum, Impl, Mod, Struct, Type, Use};
        assert!(matches!(item, Enum(_) | Impl(_) | Struct(_) | Type(_) | Use(_) | Mod(_)), "{code}");
    }
    for line in code.lines().filter_map(|line| line.trim_start().strip_prefix("///")) {
        let text = line.strip_prefix(' ').unwrap_or(line);
        assert!(!text.starts_with(' ') && !text.contains("  ") && !text.contains('\t'), "{line}");
        let block = text.trim_start_matches(|c: char| c.is_ascii_digit() || " -*+.)#>".contains(c));
        assert!(!block.starts_with("```") && !block.starts_with("~~~"), "{line}");
    }
}

#[test]
fn known_attacks() {
    for attack in ATTACKS.iter().chain(NAMES) {
        check(&everywhere(&[attack]));
    }
    check(&everywhere(&[ATTACKS, NAMES].concat()));
}

#[test]
fn random_texts() {
    const PARTS: &[&str] = &[
        "\"",
        "'",
        "`",
        "\\",
        "\n",
        "\r",
        "*/",
        "/*",
        "//",
        "#",
        "\"\"\"",
        "'''",
        "```",
        "~~~",
        "${",
        "}",
        "{",
        "[",
        "]",
        "(",
        ")",
        "<",
        ">",
        ">>>",
        " ",
        "    ",
        "\t",
        "-",
        "@",
        "!",
        ";",
        "\u{2028}",
        "\u{202e}",
        "\0",
        "é",
        "数",
        "\u{1f600}",
        "\\u0022",
        "\\x22",
        "r#\"",
        "\"#",
        "b",
        "1",
        "_",
        WORD,
        "type: ignore",
        "///",
        "\u{301}",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    for _ in 0..100 {
        let text: String = (0..=next(12)).map(|_| PARTS[next(PARTS.len())]).collect();
        check(&everywhere(&[&format!("{text} {WORD}")]));
    }
}

/// Definitions for the golden files, which the compilers of all languages check.
pub(crate) fn several() -> Definitions {
    let attacks = ["*/ \"\"\" PWNED \\ @ts-ignore", ">>> PWNED\n```\nPWNED();\n```\n    PWNED();\n# type: ignore \""];
    let mut definitions = everywhere(&attacks);
    let names = ["__proto__", "constructor", "then", "self", "Self", "None", "client", "", "1", "str", "list", "type"];
    for name in &names {
        let schema = json!({ "properties": { *name: { "type": "string" } }, "required": [name] });
        definitions.tools.push(Tool::new(*name, RawJson::from(schema)));
    }
    definitions
}

/// Definitions with each of the texts in every place.
fn everywhere(texts: &[&str]) -> Definitions {
    let template = |(at, text): (usize, &&str)| {
        ResourceTemplate::new(format!("x://{at}/{{a}}"), *text).title(*text).description(*text)
    };
    Definitions::new()
        .server(texts.concat())
        .tools(texts.iter().map(|text| tool(text)).collect())
        .prompts(texts.iter().map(|text| prompt(text)).collect())
        .templates(texts.iter().enumerate().map(template).collect())
}

fn tool(text: &str) -> Tool {
    let pointer = text.replace('~', "~0").replace('/', "~1").replace('%', "%25");
    let variant = json!({
        "title": text, "type": "object", "properties": { text: { "const": text } }, "required": [text],
    });
    let input = json!({
        "type": "object", "description": text, "title": text,
        "properties": {
            text: { "type": "string", "default": text, "description": text, "format": text },
            "e": { "enum": [text, "b"], "description": text },
            "u": { "oneOf": [variant, { "$ref": format!("#/$defs/{pointer}") }] },
        },
        "required": [text, text],
        "additionalProperties": { "const": text },
        "$defs": { text: { "type": "object", "properties": { text: { "const": text } }, "description": text } },
    });
    let output = json!({ "type": "object", "properties": { "v": { "const": text }, "n": { "enum": [text, 1] } } });
    Tool::new(text, RawJson::from(input)).title(text).description(text).output_schema(RawJson::from(output))
}

fn prompt(text: &str) -> Prompt {
    let argument = |name: String| PromptArgument::new(name).description(text);
    let arguments = vec![argument(text.to_owned()), argument(format!("{text}2"))];
    Prompt::new(text).title(text).description(text).arguments(arguments)
}
