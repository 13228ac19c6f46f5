//! The platforms that packages are made for, and the names that each kind of package has for them.
//!
//! The matrix of the release workflow and the metadata for cargo-binstall are compared with this table.

use super::elf::Glibc;
use crate::{
    Failure,
    workspace::{capture, command},
};

/// A platform under its names.
#[derive(Debug)]
pub(crate) struct Platform {
    /// Rust's name.
    pub(crate) target: &'static str,
    /// `process.platform` and `process.arch` of Node.js.
    pub(crate) node: (&'static str, &'static str),
    /// The platform tag of a wheel; `{glibc}` is the version that the program needs.
    wheel: &'static str,
    /// The architecture of a Debian package.
    pub(crate) debian: Option<&'static str>,
}

/// Each one has a row in the matrix of `.github/workflows/release.yml`.
pub(crate) const PLATFORMS: &[Platform] = &[
    Platform {
        target: "x86_64-unknown-linux-gnu",
        node: ("linux", "x64"),
        wheel: "manylinux_{glibc}_x86_64",
        debian: Some("amd64"),
    },
    Platform {
        target: "aarch64-unknown-linux-gnu",
        node: ("linux", "arm64"),
        wheel: "manylinux_{glibc}_aarch64",
        debian: Some("arm64"),
    },
    // The oldest macOS that Rust itself supports.
    Platform { target: "aarch64-apple-darwin", node: ("darwin", "arm64"), wheel: "macosx_11_0_arm64", debian: None },
    Platform { target: "x86_64-apple-darwin", node: ("darwin", "x64"), wheel: "macosx_10_12_x86_64", debian: None },
    Platform { target: "x86_64-pc-windows-msvc", node: ("win32", "x64"), wheel: "win_amd64", debian: None },
];

impl Platform {
    /// The platform of this machine, which is the one that is built for.
    pub(super) fn host() -> Result<&'static Self, Failure> {
        let version = capture(command("rustc").arg("-vV"))?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        let host = host.ok_or("`rustc -vV` names no host")?;
        let known = PLATFORMS.iter().find(|platform| platform.target == host);
        known.ok_or_else(|| format!("no packages are made for `{host}`: add a row to `dist/platform.rs`"))
    }

    pub(super) fn is_windows(&self) -> bool {
        self.node.0 == "win32"
    }

    /// The file name of the program.
    pub(super) fn program(&self) -> &'static str {
        if self.is_windows() { "couplet.exe" } else { "couplet" }
    }

    /// The folder in the archive, which is also the archive's name without its ending.
    pub(super) fn folder(&self, version: &str) -> String {
        format!("couplet-{version}-{}", self.target)
    }

    /// The file name of the archive.
    pub(super) fn archive(&self, version: &str) -> String {
        format!("{}.{}", self.folder(version), if self.is_windows() { "zip" } else { "tar.gz" })
    }

    /// The npm package that has the program.
    pub(super) fn npm(&self) -> String {
        format!("@couplet/cli-{}-{}", self.node.0, self.node.1)
    }

    /// The platform tag of the wheel. Only Linux has a glibc.
    pub(super) fn wheel(&self, glibc: Option<Glibc>) -> Result<String, Failure> {
        match (self.wheel.contains("{glibc}"), glibc) {
            (false, _) => Ok(self.wheel.to_owned()),
            (true, Some(Glibc { major, minor })) => Ok(self.wheel.replace("{glibc}", &format!("{major}_{minor}"))),
            (true, None) => Err("the program needs no version of glibc, so the wheel has no tag".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::workspace;

    #[test]
    fn each_kind_of_package_has_its_name_for_a_platform() {
        let glibc = Some(Glibc { major: 2, minor: 34 });
        let names: Vec<_> = PLATFORMS.iter().map(|p| (p.archive("1.2.3"), p.npm(), p.wheel(glibc).unwrap())).collect();
        let expected = [
            ("couplet-1.2.3-x86_64-unknown-linux-gnu.tar.gz", "@couplet/cli-linux-x64", "manylinux_2_34_x86_64"),
            ("couplet-1.2.3-aarch64-unknown-linux-gnu.tar.gz", "@couplet/cli-linux-arm64", "manylinux_2_34_aarch64"),
            ("couplet-1.2.3-aarch64-apple-darwin.tar.gz", "@couplet/cli-darwin-arm64", "macosx_11_0_arm64"),
            ("couplet-1.2.3-x86_64-apple-darwin.tar.gz", "@couplet/cli-darwin-x64", "macosx_10_12_x86_64"),
            ("couplet-1.2.3-x86_64-pc-windows-msvc.zip", "@couplet/cli-win32-x64", "win_amd64"),
        ];
        assert_eq!(names, expected.map(|(a, n, w)| (a.to_owned(), n.to_owned(), w.to_owned())));
        assert!(PLATFORMS[0].wheel(None).unwrap_err().contains("no version of glibc"));
        assert_eq!(PLATFORMS.iter().map(|p| p.target).collect::<BTreeSet<_>>().len(), PLATFORMS.len());
    }

    /// cargo-binstall finds each archive under its name, and the program at its place in it.
    #[test]
    fn the_metadata_for_binstall_has_the_names_of_the_archives() {
        let metadata = workspace::metadata().unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let cli = packages.iter().find(|p| p["name"] == "couplet-cli").unwrap();
        let binstall = &cli["metadata"]["binstall"];
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{binstall} has no such key")).to_owned();
        for platform in PLATFORMS {
            let own = &binstall["overrides"][platform.target]["pkg-fmt"];
            let format = text(if own.is_null() { &binstall["pkg-fmt"] } else { own });
            let ending = if platform.is_windows() { ".exe" } else { "" };
            let values = [
                ("{ repo }", "REPO"),
                ("{ version }", "1.2.3"),
                ("{ target }", platform.target),
                ("{ archive-suffix }", if format == "tgz" { ".tar.gz" } else { ".zip" }),
                ("{ bin }", "couplet"),
                ("{ binary-ext }", ending),
            ];
            let filled = |key: &str| values.iter().fold(text(&binstall[key]), |text, (k, v)| text.replace(k, v));
            let archive = platform.archive("1.2.3");
            assert_eq!(filled("pkg-url"), format!("REPO/releases/download/v1.2.3/{archive}"));
            assert_eq!(filled("bin-dir"), format!("{}/{}", platform.folder("1.2.3"), platform.program()));
        }
    }
}
