//! A Debian package, built by `dpkg-deb`.

use std::{fs, path::Path};

use super::{
    elf::Needs,
    files::{Effort, Files, empty, gzip},
    product::{DESCRIPTION, Product, SUMMARY},
};
use crate::{
    Failure, debian,
    workspace::{capture, command},
};

const MAINTAINER: &str = "Couplet contributors <couplet-rs@users.noreply.github.com>";

/// The Debian packages of the libraries that the program may need.
const PACKAGES: [(&str, &str); 5] = [
    ("ld-linux-aarch64.so.1", "libc6"),
    ("ld-linux-x86-64.so.2", "libc6"),
    ("libc.so.6", "libc6"),
    ("libm.so.6", "libc6"),
    ("libgcc_s.so.1", "libgcc-s1"),
];

/// Why there is no package.
#[derive(Debug)]
pub(super) enum Absent {
    /// This platform or this machine has none.
    NotHere(String),
    Failed(Failure),
}

/// The name of the package, and its bytes.
pub(super) fn pack(product: &Product, scratch: &Path) -> Result<(String, Vec<u8>), Absent> {
    let not_here = |why: &str| Absent::NotHere(why.to_owned());
    let architecture = product.platform.debian.ok_or_else(|| not_here("there is no Debian for this platform"))?;
    debian::find("dpkg-deb").ok_or_else(|| not_here("`dpkg-deb` is not installed"))?;
    build(product, architecture, scratch).map_err(Absent::Failed)
}

fn build(product: &Product, architecture: &str, scratch: &Path) -> Result<(String, Vec<u8>), Failure> {
    let tree = tree(product)?;
    let root = scratch.join("deb");
    empty(&root)?;
    tree.write_into(&root)?;
    let mut control = Files::default();
    control.add("DEBIAN/control", control_file(product, architecture, &tree)?);
    control.add("DEBIAN/md5sums", md5sums(&root, &tree)?);
    control.write_into(&root)?;
    let name = format!("couplet_{}-1_{architecture}.deb", product.version);
    let path = scratch.join(&name);
    let mut build = command("dpkg-deb");
    build.env("SOURCE_DATE_EPOCH", product.time.to_string());
    build.args(match product.effort {
        Effort::Small => ["-Zxz", "-z9"],
        Effort::Quick => ["-Zgzip", "-z1"],
    });
    // The number of threads changes the compressed bytes.
    build.args(["--root-owner-group", "--threads-max=1", "--build"]).args([&root, &path]);
    capture(&mut build)?;
    Ok((name, fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?))
}

/// Everything where Debian expects it.
fn tree(product: &Product) -> Result<Files, Failure> {
    let mut tree = Files::default();
    tree.add_program("usr/bin/couplet", product.program.as_slice());
    for (name, page) in product.man.iter() {
        tree.add(format!("usr/share/man/man1/{name}.gz"), gzip(&page.bytes)?);
    }
    for (name, script) in product.completions.iter() {
        let place = match name {
            "couplet.bash" => "usr/share/bash-completion/completions/couplet",
            "_couplet" => "usr/share/zsh/vendor-completions/_couplet",
            "couplet.fish" => "usr/share/fish/vendor_completions.d/couplet.fish",
            // The other shells have no place for those of packages.
            _ => continue,
        };
        tree.add(place, script.bytes.as_slice());
    }
    let mut documents = Files::default();
    for (name, text) in product.texts.iter() {
        match name {
            "CHANGELOG.md" => documents.add("changelog.gz", gzip(&text.bytes)?),
            "README.md" => documents.add(name, text.bytes.as_slice()),
            _ if name.starts_with("LICENSE-") => {}
            _ => documents.add(format!("{name}.gz"), gzip(&text.bytes)?),
        }
    }
    documents.add("changelog.Debian.gz", gzip(changelog(product)?.as_bytes())?);
    documents.add("copyright", copyright(product)?);
    tree.add_below("usr/share/doc/couplet", &documents);
    Ok(tree)
}

