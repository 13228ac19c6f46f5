// A request as something to run elsewhere: `couplet call`, curl, a Rust test.

import { actions, copy } from "./dom.js";
import { parse, pretty, tryParse, write } from "./json.js";
import { REVISION } from "./mcp.js";

/** Quotes a word for a shell. @param {string} word */
export function shell(word) {
	return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The arguments of `couplet call`: `key=text` and `key:=json`. @param {string} text @returns {string[]} */
export function callWords(text) {
	const node = tryParse(text.trim() || "{}");
	if (node?.kind !== "object") return [];
	return node.items.map((item, i) => {
		const name = String(node.keys[i].value);
		const simple = item.kind === "string" && !/^@/.test(item.value) && /^[^=:]+$/.test(name);
		return shell(simple ? `${name}=${item.value}` : `${name}:=${compact(item.raw)}`);
	});
}

/** @param {string} raw */
const compact = (raw) => write(parse(raw).value);

/** @param {string} target @param {Asked} request */
export function asCouplet(target, request) {
	const at = shell(target);
	switch (request.method) {
		case "tools/call": return ["couplet call", at, shell(request.params.name), ...callWords(request.text)].join(" ");
		case "resources/read": return `couplet read ${at} ${shell(request.params.uri)}`;
		case "prompts/get": return ["couplet prompt", at, shell(request.params.name), ...callWords(request.text)].join(" ");
		default: return `couplet list ${at}`;
	}
}

/** The message of revision 2026-07-28, whole. @param {Asked} request */
function body(request) {
	const meta = { "io.modelcontextprotocol/protocolVersion": REVISION, "io.modelcontextprotocol/clientCapabilities": {} };
	return write({ jsonrpc: "2.0", id: 1, method: request.method, params: { ...request.params, _meta: meta } });
}

/** @param {Target} target @param {Asked} request */
export function asCurl(target, request) {
	const json = body(request);
	if (!/^https?:/.test(target.target)) return `echo ${shell(json)} | ${target.target}`;
	const name = request.params?.name ?? request.params?.uri;
	const headers = ["Content-Type: application/json", "Accept: application/json, text/event-stream", `MCP-Protocol-Version: ${REVISION}`, `Mcp-Method: ${request.method}`];
	if (name) headers.push(`Mcp-Name: ${name}`);
	return ["curl", shell(target.target), ...headers.map((one) => `-H ${shell(one)}`), "-d", shell(json)].join(" \\\n  ");
}

/** Quotes a string for Rust. @param {string} text */
const rust = (text) => JSON.stringify(text).replaceAll(/\\u([0-9a-f]{4})/g, "\\u{$1}").replaceAll(/\\[bf]/g, "");

/** A test with the client of `couplet`. @param {Target} target @param {Asked} request */
export function asRust(target, request) {
	const node = tryParse(request.text.trim() || "{}");
	const args = node ? pretty(node, "        ") : "{}";
	const name = String(request.params?.name ?? request.params?.uri ?? request.method);
	const test = name.toLowerCase().replaceAll(/\W+/g, "_").replaceAll(/^_+|_+$/g, "") || "call";
	const [program, ...words] = target.target.split(/\s+/);
	const command = `Command::new(${rust(program)})${words.length ? `.args([${words.map(rust).join(", ")}])` : ""}`;
	const place = /^https?:/.test(target.target) ? rust(target.target) : command;
	const call = request.method === "tools/call" ? `call(${rust(name)}, json!(${args})).await?.into_result()?`
		: request.method === "resources/read" ? `read(${rust(name)}).await?` : `prompt(${rust(name)}, json!(${args})).await?`;
	return [
		"use couplet::prelude::*;", "use serde_json::json;", "", "#[tokio::test]", `async fn ${test}() -> couplet::Result<()> {`,
		`    let client = Client::new("test", "1.0.0").connect(${place}).await?;`, `    let result = client.${call};`,
		'    println!("{result:?}");', "    client.close().await", "}", "",
	].join("\n");
}

/** A menu to copy a request. @param {Session} session @param {() => Asked} request */
export function copyMenu(session, request) {
	return actions("Copy the request", ["copy as…", "couplet call", "curl", "Rust test", "JSON message"], (what) => {
		const target = session.info.value;
		const one = request();
		const text = what === "couplet call" ? asCouplet(target.target, one) : what === "curl" ? asCurl(target, one) : what === "Rust test" ? asRust(target, one) : body(one);
		copy(text, `${what} copied`);
	});
}
