//! The PROXY protocol, versions 1 and 2: a load balancer that passes bytes on names the client in front of them.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use tokio::io::{AsyncRead, AsyncReadExt};

/// How a header of version 2 begins.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// The longest line of version 1, with its end.
const LONGEST_LINE: usize = 107;
/// The longest rest of a header of version 2: addresses and some extensions. The protocol would allow 64 KiB.
const LONGEST_REST: usize = 4096;

/// Reads a header, and nothing after it. `None` if the header names no client: the connection is the load balancer's own,
/// such as a health check.
///
/// # Errors
/// If there is none, or it is malformed.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<SocketAddr>> {
    let mut begin = [0; SIGNATURE.len()];
    stream.read_exact(&mut begin).await?;
    let client = if begin == SIGNATURE { binary(stream).await? } else { line(&begin, stream).await? };
    Ok(client.map(|client| SocketAddr::new(client.ip().to_canonical(), client.port())))
}

fn malformed(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Version 1: `PROXY TCP4 192.0.2.1 198.51.100.1 56324 443` and a line end.
async fn line(begin: &[u8], stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<SocketAddr>> {
    if !begin.starts_with(b"PROXY ") {
        return Err(malformed("the connection does not begin with a header of the PROXY protocol"));
    }
    let mut line = begin.to_vec();
    // Byte by byte, since what follows the line is not ours.
    while line.last() != Some(&b'\n') {
        if line.len() == LONGEST_LINE {
            return Err(malformed("the header of the PROXY protocol is too long"));
        }
        line.push(stream.read_u8().await?);
    }
    parse_line(&line).ok_or_else(|| malformed("the header of the PROXY protocol is malformed"))
}

fn parse_line(line: &[u8]) -> Option<Option<SocketAddr>> {
    let line = std::str::from_utf8(line.strip_suffix(b"\r\n")?).ok()?;
    let mut words = line.strip_prefix("PROXY ")?.split(' ');
    let address = match words.next()? {
        // What follows is to be ignored.
        "UNKNOWN" => return Some(None),
        "TCP4" => pair::<Ipv4Addr>(&mut words)?,
        "TCP6" => pair::<Ipv6Addr>(&mut words)?,
        _ => return None,
    };
    let source = port(words.next()?)?;
    port(words.next()?)?;
    words.next().is_none().then_some(Some(SocketAddr::new(address, source)))
}

/// The first of two addresses.
fn pair<'a, A: FromStr + Into<IpAddr>>(words: &mut impl Iterator<Item = &'a str>) -> Option<IpAddr> {
    let source: A = words.next()?.parse().ok()?;
    let _: A = words.next()?.parse().ok()?;
    Some(source.into())
}

fn port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Version 2, after its signature.
async fn binary(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<SocketAddr>> {
    let mut fixed = [0; 4];
    stream.read_exact(&mut fixed).await?;
    let [command, family, high, low] = fixed;
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length > LONGEST_REST {
        return Err(malformed("the header of the PROXY protocol is too long"));
    }
    let mut rest = vec![0; length];
    stream.read_exact(&mut rest).await?;
    match (command, family) {
        // A connection of the load balancer itself, and one whose client has no address.
        (0x20, _) | (0x21, 0x00 | 0x31 | 0x32) => Ok(None),
        (0x21, 0x11) => addresses::<4>(&rest),
        (0x21, 0x21) => addresses::<16>(&rest),
        _ => Err(malformed("the header of the PROXY protocol has an unknown version, command or family")),
    }
}

/// The source of two addresses of so many bytes and two ports.
fn addresses<const N: usize>(rest: &[u8]) -> io::Result<Option<SocketAddr>>
where
    IpAddr: From<[u8; N]>,
{
    let source: Option<[u8; N]> = rest.first_chunk().copied();
    let ports: Option<[u8; 4]> = rest.get(2 * N..).and_then(|ports| ports.first_chunk()).copied();
    match (source, ports) {
        (Some(source), Some([high, low, ..])) => {
            Ok(Some(SocketAddr::new(source.into(), u16::from_be_bytes([high, low]))))
        }
        _ => Err(malformed("the header of the PROXY protocol is too short")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a stream begins with, and what is found: an address, `-` for none, or a part of the error.
    async fn check(bytes: &[u8], expected: &str) {
        let mut stream = bytes;
        let found = match read(&mut stream).await {
            Ok(Some(client)) => client.to_string(),
            Ok(None) => "-".to_owned(),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => "cut off".to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(found.contains(expected), "{}: {found}", bytes.escape_ascii());
        if !found.contains(' ') && !found.contains("cut off") {
            assert_eq!(stream, b"GET", "nothing else is read: {}", bytes.escape_ascii());
        }
    }

    #[tokio::test]
    async fn lines() {
        for (line, expected) in [
            ("PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\nGET", "192.0.2.1:56324"),
            ("PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\nGET", "[2001:db8::1]:1"),
            ("PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\nGET", "192.0.2.1:1"),
            ("PROXY UNKNOWN\r\nGET", "-"),
            ("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\nGET", "-"),
            ("PROXY TCP4 192.0.2.1 198.51.100.1 56324\r\nGET", "malformed"),
            ("PROXY TCP4 192.0.2.1 198.51.100.1 56324 443 5\r\nGET", "malformed"),
            ("PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\nGET", "malformed"),
            ("PROXY TCP4 192.0.2.1  198.51.100.1 56324 443\r\nGET", "malformed"),
            ("PROXY TCP4 192.0.2.1 198.51.100.1 +5 443\r\nGET", "malformed"),
            ("PROXY TCP4 192.0.2.1 198.51.100.1 65536 443\r\nGET", "malformed"),
            ("PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\nGET", "malformed"),
            ("PROXY TCP4 \u{e9}92.0.2.1 198.51.100.1 1 2\r\nGET", "malformed"),
            ("PROXY UDP4 192.0.2.1 198.51.100.1 1 2\r\nGET", "malformed"),
            ("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n", "does not begin"),
            ("PROXY TCP4 192.0.2.1", "cut off"),
            ("PROXY", "cut off"),
            ("", "cut off"),
        ] {
            check(line.as_bytes(), expected).await;
        }
        check(format!("PROXY UNKNOWN {}\r\nGET", "x".repeat(91)).as_bytes(), "-").await;
        check(format!("PROXY UNKNOWN {}\r\nGET", "x".repeat(92)).as_bytes(), "too long").await;
        check(&[b"PROXY ".as_slice(), &[b'x'; 100_000]].concat(), "too long").await;
    }

    #[tokio::test]
    async fn binary_headers() {
        let four: &[u8] = &[192, 0, 2, 1, 198, 51, 100, 1, 0, 80, 1, 187];
        let six: &[u8] =
            &[&[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], &[0; 16][..], &[0, 80, 0, 81]].concat();
        let extended = [four, &[4, 0, 1, 0]].concat();
        for (command, family, rest, expected) in [
            (0x21, 0x11, four, "192.0.2.1:80"),
            (0x21, 0x21, six, "[2001:db8::1]:80"),
            (0x21, 0x11, &extended, "192.0.2.1:80"),
            (0x20, 0x00, &[], "-"),
            (0x20, 0x11, four, "-"),
            (0x21, 0x00, &[], "-"),
            (0x21, 0x31, &[0; 216], "-"),
            (0x21, 0x11, &four[..11], "too short"),
            (0x21, 0x21, four, "too short"),
            (0x21, 0x12, four, "unknown"),
            (0x22, 0x11, four, "unknown"),
            (0x11, 0x11, four, "unknown"),
            (0x21, 0x11, &[0; 5000], "too long"),
        ] {
            let length = u16::try_from(rest.len()).expect("it is short").to_be_bytes();
            let header = [&SIGNATURE[..], &[command, family], &length, rest, b"GET"].concat();
            check(&header, expected).await;
        }
        check(&[&SIGNATURE[..], &[0x21, 0x11, 0, 12, 1]].concat(), "cut off").await;
        check(&SIGNATURE, "cut off").await;
    }
}
