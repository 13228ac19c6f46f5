//! `couplet generate`: files, checks and mistakes. The text of clients is tested in `couplet-generate`.

use std::fs;

use crate::kit::{Folder, couplet, golden, shop, show};

/// Runs the command; the folder is masked.
fn run(folder: &Folder, args: &[&str]) -> String {
    let output = couplet().args(args).output().unwrap();
    show(args, &output).replace(folder.file("").trim_end_matches('/'), "FOLDER")
}

#[test]
fn clients_are_written_and_checked() {
    let folder = Folder::new("generate");
    let shop = &*shop();
    let (rust, python) = (&*folder.file("shop.rs"), &*folder.file("new/my_shop.py"));
    let written = [
        run(&folder, &["generate", "rust", shop, "--out", rust, "--tests"]),
        run(&folder, &["generate", "rust", shop, "--out", rust, "--tests", "--check"]),
        run(&folder, &["generate", "python", shop, "--out", python, "--tests", "--json"]),
        run(&folder, &["generate", "typescript", shop, "--out", &folder.file("."), "--name", "Shop"]),
    ];
    let text = fs::read_to_string(rust).unwrap();
    assert!(text.contains("#[cfg(test)]") && text.ends_with("}\n"));
    // Only line ends differ, then more than that.
    fs::write(rust, text.replace('\n', "\r\n")).unwrap();
    let same = run(&folder, &["generate", "rust", shop, "--out", rust, "--tests", "--check"]);
    fs::write(rust, text.replace("pub fn", "fn")).unwrap();
    let mistakes = [
        same,
        run(&folder, &["generate", "rust", shop, "--out", rust, "--tests", "--check"]),
        run(&folder, &["generate", "rust", shop, "--out", &folder.file("missing.rs"), "--check"]),
        run(&folder, &["generate", "rust", shop, "--check"]),
        run(&folder, &["generate", "typescript", shop, "--tests"]),
        run(&folder, &["generate", "python", shop, "--tests", "--out", &folder.file("my-shop.py")]),
        run(&folder, &["generate", "cobol", shop]),
    ];
    golden("generate", &[&written[..], &mistakes[..]].concat().join("\n"));
}

#[test]
fn a_client_is_printed() {
    let output = couplet().args(["generate", "ts", &shop(), "--name", "Shop"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.starts_with("// @generated"), "{text}");
    assert!(text.contains("export class Shop {") && text.contains("async forecast("), "{text}");
}
