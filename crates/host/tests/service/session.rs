//! A scripted session direct and through the host: after un-mapping names and ids, both sides see the same messages
//! (acceptance test 3).

use std::sync::{Arc, Mutex};

use couplet_core::{BoxFuture, Connect, Connected, Error, Inbound, JsonText, Limits, Transport, message::Params};
use couplet_host::Host;
use couplet_stdio::pipe;
use couplet_types::ProtocolVersion;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

use crate::kit::{SESSIONS, STATELESS, in_time};

/// The requests of a session. `@` is in front of names that the host maps, and `%` is where `_meta` of the revision goes.
const SCRIPT: &[(&str, &str)] = &[
    ("tools/list", "{%}"),
    ("prompts/list", "{%}"),
    ("resources/list", "{%}"),
    ("resources/templates/list", "{%}"),
    (
        "tools/call",
        r#"{"x-future":{"z":1.0,"a":[1E+2,-0]},"name":"@odd","arguments":{"z":1.50,"a":"\u0041\/","n":12345678901234567890}%}"#,
    ),
    ("tools/call", r#"{"name":"@progress","arguments":{}%}"#),
    ("tools/call", r#"{"name":"@failed","arguments":{"b":1,"a":2}%}"#),
    ("tools/call", r#"{"name":"@error"%}"#),
    ("resources/read", r#"{"x-future":0.10,"uri":"odd://one"%}"#),
    ("resources/read", r#"{"uri":"odd://two/page"%}"#),
    ("prompts/get", r#"{"name":"@ask","x-future":[1.0],"arguments":{"z":"1","a":"\u0041"}%}"#),
    (
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"@ask"},"argument":{"name":"z","value":"\u0041"},"x-future":1e2%}"#,
    ),
    (
        "completion/complete",
        r#"{"ref":{"type":"ref/resource","uri":"odd://{n}/page"},"argument":{"name":"n","value":"t"}%}"#,
    ),
];

/// A server that answers with texts of its own spelling, and notes what it receives. Clones are the same.
#[derive(Clone)]
struct Scripted {
    version: ProtocolVersion,
    received: Arc<Mutex<Vec<(String, Params)>>>,
}

impl Scripted {
    fn new(version: ProtocolVersion) -> Self {
        Self { version, received: Arc::default() }
    }

    /// The requests of the script that it received.
    fn received(&self) -> Vec<(String, Vec<(String, String)>)> {
        let received = self.received.lock().unwrap();
        let own = received.iter().filter(|(method, _)| !method.ends_with("/list"));
        own.map(|(method, params)| (method.clone(), members(params))).collect()
    }

    async fn serve(self, stream: DuplexStream) {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut lines = BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message = Params::from_text(JsonText::new(line).unwrap()).unwrap();
            let (Some(id), Some(method)) = (message.get("id"), message.read_str("method").unwrap()) else { continue };
            let params = Params::from_text(message.get("params").unwrap_or_else(JsonText::empty_object)).unwrap();
            let mut out = String::new();
            if let Some(token) = token(&params) {
                for progress in ["1.50", "2e0"] {
                    out += &format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progress":{progress},"progressToken":{token},"x-future":{{"z":1.0}},"total":2.50,"message":"\u0041","_meta":{{"com.example/x":1E2}}}}}}"#
                    );
                    out.push('\n');
                }
            }
            out += &match self.answer(&method, &params) {
                Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.as_str()),
                Err(error) => format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.as_str()),
            };
            out.push('\n');
            if SCRIPT.iter().any(|(known, _)| *known == method) {
                self.received.lock().unwrap().push((method.into_owned(), params));
            }
            if writer.write_all(out.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    fn answer(&self, method: &str, params: &Params) -> Result<String, &'static str> {
        let name = params.read_str("name").unwrap().unwrap_or_default();
        let can = r#"{"tools":{},"prompts":{},"resources":{},"completions":{}}"#;
        let result = match (method, &*name) {
            ("initialize", _) => format!(
                r#"{{"protocolVersion":"{}","capabilities":{can},"serverInfo":{{"name":"odd","version":"1"}}}}"#,
                self.version.as_str()
            ),
            ("server/discover", _) => {
                format!(r#"{{"supportedVersions":["{}"],"capabilities":{can}}}"#, self.version.as_str())
            }
            ("tools/list", _) => {
                let tool = |name| format!(r#"{{"title":"T","name":"{name}","x-future":{{"z":1.0,"a":0.10}},"inputSchema":{{"type":"object","default":{{"n":1e2}}}}}}"#);
                format!(r#"{{"tools":[{}]}}"#, ["odd", "progress", "failed", "error"].map(tool).join(","))
            }
            ("prompts/list", _) => {
                r#"{"prompts":[{"x-future":1.0,"name":"ask","arguments":[{"name":"z","y":-0}]}]}"#.to_owned()
            }
            ("resources/list", _) => r#"{"resources":[{"x-future":[1.0],"uri":"odd://one","name":"\u0041"}]}"#.to_owned(),
            ("resources/templates/list", _) => {
                r#"{"resourceTemplates":[{"name":"page","uriTemplate":"odd://{n}/page","x-future":1E1}]}"#.to_owned()
            }
            ("tools/call", "error") => return Err(r#"{"code":-32000,"message":"no luck","data":{"z":1.0,"a":["\u0041",1e3]}}"#),
            ("tools/call", "failed") => {
                r#"{"x-future":{"z":0.10},"isError":true,"content":[{"text":"\u0041","type":"text","x":1.50}]}"#.to_owned()
            }
            ("tools/call", _) => {
                r#"{"content":[{"type":"text","text":"\u0041 /\/","x":1.50}],"odd" : {"z": 1e3,"a":[1.0,-0,1E+2]},"structuredContent":{"n":12345678901234567890},"_meta":{"com.example/x":1.0}}"#.to_owned()
            }
            ("resources/read", _) => {
                r#"{"x-future":1.0,"contents":[{"text":"\u0041","x":1e2,"uri":"odd://one"}]}"#.to_owned()
            }
            ("prompts/get", _) => {
                r#"{"messages":[{"x":1.0,"role":"user","content":{"text":"\u0041","type":"text"}}],"x-future":-0}"#.to_owned()
            }
            ("completion/complete", _) => r#"{"x-future":1.0,"completion":{"values":["\u0041"],"x":1.50}}"#.to_owned(),
            _ => return Err(r#"{"code":-32601,"message":"there is no such method"}"#),
        };
        Ok(match self.version == STATELESS {
            true => format!(r#"{{"resultType":"complete",{}"#, result.strip_prefix('{').unwrap()),
            false => result,
        })
    }
}

impl Connect for Scripted {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        Box::pin(async move {
            let (near, far) = tokio::io::duplex(1 << 16);
            tokio::spawn(self.clone().serve(far));
            let (reader, writer) = tokio::io::split(near);
            pipe(reader, writer).connect(inbound, limits).await
        })
    }
}

/// The token for progress in the parameters of a request.
fn token(params: &Params) -> Option<String> {
    let meta = Params::from_text(params.get("_meta")?).ok()?;
    Some(meta.get("progressToken")?.as_str().to_owned())
}

/// The members with their texts. Of `_meta`, those that belong to the revision and to the connection are left out.
fn members(params: &Params) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (key, value) in params.iter() {
        if key != "_meta" {
            all.push((key.into_owned(), value.as_str().to_owned()));
            continue;
        }
        let meta = Params::from_text(value.clone()).unwrap();
        let own =
            meta.iter().filter(|(key, _)| *key != "progressToken" && !key.starts_with("io.modelcontextprotocol/"));
        all.extend(own.map(|(key, value)| (format!("_meta/{key}"), value.as_str().to_owned())));
    }
    // Their place among the others is not kept.
    all.sort_by_key(|(key, _)| key.starts_with("_meta/"));
    all
}

/// One end of a connection, as lines.
struct Wire {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    version: ProtocolVersion,
    prefix: &'static str,
}

impl Wire {
    fn new(stream: DuplexStream, version: ProtocolVersion, prefix: &'static str) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self { lines: BufReader::new(reader).lines(), writer, version, prefix }
    }

    async fn send(&mut self, line: String) {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Sends a request, and returns all messages up to its response.
    async fn request(&mut self, id: usize, method: &str, params: &str) -> Vec<Params> {
        self.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)).await;
        let mut messages = Vec::new();
        loop {
            let line = self.lines.next_line().await.unwrap().unwrap();
            let message = Params::from_text(JsonText::new(line).unwrap()).unwrap();
            let is_last = message.get("id").is_some_and(|own| own.as_str() == id.to_string());
            messages.push(message);
            if is_last {
                return messages;
            }
        }
    }

    async fn open(&mut self) {
        let version = self.version.as_str();
        if self.version == STATELESS {
            let opened = self.request(0, "server/discover", &self.params("{%}", 0)).await;
            let result: Value = opened.last().unwrap().get("result").unwrap().parse().unwrap();
            assert!(result["supportedVersions"].as_array().unwrap().contains(&version.into()), "{result}");
            return;
        }
        let params = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"near","version":"1"}}}}"#
        );
        let opened = self.request(0, "initialize", &params).await;
        let result: Value = opened.last().unwrap().get("result").unwrap().parse().unwrap();
        assert_eq!(result["protocolVersion"], version);
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned()).await;
    }

    /// Parameters of the script for this connection.
    fn params(&self, text: &str, id: usize) -> String {
        let token =
            if text.contains("@progress") { format!(r#""progressToken":"token {id}","#) } else { String::new() };
        let revision = match self.version == STATELESS {
            true => format!(
                r#""io.modelcontextprotocol/protocolVersion":"{}","io.modelcontextprotocol/clientInfo":{{"name":"near","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}},"#,
                self.version.as_str()
            ),
            false => String::new(),
        };
        let meta = format!(r#""_meta":{{{revision}{token}"com.example/own":{{"z":1.0,"a":1E2}}}}"#);
        let comma = if text == "{%}" { "" } else { "," };
        text.replace('@', self.prefix).replace('%', &format!("{comma}{meta}"))
    }

    /// The script: for each request all that came back, with the server's own names.
    async fn run(&mut self) -> Vec<Vec<(String, String)>> {
        self.open().await;
        let mut all = Vec::new();
        for (number, (method, text)) in SCRIPT.iter().enumerate() {
            let params = self.params(text, number + 1);
            let messages = self.request(number + 1, method, &params).await;
            all.push(messages.iter().flat_map(|message| self.told(method, message)).collect());
        }
        all
    }

    /// The members of a message.
    fn told(&self, method: &str, message: &Params) -> Vec<(String, String)> {
        let inner = ["params", "result", "error"].into_iter().find_map(|part| Some((part, message.get(part)?)));
        let (part, text) = inner.unwrap();
        let list = method.ends_with("/list");
        let members = members(&Params::from_text(text).unwrap()).into_iter();
        // How long a list may be cached is the host's to say.
        let own = members.filter(|(key, _)| !list || !matches!(&**key, "ttlMs" | "cacheScope" | "resultType"));
        let plain = |text: String| text.replace(&format!(r#""name":"{}"#, self.prefix), r#""name":""#);
        own.map(|(key, text)| (format!("{part}/{key}"), plain(text))).collect()
    }
}

#[tokio::test]
async fn acceptance_03_a_session_through_the_host_is_the_session_of_the_server() {
    for version in [SESSIONS, STATELESS] {
        in_time(version, async {
            let direct = Scripted::new(version);
            let (near, far) = tokio::io::duplex(1 << 16);
            tokio::spawn(direct.clone().serve(far));
            let answers = Wire::new(near, version, "").run().await;

            let through = Scripted::new(version);
            let host = Host::builder().server("s", through.clone()).build();
            host.ready(std::time::Duration::from_secs(10)).await;
            let (near, far) = tokio::io::duplex(1 << 16);
            let (reader, writer) = tokio::io::split(far);
            tokio::spawn(pipe(reader, writer).serve(host.service(), Limits::default()));
            let same = Wire::new(near, version, "s__").run().await;

            for (at, (method, text)) in SCRIPT.iter().enumerate() {
                assert_eq!(same[at], answers[at], "{version}: {method} {text}");
            }
            assert_eq!(through.received(), direct.received(), "{version}");
            assert_eq!(direct.received().len(), SCRIPT.iter().filter(|(method, _)| !method.ends_with("/list")).count());
            let progress = answers.iter().flatten().filter(|(key, _)| key == "params/progress").count();
            assert_eq!(progress, 2, "{version}");
        })
        .await;
    }
}
