//! Groups of the system by name.

/// Finds the number of a group.
///
/// # Errors
/// If `/etc/group` has no such name; the error is a message for the user. Groups of a directory service have to be given
/// by number.
#[cfg(unix)]
pub(crate) fn find(text: &str) -> Result<u32, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
    number_of(text, &groups)
        .ok_or_else(|| "no group of this name in /etc/group; its number can be used instead".to_owned())
}

#[cfg(unix)]
fn number_of(name: &str, groups: &str) -> Option<u32> {
    let line = groups.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split(':').nth(1)?.parse().ok()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_a_number() {
        let groups = "root:x:0:\nwww:x:33:a,b\nwww-data:x:34:\nbroken\nodd:x:many:\n";
        for (name, expected) in [
            ("www", Some(33)),
            ("www-data", Some(34)),
            ("root", Some(0)),
            ("ww", None),
            ("broken", None),
            ("odd", None),
        ] {
            assert_eq!(number_of(name, groups), expected, "{name}");
        }
        assert_eq!(find("1234"), Ok(1234));
        assert!(find("no-such-group-here").is_err());
    }
}
