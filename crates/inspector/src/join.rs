//! The modules of the page as one script.
//!
//! In the repository the page is plain modules, which a browser loads one after the other: sixty requests, each of them
//! known only after the one before. Here each module becomes a function that returns what the module exports, in the
//! order in which they need each other, without the lines that are only comments:
//!
//! ```js
//! const $store = (() => {
//! class Signal { … }
//! return { Signal };
//! })();
//! const $settings = (() => {
//! const { Signal } = $store;
//! …
//! ```
//!
//! This is no compiler. It knows the two forms that the page uses, each at the beginning of a line:
//! `import { a, b } from "./name.js";` and `export` before a `function`, `class` or `const`. A test finds others.

/// Joins the modules that a module imports, directly or not, and that module itself. `source` has the texts.
pub(crate) fn modules<'a>(main: &'a str, source: &impl Fn(&str) -> &'a str) -> String {
    order(main, source).iter().map(|name| function(name, source(name))).collect()
}

/// Lists a module after those that it imports, directly or not.
fn order<'a>(main: &'a str, source: &impl Fn(&str) -> &'a str) -> Vec<&'a str> {
    fn visit<'a>(name: &'a str, source: &impl Fn(&str) -> &'a str, seen: &mut Vec<&'a str>, order: &mut Vec<&'a str>) {
        if seen.contains(&name) {
            return;
        }
        seen.push(name);
        for import in source(name).lines().filter_map(Import::parse) {
            visit(import.module, source, seen, order);
        }
        order.push(name);
    }
    let mut order = Vec::new();
    visit(main, source, &mut Vec::new(), &mut order);
    order
}

/// A module as a function that is called at once.
fn function(name: &str, source: &str) -> String {
    let mut body = String::new();
    let mut exports = Vec::new();
    let mut in_comment = false;
    for line in source.lines() {
        if is_comment(line, &mut in_comment) {
            continue;
        }
        if let Some(import) = Import::parse(line) {
            body += &format!("const {{ {} }} = {};", import.names, variable(import.module));
        } else if let Some((declaration, name)) = exported(line) {
            body += declaration;
            exports.push(name);
        } else {
            body += line;
        }
        body.push('\n');
    }
    format!("// {name}\nconst {} = (() => {{\n{body}return {{ {} }};\n}})();\n", variable(name), exports.join(", "))
}

/// Whether a line is nothing but a comment, or within one of several lines.
fn is_comment(line: &str, inside: &mut bool) -> bool {
    let line = line.trim();
    if *inside {
        *inside = !line.ends_with("*/");
        return true;
    }
    *inside = line.starts_with("/*") && !line.contains("*/");
    // A comment before an expression is a type of it.
    *inside || line.starts_with("//") || (line.starts_with("/*") && line.find("*/") == Some(line.len().wrapping_sub(2)))
}

/// The variable that has the exports of a module.
fn variable(module: &str) -> String {
    format!("${}", module.trim_end_matches(".js").replace('-', "_"))
}

/// A line that imports names of a module.
#[derive(Debug, PartialEq, Eq)]
struct Import<'a> {
    names: &'a str,
    module: &'a str,
}

impl<'a> Import<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (names, module) = line.strip_prefix("import { ")?.split_once(" } from \"./")?;
        Some(Self { names, module: module.strip_suffix("\";")? })
    }
}

/// The declaration of a line that exports it, and its name.
fn exported(line: &str) -> Option<(&str, &str)> {
    let declaration = line.strip_prefix("export ")?;
    let kinds = ["async function* ", "async function ", "function ", "class ", "const "];
    let rest = kinds.iter().find_map(|kind| declaration.strip_prefix(kind))?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some((declaration, &rest[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assets::{FILES, text};

    #[test]
    fn modules_become_functions_in_the_order_of_their_imports() {
        let source = |name: &str| match name {
            "main.js" => "// The page.\nimport { a, go } from \"./a-b.js\";\ngo(a);\n",
            "a-b.js" => "import { c } from \"./c.js\";\nexport const a = c;\nexport async function go(x) {}\n",
            "c.js" => "export class c {}\n",
            _ => "",
        };
        let expected = "// c.js\nconst $c = (() => {\nclass c {}\nreturn { c };\n})();\n\
            // a-b.js\nconst $a_b = (() => {\nconst { c } = $c;\nconst a = c;\nasync function go(x) {}\n\
            return { a, go };\n})();\n\
            // main.js\nconst $main = (() => {\nconst { a, go } = $a_b;\ngo(a);\nreturn {  };\n})();\n";
        assert_eq!(modules("main.js", &source), expected);
    }

    #[test]
    fn only_lines_that_are_comments_are_left_out() {
        let source = "/** A type. @param {X} x */\nconst a = 1;\n\t// why\n\t/** @type {Y} */ (a).b();\n/**\n * Long.\n */\n\
            const c = 2; // kept\nconst d = `/* ${a} */`;\n";
        let expected = "const a = 1;\n\t/** @type {Y} */ (a).b();\nconst c = 2; // kept\nconst d = `/* ${a} */`;\n";
        assert_eq!(
            function("x.js", source),
            format!("// x.js\nconst $x = (() => {{\n{expected}return {{  }};\n}})();\n")
        );
    }

    /// The exports of a module of the page.
    fn exports(module: &str) -> Vec<&'static str> {
        text(module).lines().filter_map(exported).map(|(_, name)| name).collect()
    }

    #[test]
    fn the_page_uses_only_the_known_forms() {
        for (name, _) in FILES.iter().filter(|(name, _)| name.ends_with(".js")) {
            for line in text(name).lines() {
                if line.starts_with("import") {
                    let import = Import::parse(line).unwrap_or_else(|| panic!("{name}: `{line}`"));
                    for wanted in import.names.split(", ") {
                        assert!(
                            exports(import.module).contains(&wanted),
                            "{name}: `{}` has no {wanted}",
                            import.module
                        );
                    }
                }
                let is_known = !line.starts_with("export") || exported(line).is_some_and(|(_, name)| !name.is_empty());
                assert!(is_known, "{name}: `{line}`");
                assert!(!line.contains("import(") && !line.contains("import.meta"), "{name}: `{line}`");
            }
        }
    }

    #[test]
    fn each_module_of_the_page_is_joined_after_its_imports() {
        let order = order("main.js", &text);
        for (at, name) in order.iter().enumerate() {
            for import in text(name).lines().filter_map(Import::parse) {
                let found = order.iter().position(|other| *other == import.module);
                assert!(found.is_some_and(|found| found < at), "`{name}` and `{}` import each other", import.module);
            }
        }
        let unused: Vec<_> = FILES.iter().filter(|(name, _)| name.ends_with(".js") && !order.contains(name)).collect();
        assert!(unused.is_empty(), "no module imports {unused:?}");
    }
}
