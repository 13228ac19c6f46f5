//! The base image of `packaging/Containerfile`: the program has to find there what it needs.

use super::elf::{Glibc, Needs};
use crate::Failure;

/// The image, as the container file names it.
pub(super) const IMAGE: &str = "gcr.io/distroless/cc-debian12:nonroot";

/// Its libraries that a Rust program may need (Debian 12: libc6, libgcc-s1), and its glibc.
const LIBRARIES: [&str; 5] =
    ["ld-linux-aarch64.so.1", "ld-linux-x86-64.so.2", "libc.so.6", "libgcc_s.so.1", "libm.so.6"];
const GLIBC: Glibc = Glibc { major: 2, minor: 36 };

/// Compares the libraries that the program needs with those of the image; nothing for a program of another system.
pub(super) fn check(needs: &Needs) -> Result<Option<String>, Failure> {
    let Some(glibc) = needs.glibc else { return Ok(None) };
    if let Some(library) = needs.libraries.iter().find(|name| !LIBRARIES.contains(&name.as_str())) {
        return Err(format!("`{IMAGE}` has no `{library}`, which the program needs"));
    }
    if glibc > GLIBC {
        return Err(format!("`{IMAGE}` has glibc {GLIBC}, and the program needs {glibc}"));
    }
    Ok(Some(format!("needs glibc {glibc} and {}: the container image has them", needs.libraries.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    #[test]
    fn libraries_and_versions_are_compared() {
        let needs = |libraries: &[&str], minor| Needs {
            libraries: libraries.iter().map(ToString::to_string).collect(),
            glibc: Some(Glibc { major: 2, minor }),
        };
        assert!(check(&needs(&["libc.so.6", "libgcc_s.so.1"], 34)).unwrap().unwrap().contains("glibc 2.34"));
        assert!(check(&needs(&["libc.so.6", "libdbus-1.so.3"], 34)).unwrap_err().contains("no `libdbus-1.so.3`"));
        assert!(check(&needs(&["libc.so.6"], 39)).unwrap_err().contains("needs 2.39"));
        assert_eq!(check(&Needs::default()), Ok(None));
    }

    #[test]
    fn the_container_file_is_of_this_image() {
        let text = std::fs::read_to_string(root().join("packaging/Containerfile")).unwrap();
        assert!(text.lines().any(|line| line == format!("FROM {IMAGE}")), "{text}");
    }
}
