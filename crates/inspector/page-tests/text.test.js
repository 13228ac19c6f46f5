// Tests of the readers and writers of text: event streams, filters, differences, templates, headers, TOML.

import assert from "node:assert/strict";
import test from "node:test";

globalThis.sessionStorage = globalThis.localStorage = { getItem: () => null, setItem() {} };
globalThis.location = { hash: "" };
globalThis.addEventListener = () => {};
const { SseParser } = await import("../page/sse.js");
const { comparison, filter, words } = await import("../page/filter.js");
const { diff } = await import("../page/diff.js");
const { expand, variables } = await import("../page/uritemplate.js");
const { headerValue, paramHeaders } = await import("../page/mcp.js");
const { plain } = await import("../page/visible.js");
const { parseRoute } = await import("../page/router.js");
const { Events } = await import("../page/events.js");
const { collectionFile, toml } = await import("../page/collection.js");
const { asCouplet, asCurl, asMessage, asRust, callWords, commandWords, shell } = await import("../page/copyas.js");
const { parse } = await import("../page/json.js");
const { continued } = await import("../page/markdown.js");
const { recorded } = await import("../page/recording.js");
const { concerning } = await import("../page/panel-lint.js");
const { comparison: request } = await import("../page/panel-compare.js");
const { folders } = await import("../page/folders.js");
const { shortName } = await import("../page/tree.js");

test("events are read however the stream is cut", () => {
  const stream = ': hello\r\ndata: {"a":1}\r\n\r\nevent: x\ndata: one\ndata:two\n\ndata\n\n';
  const whole = new SseParser().push(stream);
  assert.deepEqual(whole, ['{"a":1}', "one\ntwo", ""]);
  for (let size = 1; size < 9; size++) {
    const parser = new SseParser();
    const found = [];
    for (let at = 0; at < stream.length; at += size) found.push(...parser.push(stream.slice(at, at + size)));
    assert.deepEqual(found, whole, `pieces of ${size}`);
  }
});

const entry = (part) => ({ seq: 1, t: 0, target: "t1", kind: "message", what: "request", dir: "out", method: "", name: "", id: "", status: "", duration: null, size: 0, text: "", cut: false, pair: null, ...part });

test("the filter's words", () => {
  assert.deepEqual(words('method:tools/call -status:ok "two words" http://x'), [
    { key: "method", value: "tools/call", not: false }, { key: "status", value: "ok", not: true },
    { key: "text", value: "two words", not: false }, { key: "text", value: "http://x", not: false }]);
});

test("the filter's tests", () => {
  const slow = entry({ method: "tools/call", duration: 12, status: "error", name: "echo", size: 2048, text: '{"x":"needle"}' });
  for (const text of ["", "method:tools/call dur:>5ms status:error needle", "method:tools/*", "dur:<1s size:>1kb", "name:echo name:other", "-name:other", "dir:out"]) assert.ok(filter(text).test(slow), text);
  for (const text of ["dur:>1s", "method:ping", "-needle", "size:<1kb", "dir:in", "status:ok"]) assert.ok(!filter(text).test(slow), text);
  assert.equal(filter("dur:soon").problems.length, 1);
  assert.equal(comparison(">5parsec"), null);
  assert.ok(!filter("dur:>0").test(entry({})), "what has no duration is not slow");
});

test("requests and answers are paired by target, direction and id", () => {
  const events = new Events();
  const add = (seq, target, dir, message) => events.add({ seq, t: seq * 10, target, kind: "message", dir, size: 1, text: JSON.stringify(message), cut: false });
  add(1, "a", "out", { id: 1, method: "tools/call", params: { name: "x" } });
  add(2, "a", "in", { id: 1, method: "roots/list" });
  add(3, "b", "in", { id: 1, result: {} });
  add(4, "a", "in", { id: 1, error: { code: 1, message: "no" } });
  add(5, "a", "out", { id: 1, result: {} });
  const [call, question, stray, answer, given] = events.entries;
  assert.equal(call.pair, answer);
  assert.equal(question.pair, given);
  assert.equal(stray.pair, null);
  assert.deepEqual([call.status, call.duration, answer.method, question.status], ["error", 30, "tools/call", "ok"]);
  assert.equal(events.find(4), answer);
});

