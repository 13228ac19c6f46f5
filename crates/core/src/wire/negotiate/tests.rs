//! Negotiations as scripts: the client's revisions, the server's responses, and the steps.

use couplet_types::{Implementation, ServerCapabilities};
use serde_json::json;

use super::*;

/// A response of the server.
#[derive(Clone, Copy, Debug)]
enum Response {
    /// `server/discover` returns these revisions.
    Discovered(&'static str),
    /// `server/discover` fails with this code, and data that lists these revisions if there are any.
    NotDiscovered(i32, &'static str),
    Silent,
    /// `initialize` returns this revision.
    Initialized(&'static str),
    /// `initialize` fails, as above.
    NotInitialized(i32, &'static str),
}

use Response::{Discovered, Initialized, NotDiscovered, NotInitialized, Silent};

fn error(code: i32, supported: &str) -> RpcError {
    let error = RpcError::new(code, "no");
    if supported.is_empty() {
        return error;
    }
    let supported: Vec<_> = supported.split(' ').collect();
    error.with_data(json!({ "supported": supported, "requested": "x" }))
}

fn shown(step: &Result<Step, Error>) -> String {
    match step {
        Ok(Step::Discover(version)) => format!("discover {version}"),
        Ok(Step::Initialize(version)) => format!("initialize {version}"),
        Ok(Step::Speak(version)) => format!("speak {version}"),
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

fn respond(negotiation: &mut Negotiation, response: Response) -> Result<Step, Error> {
    match response {
        Discovered(versions) => {
            let versions: Vec<_> = versions.split(' ').map(str::to_owned).collect();
            negotiation.probed(&Probe::Answer(DiscoverResult::new(versions, ServerCapabilities::default()).into()))
        }
        NotDiscovered(code, supported) => negotiation.probed(&Probe::Refused(error(code, supported))),
        Silent => negotiation.probed(&Probe::Silence),
        Initialized(version) => {
            let info = Implementation::new("s", "1");
            negotiation.initialized(Ok(&InitializeResult::new(version, ServerCapabilities::default(), info)))
        }
        NotInitialized(code, supported) => negotiation.initialized(Err(error(code, supported))),
    }
}

#[track_caller]
fn check(client: &str, script: &[(Response, &str)], first: &str) {
    let versions = client.split(' ').map(|version| version.parse().unwrap()).collect();
    let (mut negotiation, step) = Negotiation::new(versions).unwrap();
    assert_eq!(shown(&Ok(step)), first, "{client}");
    for (response, expected) in script {
        let step = respond(&mut negotiation, *response);
        assert_eq!(shown(&step), *expected, "{client}: {response:?} of {script:?}");
    }
}

const BOTH: &str = "2025-06-18 2026-07-28 2025-11-25";
const OLD: &str = "2025-03-26 2025-11-25";
const NEW: &str = "2026-07-28";

#[test]
fn a_stateless_server_is_discovered() {
    for (response, expected) in [
        (Discovered("2026-07-28"), "speak 2026-07-28"),
        (Discovered("2030-01-01 2025-11-25 2026-07-28"), "speak 2026-07-28"),
        (Discovered("2025-06-18 2025-11-25"), "initialize 2025-11-25"),
        (Discovered("2025-06-18"), "initialize 2025-06-18"),
        (
            Discovered("2030-01-01"),
            "Version: no revision in common: the server supports 2030-01-01, the client 2026-07-28, 2025-11-25, 2025-06-18",
        ),
        (NotDiscovered(-32022, "2025-11-25 2025-06-18"), "initialize 2025-11-25"),
        (NotDiscovered(-32022, "2026-07-28"), "Version: the server claims to support 2026-07-28, and rejects it"),
        (
            NotDiscovered(-32022, ""),
            "Version: no revision in common: the server supports , the client 2026-07-28, 2025-11-25, 2025-06-18",
        ),
        (NotDiscovered(-32020, ""), "Rpc: the peer answered with error -32020: no"),
        (NotDiscovered(-32021, ""), "Rpc: the peer answered with error -32021: no"),
        (NotDiscovered(-32601, ""), "initialize 2025-11-25"),
        (NotDiscovered(-32601, "2025-06-18"), "initialize 2025-11-25"),
        (NotDiscovered(-32000, ""), "initialize 2025-11-25"),
        (Silent, "initialize 2025-11-25"),
    ] {
        check(BOTH, &[(response, expected)], "discover 2026-07-28");
    }
}

#[test]
fn a_session_is_opened_by_initialize() {
    for (response, expected) in [
        (Initialized("2025-11-25"), "speak 2025-11-25"),
        (Initialized("2025-03-26"), "speak 2025-03-26"),
        (
            Initialized("2025-06-18"),
            "Version: no revision in common: the server supports 2025-06-18, the client 2025-11-25, 2025-03-26",
        ),
        (Initialized("x"), "Version: no revision in common: the server supports x, the client 2025-11-25, 2025-03-26"),
        (NotInitialized(-32602, "2025-03-26"), "initialize 2025-03-26"),
        (NotInitialized(-32602, "2025-11-25"), "Version: the server claims to support 2025-11-25, and rejects it"),
        (NotInitialized(-32602, ""), "Rpc: the peer answered with error -32602: no"),
    ] {
        check(OLD, &[(response, expected)], "initialize 2025-11-25");
    }
    let stateless = "Version: no revision in common: the server supports 2026-07-28, the client 2026-07-28, 2025-11-25, \
                     2025-06-18";
    check(BOTH, &[(Silent, "initialize 2025-11-25"), (Initialized(NEW), stateless)], "discover 2026-07-28");
}

#[test]
fn a_server_that_starts_slowly_is_probed_once_more() {
    let handshake = (Silent, "initialize 2025-11-25");
    let probe = (NotInitialized(-32602, "2026-07-28"), "discover 2026-07-28");
    let refused = "Version: the server refuses `initialize`, and does not answer `server/discover`";
    for (last, expected) in
        [(Discovered(NEW), "speak 2026-07-28"), (Silent, refused), (NotDiscovered(-32601, ""), refused)]
    {
        check(BOTH, &[handshake, probe, (last, expected)], "discover 2026-07-28");
    }
    let rejected = "Version: the server claims to support 2026-07-28, and rejects it";
    let not_known = (NotDiscovered(-32601, ""), "initialize 2025-11-25");
    check(BOTH, &[not_known, (NotInitialized(-32602, NEW), rejected)], "discover 2026-07-28");
}

#[test]
fn a_client_without_sessions_has_no_fallback() {
    let nothing = "Version: no revision in common: the server supports only revisions that begin with `initialize`, the \
                   client 2026-07-28";
    for response in [NotDiscovered(-32601, ""), Silent] {
        check(NEW, &[(response, nothing)], "discover 2026-07-28");
    }
    for (client, fallback) in [(NEW, false), (OLD, true), (BOTH, true)] {
        let versions = client.split(' ').map(|version| version.parse().unwrap()).collect();
        assert_eq!(Negotiation::new(versions).unwrap().0.has_fallback(), fallback, "{client}");
    }
    assert_eq!(Negotiation::new(Vec::new()).unwrap_err().kind(), ErrorKind::Config);
}
