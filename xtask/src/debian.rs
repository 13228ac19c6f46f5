//! Programs of other people that tests run: `redis-server`, `haproxy`, `nginx`.

use crate::{
    Failure,
    ci::NOT_RUN,
    workspace::{capture, command},
};

/// Makes sure that programs can be run, each given with its Debian package. Where they are missing, the packages are
/// installed if this is a Debian system and the user may do so.
///
/// # Errors
/// The reason why they cannot be run, in the form of a step that was not run.
pub(crate) fn ensure(programs: &[(&str, &str)]) -> Result<(), Failure> {
    let absent: Vec<_> = programs.iter().filter(|(program, _)| find(program).is_none()).collect();
    if absent.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = absent.iter().map(|(_, package)| *package).collect();
    // A service that the package would start is none of ours.
    let mut install = command("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
    install.args(["install", "--yes", "--quiet", "--no-install-recommends"]).args(&packages);
    let installed = capture(&mut install);
    match programs.iter().find(|(program, _)| find(program).is_none()) {
        None => Ok(()),
        Some((program, package)) => {
            let why = installed.err().unwrap_or_default();
            let why = why.lines().next().unwrap_or_default();
            Err(format!("{NOT_RUN}`{program}` is not installed (Debian: `apt-get install {package}`) {why}"))
        }
    }
}

/// The path of a program: in `PATH`, or where Debian puts the ones of administrators.
pub(crate) fn find(program: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_on_the_path() {
        assert!(find("sh").is_some());
        assert_eq!(find("no-program-has-this-name"), None);
    }
}
