//! Paths in arguments.

/// Returns whether a path is a folder or something below it, after `.` and `..` are resolved; `None` if the path is not
/// absolute, or has backslashes, so that it depends on the server where it leads.
///
/// Symbolic links are the server's matter.
pub(super) fn is_within(folder: &str, path: &str) -> Option<bool> {
    let (folder, path) = (resolved(folder)?, resolved(path)?);
    Some(path.starts_with(&folder))
}

fn resolved(path: &str) -> Option<Vec<&str>> {
    let rest = path.strip_prefix('/').filter(|_| !path.contains(['\\', '\0']))?;
    let mut parts = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(parts)
}