test("each message has the revision that it was sent in", () => {
  const events = new Events();
  let seq = 0;
  const add = (dir, message) => events.add({ seq: ++seq, t: seq, target: "a", kind: "message", dir, size: 1, text: JSON.stringify(message), cut: false });
  const state = (revision) => events.add({ seq: ++seq, t: seq, target: "a", kind: "state", state: { state: "connected", detail: "connected", revision } });
  const named = (revision) => ({ _meta: { "io.modelcontextprotocol/protocolVersion": revision } });
  add("in", { method: "notifications/message", params: {} });
  add("out", { id: 1, method: "server/discover", params: named("2026-07-28") });
  add("in", { id: 1, error: { code: -32601, message: "no" } });
  add("out", { id: 2, method: "initialize", params: { protocolVersion: "2025-11-25" } });
  add("in", { id: 2, result: { protocolVersion: "2025-06-18", capabilities: {} } });
  state("2025-06-18");
  add("out", { id: 3, method: "tools/list" });
  add("in", { id: 3, result: { tools: [] } });
  add("out", { id: 4, method: "tools/call", params: { name: "x" } });
  state("2026-07-28");
  add("in", { id: 4, result: {} });
  add("in", { method: "notifications/progress", params: {} });
  const of = events.entries.filter((one) => one.kind === "message").map((one) => one.revision);
  assert.deepEqual(of, ["", "2026-07-28", "2026-07-28", "2025-11-25", "2025-06-18", "2025-06-18", "2025-06-18", "2025-06-18", "2025-06-18", "2026-07-28"]);
  const [, discover, , initialize] = events.entries;
  assert.ok(filter("rev:2026-07-28").test(discover) && !filter("rev:2026-07-28").test(initialize));
});

test("a recording of the page is one that other commands read", () => {
  const t = Date.UTC(2026, 8, 21, 14, 13, 20) + 0.25;
  const head = '{"time":"2026-09-21T14:13:20.000250Z","direction":"client-to-server","session":"t1","';
  assert.equal(recorded(entry({ t, text: '{ "id": 1.0,\n "method":"x"}' })), `${head}message":{ "id": 1.0,  "method":"x"}}`);
  assert.equal(recorded(entry({ t, text: "oh\nno" })), `${head}raw":"oh\\nno"}`);
  assert.match(recorded(entry({ t, dir: "in", text: "{}" })), /"server-to-client"/);
});

test("findings of lint concern what a message names or lists", () => {
  const findings = [{ kind: "tool", name: "a" }, { kind: "tool", name: "b" }, { kind: "template", name: "x://{id}" }, { kind: "prompt", name: "a" }, { kind: "server" }];
  const names = (part) => concerning(findings, entry(part)).map((one) => `${one.kind} ${one.name}`);
  assert.deepEqual(names({ what: "answer", method: "tools/list", text: '{"result":{"tools":[{"name":"a"},{"name":"c"}]}}' }), ["tool a"]);
  assert.deepEqual(names({ what: "answer", method: "resources/templates/list", text: '{"result":{"resourceTemplates":[{"uriTemplate":"x://{id}"}]}}' }), ["template x://{id}"]);
  assert.deepEqual(names({ method: "tools/call", name: "b" }), ["tool b"]);
  assert.deepEqual([names({ method: "tools/list" }), names({ what: "answer", method: "prompts/list", text: "oops" })], [[], []]);
});

test("lists, tools, prompts and resources are compared", () => {
  for (const [address, text, method, params] of [
    [["resources/templates/list"], "", "resources/templates/list", {}],
    [["echo"], '{"a":1}', "tools/call", { name: "echo", arguments: { a: 1 } }],
    [["prompts/get", "p"], '{"x":"y"}', "prompts/get", { name: "p", arguments: { x: "y" } }],
    [["resources/read", "a://b"], "", "resources/read", { uri: "a://b" }],
  ]) assert.deepEqual(request(address, text), { method, params });
});

test("resources are a tree of folders", () => {
  const uris = ["file:///src/a/x.rs", "file:///src/a/deep/er/y.rs", "file:///src/b.rs", "demo://one", "mail:7"];
  const rows = (closed) => folders(uris, (uri) => uri, new Set(closed)).map(({ depth, label, thing }) => `${"-".repeat(depth)}${label}${thing ? "" : " +"}`);
  assert.deepEqual(rows([]), ["demo:// +", "-one", "file:///src/ +", "-b.rs", "-a/ +", "--x.rs", "--deep/er/ +", "---y.rs", "mail: +", "-7"]);
  assert.deepEqual(rows(["file:///src/", "demo://"]), ["demo:// +", "file:///src/ +", "mail: +", "-7"]);
});