fn control_file(product: &Product, architecture: &str, tree: &Files) -> Result<String, Failure> {
    let Product { version, repository, .. } = product;
    // In units of 1024 bytes, each file rounded up, as dpkg-gencontrol counts.
    let size: usize = tree.iter().map(|(_, file)| file.bytes.len().div_ceil(1024)).sum();
    let depends = depends(&product.needs)?;
    Ok(format!(
        "Package: couplet\nVersion: {version}-1\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {size}\n{depends}Section: utils\nPriority: optional\nHomepage: {repository}\n\
         Description: {SUMMARY}\n{}",
        folded(DESCRIPTION)
    ))
}

/// The packages of the libraries. The version of glibc is the one that the symbols of the program have.
fn depends(needs: &Needs) -> Result<String, Failure> {
    let mut packages = Vec::new();
    for library in &needs.libraries {
        let known = PACKAGES.iter().find(|(name, _)| name == library);
        let (_, package) = known.ok_or_else(|| format!("the program needs `{library}`: add its Debian package"))?;
        packages.push(match (*package, needs.glibc) {
            ("libc6", Some(glibc)) => format!("libc6 (>= {glibc})"),
            (package, _) => package.to_owned(),
        });
    }
    packages.sort();
    packages.dedup();
    Ok(if packages.is_empty() { String::new() } else { format!("Depends: {}\n", packages.join(", ")) })
}

/// A paragraph as lines that begin with a space and are not too long.
fn folded(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < 78 => *line += &format!(" {word}"),
            _ => lines.push(format!(" {word}")),
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn changelog(product: &Product) -> Result<String, Failure> {
    let mut date = command("date");
    let date =
        capture(date.env("LC_ALL", "C").args(["--utc", "--rfc-email", "--date", &format!("@{}", product.time)]))?;
    let version = &product.version;
    Ok(format!(
        "couplet ({version}-1) unstable; urgency=medium\n\n  * Release {version}; see changelog.gz.\n\n -- {MAINTAINER}  {date}"
    ))
}

/// The copyright file, in Debian's format. Debian has the text of the Apache license already.
fn copyright(product: &Product) -> Result<String, Failure> {
    let mit = product.texts.iter().find(|(name, _)| *name == "LICENSE-MIT").ok_or("there is no LICENSE-MIT")?.1;
    let mit = String::from_utf8_lossy(&mit.bytes);
    let holder = mit.lines().find(|line| line.starts_with("Copyright")).ok_or("LICENSE-MIT names no holder")?;
    let holder = holder.trim_start_matches("Copyright").trim_start_matches(" (c)").trim();
    let terms = mit.split_once("Permission is hereby").ok_or("LICENSE-MIT has no terms")?.1;
    let terms: String = format!("Permission is hereby{terms}")
        .lines()
        .map(|line| if line.trim().is_empty() { " .\n".to_owned() } else { format!(" {line}\n") })
        .collect();
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: couplet\n\
         Source: {}\nComment: The program contains other crates. Their licenses are in {}.gz beside this file.\n\n\
         Files: *\nCopyright: {holder}\nLicense: Expat or Apache-2.0\n\n\
         License: Expat\n{}\n\nLicense: Apache-2.0\n On Debian systems, the full text of the Apache License, version 2.0, \
         is in\n /usr/share/common-licenses/Apache-2.0.\n",
        product.repository,
        super::licenses::FILE,
        terms.trim_end(),
    ))
}

fn md5sums(root: &Path, tree: &Files) -> Result<String, Failure> {
    let mut sums = command("md5sum");
    capture(sums.current_dir(root).args(tree.iter().map(|(path, _)| path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::elf::Glibc;

    #[test]
    fn libraries_are_packages() {
        let needs = |names: &[&str]| Needs {
            libraries: names.iter().map(ToString::to_string).collect(),
            glibc: Some(Glibc { major: 2, minor: 34 }),
        };
        let depends = |names: &[&str]| depends(&needs(names));
        assert_eq!(
            depends(&["libc.so.6", "libgcc_s.so.1", "libm.so.6"]).unwrap(),
            "Depends: libc6 (>= 2.34), libgcc-s1\n"
        );
        assert_eq!(depends(&[]).unwrap(), "");
        assert!(depends(&["libssl.so.3"]).unwrap_err().contains("`libssl.so.3`"));
    }

    #[test]
    fn a_description_is_folded() {
        let text = folded(&"word ".repeat(40));
        assert!(text.lines().all(|line| line.starts_with(" word") && line.len() <= 79), "{text}");
        assert_eq!(text.split_whitespace().count(), 40);
    }
}
