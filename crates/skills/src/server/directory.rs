//! Skills in a directory of the file system.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::skill::Skill;
use crate::entry::{MAX_BYTES, MAX_FILES, SKILL_MD};

/// The maximum nesting depth of directories.
pub(super) const DEEPEST: usize = 16;

/// Reads the skills in a directory, ordered by path. This blocks on file I/O.
///
/// # Errors
/// Fails with the file that cannot be read or the skill that is invalid.
pub(super) fn read(folder: &Path) -> Result<Vec<Skill>, String> {
    let root = fs::canonicalize(folder).map_err(|e| format!("`{}`: {e}", folder.display()))?;
    let mut skills = Vec::new();
    find(&root, &mut Vec::new(), &mut skills)?;
    Ok(skills)
}

/// A directory with a `SKILL.md` is a skill; any other is searched recursively.
fn find(folder: &Path, above: &mut Vec<String>, skills: &mut Vec<Skill>) -> Result<(), String> {
    if folder.join(SKILL_MD).is_file() {
        return skill(folder, above)
            .map(|skill| skills.push(skill))
            .map_err(|e| format!("`{}`: {e}", folder.display()));
    }
    if above.len() == DEEPEST {
        return Err(format!("`{}`: directories are nested more than {DEEPEST} levels deep", folder.display()));
    }
    for (name, path, kind) in entries(folder)? {
        // Symbolic links are not followed: they may lead anywhere, also back up.
        if kind.is_dir() {
            above.push(name);
            find(&path, above, skills)?;
            above.pop();
        }
    }
    Ok(())
}

fn skill(folder: &Path, path: &[String]) -> Result<Skill, String> {
    let mut files = Vec::new();
    gather(folder, folder, &mut String::new(), &mut files, &mut 0)?;
    let at = files.iter().position(|(path, _)| path == SKILL_MD).ok_or("there is no `SKILL.md`")?;
    let text = String::from_utf8(files.remove(at).1).map_err(|_| format!("`{SKILL_MD}` is not UTF-8"))?;
    let mut skill = Skill::parse(text)?;
    if let Some((name, above)) = path.split_last() {
        if skill.name() != name {
            return Err(format!("the directory of the skill `{}` must have the same name", skill.name()));
        }
        if !above.is_empty() {
            skill = skill.under(&above.join("/"));
        }
    }
    Ok(files.into_iter().fold(skill, |skill, (path, content)| skill.file(path, content)))
}

/// Collects all files below a directory, except hidden ones.
fn gather(
    root: &Path,
    folder: &Path,
    prefix: &mut String,
    files: &mut Vec<(String, Vec<u8>)>,
    bytes: &mut u64,
) -> Result<(), String> {
    if prefix.split('/').count() > DEEPEST {
        return Err(format!("directories are nested more than {DEEPEST} levels deep"));
    }
    for (name, path, kind) in entries(folder)? {
        let length = prefix.len();
        if kind.is_dir() {
            prefix.push_str(&name);
            prefix.push('/');
            gather(root, &path, prefix, files, bytes)?;
            prefix.truncate(length);
            continue;
        }
        let content = content(root, &path, MAX_BYTES - *bytes).map_err(|e| format!("`{prefix}{name}`: {e}"))?;
        *bytes += content.len() as u64;
        files.push((format!("{prefix}{name}"), content));
        if files.len() > MAX_FILES {
            return Err(format!("there are more than {MAX_FILES} files"));
        }
    }
    Ok(())
}

/// Reads a regular file inside the skill, up to the number of bytes that are left.
fn content(root: &Path, path: &Path, left: u64) -> Result<Vec<u8>, String> {
    use io::Read;
    // A link is followed as long as its target is inside the skill.
    let real = fs::canonicalize(path).map_err(|e| e.to_string())?;
    if !real.starts_with(root) {
        return Err("it is a symbolic link to a target outside of the skill".to_owned());
    }
    let file = fs::File::open(&real).map_err(|e| e.to_string())?;
    if !file.metadata().map_err(|e| e.to_string())?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut content = Vec::new();
    file.take(left + 1).read_to_end(&mut content).map_err(|e| e.to_string())?;
    if content.len() as u64 > left {
        return Err(format!("with it, the skill has more than {MAX_BYTES} bytes"));
    }
    Ok(content)
}

/// The entries of a directory except hidden ones, ordered by name.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf, fs::FileType)>, String> {
    let list = || -> io::Result<Vec<_>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().into_string().map_err(|name| {
                io::Error::new(io::ErrorKind::InvalidData, format!("{} is not UTF-8", name.display()))
            })?;
            if !name.starts_with('.') {
                all.push((name, entry.path(), entry.file_type()?));
            }
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(all)
    };
    list().map_err(|e| format!("`{}`: {e}", folder.display()))
}