test("the ring does not grow for ever", () => {
  const events = new Events();
  for (let seq = 1; seq <= 60_000; seq++) events.add({ seq, t: seq, target: "a", kind: "message", dir: "out", size: 1, text: '{"id":' + seq + ',"method":"ping"}', cut: false });
  assert.ok(events.entries.length <= 50_000);
  assert.equal(events.dropped + events.entries.length, 60_000);
  assert.equal(events.pending.size, events.entries.length);
});

test("differences, line by line", () => {
  const lines = diff("a\nb\nc", "a\nx\nc\nd");
  assert.deepEqual(lines.map(({ kind, text }) => `${kind[0]}${text}`), ["sa", "rb", "ax", "sc", "ad"]);
  assert.deepEqual(diff("", ""), [{ kind: "same", text: "" }]);
});

test("URI templates of RFC 6570", () => {
  const values = { var: "value", hello: "Hello World!", path: "foo/bar", x: "1024", y: "768" };
  const cases = { "{var}": "value", "{hello}": "Hello%20World%21", "{+path}/here": "foo/bar/here", "{#x,hello}": "#1024,Hello%20World!", "X{.x,y}": "X.1024.768", "{/var,x}/here": "/value/1024/here", "{;x,y}": ";x=1024;y=768", "{?x,y}": "?x=1024&y=768", "?fixed=yes{&x}": "?fixed=yes&x=1024", "{var:3}": "val", "{undef}": "", "{?undef}": "", "file:///{path*}": "file:///foo/bar" };
  for (const [template, expected] of Object.entries(cases)) assert.equal(expand(template, values), expected, template);
  assert.deepEqual(variables("a/{x}{?y,z*}{x:3}"), ["x", "y", "z"]);
});

