//! The libraries, and the version of glibc, that a program for Linux needs from the machine that runs it.

use std::fmt;

use object::{
    Endianness,
    elf::{DT_NEEDED, FileHeader64},
    read::elf::{Dyn, FileHeader},
};

use crate::Failure;

/// A version of glibc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Glibc {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What a program needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// The names of shared libraries, sorted.
    pub(crate) libraries: Vec<String>,
    /// The newest version among its symbols; none if it is static.
    pub(crate) glibc: Option<Glibc>,
}

impl Needs {
    /// Reads a program: nothing is needed by one that is not ELF.
    pub(crate) fn of(program: &[u8]) -> Result<Self, Failure> {
        if !program.starts_with(b"\x7fELF") {
            return Ok(Self::default());
        }
        read(program).map_err(|e| format!("the program cannot be read as ELF: {e}"))
    }
}

fn read(program: &[u8]) -> object::Result<Needs> {
    let header = FileHeader64::<Endianness>::parse(program)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, program)?;
    let mut needs = Needs::default();
    if let Some((entries, link)) = sections.dynamic(endian, program)? {
        let strings = sections.strings(endian, program, link)?;
        for entry in entries.iter().filter(|entry| entry.tag(endian) == DT_NEEDED) {
            needs.libraries.push(text(entry.string(endian, strings)?));
        }
    }
    if let Some((mut files, link)) = sections.gnu_verneed(endian, program)? {
        let strings = sections.strings(endian, program, link)?;
        while let Some((_, mut versions)) = files.next()? {
            while let Some(version) = versions.next()? {
                needs.glibc = needs.glibc.max(glibc(&text(version.name(endian, strings)?)));
            }
        }
    }
    needs.libraries.sort();
    Ok(needs)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The version in the name of a version of symbols: `GLIBC_2.34`, `GLIBC_2.2.5`.
fn glibc(name: &str) -> Option<Glibc> {
    let mut numbers = name.strip_prefix("GLIBC_")?.split('.').map(str::parse);
    Some(Glibc { major: numbers.next()?.ok()?, minor: numbers.next()?.ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let version = |major, minor| Some(Glibc { major, minor });
        for (name, expected) in
            [("GLIBC_2.34", version(2, 34)), ("GLIBC_2.2.5", version(2, 2)), ("GLIBC_PRIVATE", None), ("GCC_3.0", None)]
        {
            assert_eq!(glibc(name), expected, "{name}");
        }
        assert!(glibc("GLIBC_2.10") > glibc("GLIBC_2.9"));
    }

    /// This test is itself a program that needs glibc.
    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn a_program_of_this_machine_is_read() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let needs = Needs::of(&program).unwrap();
        assert!(needs.libraries.iter().any(|name| name == "libc.so.6"), "{needs:?}");
        assert!(needs.glibc > Some(Glibc { major: 2, minor: 2 }), "{needs:?}");
    }

    #[test]
    fn what_is_not_elf_needs_nothing_and_half_a_program_is_an_error() {
        assert_eq!(Needs::of(b"#!/bin/sh\n"), Ok(Needs::default()));
        assert!(Needs::of(b"\x7fELF\x02\x01").unwrap_err().contains("cannot be read as ELF"));
    }
}
