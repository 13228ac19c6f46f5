//! The bytes of a string that need no attention.

/// The number of bytes that are inspected word by word: most strings are shorter, and so are the keys of `_meta`.
const NEAR: usize = 64;

/// How many bytes at the front are nothing special in a string: neither a quote nor a backslash nor a control character.
/// There may be more.
pub(crate) fn plain(text: &[u8]) -> usize {
    let near = words(&text[..text.len().min(NEAR)]);
    if near < NEAR { near } else { NEAR + far(&text[NEAR..]) }
}

/// The same in a string that is known to have no control characters.
pub(crate) fn unquoted(text: &[u8]) -> usize {
    let near = words(&text[..text.len().min(NEAR)]);
    if near < NEAR { near } else { NEAR + to_quote(&text[NEAR..]) }
}

/// The bytes of a long string that are passed at once: they stay in the nearest cache.
const BLOCK: usize = 8 << 10;

/// The same for what follows in a long string: two passes with the widest instructions are faster than one without.
#[inline(never)]
fn far(text: &[u8]) -> usize {
    let mut passed = 0;
    for block in text.chunks(BLOCK) {
        let plain = &block[..to_quote(block)];
        if least(plain) < b' ' {
            return passed + plain.iter().position(|byte| *byte < b' ').unwrap_or(plain.len());
        }
        passed += plain.len();
        if plain.len() < block.len() {
            break;
        }
    }
    passed
}

/// The least byte. Lanes without an exit become vectors, whatever else is optimized around them.
fn least(text: &[u8]) -> u8 {
    let mut least = [u8::MAX; 32];
    let (whole, rest) = text.as_chunks::<32>();
    for chunk in whole {
        for (least, byte) in least.iter_mut().zip(chunk) {
            *least = (*least).min(*byte);
        }
    }
    least.iter().chain(rest).fold(u8::MAX, |least, byte| least.min(*byte))
}

/// The number of bytes before a quote or a backslash.
fn to_quote(text: &[u8]) -> usize {
    memchr::memchr2(b'"', b'\\', text).unwrap_or(text.len())
}

/// The same, eight bytes at a time.
#[inline]
fn words(text: &[u8]) -> usize {
    let mut passed = 0;
    for chunk in text.chunks_exact(8) {
        let special = special(chunk);
        if special != 0 {
            return passed + (special.trailing_zeros() / 8) as usize;
        }
        passed += 8;
    }
    passed
}

/// The special bytes of eight: the lowest bit that is set belongs to the first of them; those above it may be wrong.
#[inline]
fn special(chunk: &[u8]) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES << 7;
    let word = u64::from_le_bytes(chunk.try_into().expect("eight bytes"));
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (control | zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')))) & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also at the edges of blocks.
    #[test]
    fn no_special_byte_is_passed_in_a_long_string() {
        for at in [BLOCK - 1, BLOCK, NEAR + BLOCK - 1, NEAR + BLOCK, NEAR + BLOCK + 1, NEAR + 2 * BLOCK, 3 * BLOCK - 1]
        {
            for special in [b'"', b'\\', b'\n'] {
                let mut text = vec![b'x'; 3 * BLOCK];
                text[at] = special;
                assert_eq!(plain(&text), at, "{special} at {at}");
            }
        }
        assert_eq!(plain(&vec![b'x'; 3 * BLOCK]), 3 * BLOCK);
    }

    /// Wherever a special byte is, the bytes before it are passed, but for a few.
    #[test]
    fn no_special_byte_is_passed() {
        for special in [b'"', b'\\', 0, b'\n', 0x1f] {
            for at in 0..300 {
                let mut text = vec![b'x'; 300];
                text[at] = special;
                assert_eq!(plain(&text), at, "{special} at {at}");
                if special >= b' ' {
                    assert_eq!(unquoted(&text), at, "{special} at {at}");
                }
            }
        }
        for plainly in ["ä".repeat(200), "\u{7f} !#[]".repeat(40), String::new()] {
            let passed = plain(plainly.as_bytes());
            assert!(plainly.len() - passed < 8, "{passed} of {}", plainly.len());
            assert_eq!(unquoted(plainly.as_bytes()), passed);
        }
    }
}