test("headers as revision 2026-07-28 encodes them", () => {
  assert.equal(headerValue("plain value"), "plain value");
  assert.equal(headerValue("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
  assert.equal(headerValue(" padded "), "=?base64?IHBhZGRlZCA=?=");
  assert.equal(headerValue("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
  assert.equal(headerValue(""), "");
  const schema = { properties: { region: { "x-mcp-header": "Region" }, deep: { properties: { n: { "x-mcp-header": "N" } } }, off: { "x-mcp-header": "Off" } } };
  assert.deepEqual(paramHeaders(schema, { region: "eu", deep: { n: 42 }, off: null }), { "Mcp-Param-Region": "eu", "Mcp-Param-N": "42" });
});

test("hidden characters are visible", () => {
  assert.equal(plain("a\u001b[31mred\u202e\u0000 \tb\n"), "a⟦ESC[31m⟧red⟦U+202E⟧⟦U+0000⟧ \tb\n");
  assert.equal(plain("é 世界 😀"), "é 世界 😀");
  assert.equal(plain("\ud800"), "⟦U+D800⟧");
});

test("addresses are read back", () => {
  assert.deepEqual(parseRoute("#/tools/a%2Fb"), { panel: "tools", rest: ["a/b"] });
  assert.deepEqual(parseRoute("#token=abc&/messages/214"), { panel: "messages", rest: ["214"] });
  assert.deepEqual(parseRoute("#/@t2/tools/echo"), { panel: "tools", rest: ["echo"], target: "t2" });
  assert.deepEqual(parseRoute(""), { panel: "overview", rest: [] });
  assert.deepEqual(parseRoute("#/x/%E0%A4%A"), { panel: "x", rest: ["%E0%A4%A"] });
});

test("a collection is TOML", () => {
  assert.equal(toml(parse('{"a b": [1, 2.5, 1e3], "c": "q\\"\\u0001"}')), '{ "a b" = [1, 2.5, 1.0e3], c = "q\\"\\u0001" }');
  assert.equal(toml(parse('{"a": null}')), null);
  const file = collectionFile([{ target: "srv", tool: "sum", name: "sum", text: '{"a":1}', expect: "ok", pointers: { "/structuredContent/sum": "5", "/x": '{"a":"${b}"}', "/y": "null" }, snapshot: true }]);
  assert.match(file, /^target = "srv"\n\n\[\[call\]\]\nname = "sum"\ntool = "sum"\narguments = \{ a = 1 \}\n/);
  assert.ok(file.endsWith('[call.expect]\nsnapshot = true\n\n[call.expect.pointer]\n"/structuredContent/sum" = 5\n"/x" = { equals = { a = "$${b}" } }\n"/y" = { type = "null" }\n'), file);
  const other = collectionFile([{ target: "srv", tool: "sum", name: "sum", text: '{"a":null}', expect: "error", pointers: {}, snapshot: false }]);
  assert.ok(other.endsWith('arguments = "{\\"a\\":null}"\n\n[call.expect]\nerror = true\n'), other);
});

test("arguments of `couplet call` survive a shell", () => {
  assert.equal(shell("it's"), `'it'\\''s'`);
  assert.deepEqual(callWords('{"a": 1, "b": "x y", "c": "@file"}'), ["a:=1", "'b=x y'", `'c:="@file"'`]);
});

test("a request is copied in the revision of its target", () => {
  const target = { id: "t1", name: "srv", target: "node 'my server.js' --x \"a b\"", kind: "command", asked: "auto", revision: "2025-11-25" };
  const url = { ...target, target: "https://example.com/mcp", kind: "url", revision: "2026-07-28", asked: "2026-07-28", headers: ["X-Key"], has_login: true };
  const call = { method: "tools/call", params: { name: "größe", arguments: { region: "eu" } }, text: '{"region":"eu"}', schema: { properties: { region: { "x-mcp-header": "Region" } } }, result: { content: [{ type: "text", text: "5" }] } };
  assert.deepEqual(commandWords(target.target), ["node", "my server.js", "--x", "a b"]);
  assert.deepEqual(commandWords("a\\ b ''"), ["a b", ""]);
  assert.equal(asMessage(target, call), '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"größe","arguments":{"region":"eu"}}}');
  assert.match(asMessage(url, call), /"_meta":\{"io.modelcontextprotocol\/protocolVersion":"2026-07-28"/);
  const piped = asCurl(target, call);
  assert.ok(/"initialize".*"2025-11-25"[^]*notifications\/initialized[^]*tools\/call[^]*\| node 'my server.js' --x "a b"$/.test(piped), piped);
  const curl = asCurl(url, call);
  for (const part of ["-H 'Mcp-Name: =?base64?Z3LDtsOfZQ==?='", "-H 'Mcp-Param-Region: eu'", '-H "X-Key: $X_KEY"', '-H "Authorization: $AUTHORIZATION"', "-H 'MCP-Protocol-Version: 2026-07-28'"]) assert.ok(curl.includes(part), `${part} in ${curl}`);
  const session = asCurl({ ...url, revision: "2025-06-18" }, call);
  assert.ok(/^SESSION=\$\(curl -si[^]*"initialize"[^]*"Mcp-Session-Id: \$SESSION"[^]*MCP-Protocol-Version: 2025-06-18[^]*tools\/call/.test(session) && !session.includes("Mcp-Method"), session);
  assert.equal(asCouplet(url, call), `couplet call https://example.com/mcp --revision 2026-07-28 --header "X-Key: $X_KEY" 'größe' region=eu`);
  for (const [method, expected] of [["tools/list", "couplet list srv"], ["ping", "couplet ping srv"], ["server/discover", "couplet discover srv"], ["logging/setLevel", ""]]) {
    assert.equal(asCouplet({ ...target, target: "srv" }, { method, params: {}, text: "{}" }), expected, method);
  }
  const test = asRust(target, call);
  assert.ok(test.includes('Command::new("node").args(["my server.js", "--x", "a b"])') && /assert_eq!\(json!\(result\.content\), json!\(\[/.test(test) && test.includes('"text": "5"'), test);
  assert.match(asRust(target, { ...call, result: undefined }), /assert!\(!result\.content\.is_empty\(\)\);/);
  assert.deepEqual([asRust(target, { method: "ping", params: {}, text: "{}" }), asCurl({ ...target, target: "srv" }, call)], ["", ""]);
});

test("lines of Markdown go on with the paragraph before them", () => {
	for (const [lines, count] of [[["and so on", "to the end"], 2], [["and", "", "new"], 1], [["- an item"], 0], [["and", "1. an item"], 1], [["```"], 0], [["# title"], 0], [[], 0]]) {
		assert.equal(continued(lines), count, lines.join("|"));
	}
});

test("long names keep the part that tells them apart", () => {
	assert.deepEqual(["name", "io.modelcontextprotocol/ui", "a".repeat(30), `${"a".repeat(30)}/`].map(shortName), ["name", "…/ui", `${"a".repeat(23)}…`, `${"a".repeat(23)}…`]);
});
