//! The keys that replicas of a server share, from a file.

use std::{
    error, fmt,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use couplet::core::Sealer;

/// The flag of the key that signs the state of multi-round-trip requests.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct StateKeyArgs {
    /// File with the key that all replicas share: 32 random bytes in hex, then up to 4 other keys to accept, one per line
    /// (default: a random key)
    #[arg(long, value_name = "FILE")]
    pub state_key_file: Option<PathBuf>,
}

impl StateKeyArgs {
    /// Reads the keys; `None` without the flag.
    ///
    /// # Errors
    /// If the file cannot be read, a line is not 64 hexadecimal digits, or there are more than five.
    pub fn read(&self) -> Result<Option<StateKeys>, KeyError> {
        self.state_key_file.as_deref().map(read).transpose()
    }

    /// Returns a warning if other users of the system can read the file.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let path = self.state_key_file.as_deref()?;
        is_open(path)
            .then(|| format!("`{}` can be read by every user: use mode 600, or 640 with a group", path.display()))
    }
}

/// The keys that replicas share. The first one signs and seals; the others are accepted too, so that keys can be changed
/// while replicas run.
#[derive(Clone, PartialEq, Eq)]
pub struct StateKeys {
    current: [u8; 32],
    others: Vec<[u8; 32]>,
}

impl StateKeys {
    /// The maximum number of other keys.
    const MAX_OTHERS: usize = 4;

    /// Returns the key that signs and seals.
    #[must_use]
    pub fn current(&self) -> [u8; 32] {
        self.current
    }

    /// Returns the keys that are accepted as well.
    #[must_use]
    pub fn others(&self) -> &[[u8; 32]] {
        &self.others
    }

    /// Creates a sealer of request state.
    #[must_use]
    pub fn sealer(&self) -> Sealer {
        self.others.iter().fold(Sealer::new(self.current), |sealer, key| sealer.also_opens(*key))
    }
}

impl fmt::Debug for StateKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys are secrets.
        f.debug_struct("StateKeys").field("others", &self.others.len()).finish_non_exhaustive()
    }
}

/// The error for a file that is not a key. It says nothing of the file's content.
#[derive(Debug)]
pub struct KeyError {
    path: PathBuf,
    what: String,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot use `{}` as a key: {}", self.path.display(), self.what)
    }
}

impl error::Error for KeyError {}

fn read(path: &Path) -> Result<StateKeys, KeyError> {
    let fail = |what: String| KeyError { path: path.to_owned(), what };
    let text = contents(path).map_err(|error| fail(error.to_string()))?;
    parse_all(&text).map_err(fail)
}

/// The beginning of a file: keys are short, and the path may be wrong.
fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(1024).read_to_end(&mut text)?;
    Ok(text)
}

/// One key per line. Empty lines are skipped.
fn parse_all(text: &[u8]) -> Result<StateKeys, String> {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).zip(1_usize..);
    let mut lines = lines.filter(|(line, _)| !line.is_empty());
    let current = parse(lines.next().map_or(&[][..], |(line, _)| line))?;
    let mut others = Vec::new();
    for (line, number) in lines {
        if others.len() == StateKeys::MAX_OTHERS {
            let most = 1 + StateKeys::MAX_OTHERS;
            return Err(format!("it has more than {most} keys; remove the oldest, which is the last"));
        }
        others.push(parse(line).map_err(|what| format!("in line {number}, {what}"))?);
    }
    Ok(StateKeys { current, others })
}

fn parse(text: &[u8]) -> Result<[u8; 32], String> {
    const MAKE: &str = "expected 64 hexadecimal digits; `openssl rand -hex 32` makes a key";
    if let Some(at) = text.iter().position(|byte| !byte.is_ascii_hexdigit()) {
        return Err(format!("character {} is not a hexadecimal digit; {MAKE}", at + 1));
    }
    let mut key = [0; 32];
    if text.len() != 2 * key.len() {
        return Err(format!("it has {} digits; {MAKE}", text.len()));
    }
    for (byte, digits) in key.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digits.iter().fold(0, |value, digit| value << 4 | nibble(*digit));
    }
    Ok(key)
}

fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => digit.to_ascii_lowercase() - b'a' + 10,
    }
}

/// Whether every user of the system can read a file.
#[cfg(unix)]
fn is_open(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o004 != 0)
}

#[cfg(not(unix))]
fn is_open(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_64_digits() {
        let digits = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1EfF";
        let mut expected: [u8; 32] = std::array::from_fn(|at| u8::try_from(at).unwrap_or(0));
        expected[31] = 0xff;
        assert_eq!(parse(digits.as_bytes()), Ok(expected));
        for (text, says) in [
            ("", "it has 0 digits"),
            (&digits[1..], "it has 63 digits"),
            (&digits.replace('A', "g"), "character 54 is not"),
            (&format!("{digits}00"), "it has 66 digits"),
        ] {
            let error = parse(text.as_bytes()).expect_err(text);
            assert!(error.starts_with(says) && error.contains("openssl rand -hex 32"), "{error}");
            assert!(!error.contains("0102"), "nothing of the key is in {error}");
        }
    }

    #[test]
    fn the_first_line_is_the_current_key() {
        let lines = |keys: &[u8]| keys.iter().map(|key| format!("{key:02x}").repeat(32) + "\n").collect::<String>();
        let keys = |text: &str| parse_all(text.as_bytes()).map(|keys| (keys.current[0], keys.others.concat()));
        let others = |keys: &[u8]| keys.iter().flat_map(|key| [*key; 32]).collect::<Vec<_>>();
        for (text, current, accepted) in [
            (lines(&[1]), 1, vec![]),
            (lines(&[2, 1]), 2, others(&[1])),
            (format!("\n {}", lines(&[2, 1]).replace('\n', " \r\n\r\n")), 2, others(&[1])),
            (lines(&[5, 4, 3, 2, 1]), 5, others(&[4, 3, 2, 1])),
        ] {
            assert_eq!(keys(&text), Ok((current, accepted)), "{text}");
        }
        for (text, says) in [
            ("\n\n".to_owned(), "it has 0 digits"),
            (lines(&[6, 5, 4, 3, 2, 1]), "it has more than 5 keys"),
            (lines(&[2]) + "\n0102", "in line 3, it has 4 digits"),
            (lines(&[2]) + "01x", "in line 2, character 3 is not"),
        ] {
            let error = keys(&text).expect_err(&text);
            assert!(error.starts_with(says) && !error.contains("01"), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_every_user_can_read_is_warned_about() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("key");
        std::fs::write(&path, format!(" {}\n", "ab".repeat(32))).expect("it can be written");
        let args = StateKeyArgs { state_key_file: Some(path.clone()) };
        assert_eq!(args.read().expect("it is a key"), Some(StateKeys { current: [0xab; 32], others: vec![] }));
        for (mode, is_warned) in [(0o600, false), (0o640, false), (0o644, true)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
            assert_eq!(args.warning().is_some(), is_warned, "{mode:o}");
        }
        let missing = StateKeyArgs { state_key_file: Some(folder.path().join("none")) };
        let error = missing.read().expect_err("there is none").to_string();
        assert!(error.starts_with("cannot use `") && error.contains("none` as a key: "), "{error}");
        assert_eq!(StateKeyArgs::default().read().expect("none is good"), None);
    }
}
