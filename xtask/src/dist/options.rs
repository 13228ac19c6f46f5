//! The command line of `cargo xtask dist`.

use std::path::PathBuf;

use super::files::Effort;
use crate::Failure;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// The profile that the program is built with.
    pub(super) profile: String,
    /// A program that is packaged instead of building one.
    pub(super) binary: Option<PathBuf>,
    /// The folder that the packages are written into, instead of `target/distribution`.
    pub(super) out: Option<PathBuf>,
    /// `Quick` also leaves out the documents that other tools write: licenses and the bill of materials.
    pub(super) effort: Effort,
    /// Whether each package is installed and run.
    pub(super) attempt: bool,
}

impl Options {
    pub(super) fn read(arguments: &[String]) -> Result<Self, Failure> {
        let mut options =
            Self { profile: "dist".to_owned(), binary: None, out: None, effort: Effort::Small, attempt: false };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("`{argument}` needs a value"));
            match argument.as_str() {
                "--profile" => options.profile.clone_from(value()?),
                "--binary" => options.binary = Some(value()?.into()),
                "--out" => options.out = Some(value()?.into()),
                "--quick" => options.effort = Effort::Quick,
                "--try" => options.attempt = true,
                other => {
                    return Err(format!(
                        "unknown option `{other}`; there are --profile, --binary, --out, --quick, --try"
                    ));
                }
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let read = |line: &str| Options::read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let plain = read("").unwrap();
        assert_eq!((plain.profile.as_str(), plain.effort, plain.attempt), ("dist", Effort::Small, false));
        let all = read("--profile release --binary a/b --out c --quick --try").unwrap();
        assert_eq!((all.profile.as_str(), all.effort, all.attempt), ("release", Effort::Quick, true));
        assert_eq!((all.binary, all.out), (Some("a/b".into()), Some("c".into())));
        assert_eq!(read("--out").unwrap_err(), "`--out` needs a value");
        assert!(read("--fast").unwrap_err().starts_with("unknown option `--fast`"));
    }
}
