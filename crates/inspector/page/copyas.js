// A request as something to run elsewhere: `couplet call`, curl, a Rust test.

import { hasBearer } from "./api.js";
import { actions, copy, say } from "./dom.js";
import { parse, pretty, tryParse, write } from "./json.js";
import { headerValue, hasName, META, paramHeaders, REVISION } from "./mcp.js";

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

/** Splits a command as a shell does, without its other features. @param {string} text */
export function commandWords(text) {
	const words = [...text.matchAll(/(?:[^\s"'\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+/gs)].map(([word]) => word);
	return words.map((word) => word.replaceAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gs, (_, single, double, escaped) => single ?? double?.replaceAll(/\\(["\\$`])/g, "$1") ?? escaped));
}

/** The shell variable that has the value of a header. @param {string} name */
const variable = (name) => `$${name.toUpperCase().replaceAll(/\W/g, "_")}`;

/** The command for a request; empty if there is none. @param {Target} target @param {Asked} request */
export function asCouplet(target, request) {
	const options = [target.asked === "auto" || target.kind === "endpoint" ? "" : ` --revision ${target.asked}`, ...(target.headers ?? []).map((name) => ` --header "${name}: ${variable(name)}"`)].join("");
	const at = `${shell(target.target)}${options}`;
	switch (request.method) {
		case "tools/call": return ["couplet call", at, shell(request.params.name), ...callWords(request.text)].join(" ");
		case "resources/read": return `couplet read ${at} ${shell(request.params.uri)}`;
		case "prompts/get": return ["couplet prompt", at, shell(request.params.name), ...callWords(request.text)].join(" ");
		case "ping": return `couplet ping ${at}`;
		case "initialize": case "server/discover": return `couplet discover ${at}`;
		default: return /\/list$/.test(request.method) ? `couplet list ${at}` : "";
	}
}

/** @param {Target} target */
const hasSessions = (target) => (target.revision ?? REVISION) !== REVISION;

/** The message in the revision of the target. @param {Target} target @param {Asked} request */
export function asMessage(target, request) {
	const meta = { [`${META}protocolVersion`]: REVISION, [`${META}clientCapabilities`]: {} };
	return write({ jsonrpc: "2.0", id: 1, method: request.method, params: hasSessions(target) ? request.params : { ...request.params, _meta: meta } });
}

/** The messages that open a session. @param {Target} target */
const handshake = (target) => [
	write({ jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: target.revision, capabilities: {}, clientInfo: { name: "shell", version: "1" } } }),
	write({ jsonrpc: "2.0", method: "notifications/initialized" }),
];

/** Commands for a shell: curl, or the messages on standard input. Empty if the command of the target is not known. @param {Target} target @param {Asked} request */
export function asCurl(target, request) {
	const json = asMessage(target, request);
	if (!/^https?:/.test(target.target)) {
		// The name of a configured server.
		if (target.name === target.target) return "";
		const messages = [...(hasSessions(target) ? handshake(target) : []), json];
		return `{ printf '%s\\n' ${messages.map(shell).join(" \\\n  ")}; sleep 2; } | ${target.target}`;
	}
	const secret = target.has_login || (target.kind === "endpoint" && hasBearer()) ? ["Authorization"] : [];
	const common = ["Content-Type: application/json", "Accept: application/json, text/event-stream"].map(shell)
		.concat([...(target.headers ?? []), ...secret].map((name) => `"${name}: ${variable(name)}"`));
	const curl = (/** @type {string} */ options, /** @type {string[]} */ headers, /** @type {string} */ body) => [`curl -s${options} ${shell(target.target)}`, ...[...common, ...headers].map((one) => `-H ${one}`), `-d ${shell(body)}`].join(" \\\n  ");
	if (!hasSessions(target)) {
		const name = request.params?.name ?? request.params?.uri ?? request.params?.taskId;
		const named = hasName(request.method) && typeof name === "string" ? { "Mcp-Name": headerValue(name) } : {};
		const own = { "MCP-Protocol-Version": REVISION, "Mcp-Method": request.method, ...named, ...paramHeaders(request.schema, tryParse(request.text)?.value) };
		return curl("", Object.entries(own).map(([key, value]) => shell(`${key}: ${value}`)), json);
	}
	const [open, opened] = handshake(target);
	const session = ['"Mcp-Session-Id: $SESSION"', shell(`MCP-Protocol-Version: ${target.revision}`)];
	return [`SESSION=$(${curl("i", [], open)} | tr -d '\\r' | grep -i '^mcp-session-id:' | cut -d' ' -f2)`, curl("", session, opened), curl("", session, json)].join("\n");
}

/** Quotes a string for Rust. @param {string} text */
const rust = (text) => JSON.stringify(text).replaceAll(/\\u([0-9a-f]{4})/g, "\\u{$1}").replaceAll(/\\[bf]/g, "");

/** A test with the client of `couplet`, which expects the last result; empty for other methods. @param {Target} target @param {Asked} request */
export function asRust(target, request) {
	const node = tryParse(request.text.trim() || "{}");
	const args = node ? pretty(node, "        ") : "{}";
	const name = String(request.params?.name ?? request.params?.uri ?? "");
	const [call, member] = { "tools/call": [`call(${rust(name)}, json!(${args})).await?.into_result()?`, "content"], "resources/read": [`read(${rust(name)}).await?`, "contents"], "prompts/get": [`prompt(${rust(name)}, json!(${args})).await?`, "messages"] }[request.method] ?? [];
	const [program, ...words] = commandWords(target.target);
	const isUrl = /^https?:/.test(target.target);
	if (!call || !program || (!isUrl && target.name === target.target)) return "";
	const test = name.toLowerCase().replaceAll(/\W+/g, "_").replaceAll(/^_+|_+$/g, "") || "call";
	const command = `Command::new(${rust(program)})${words.length ? `.args([${words.map(rust).join(", ")}])` : ""}`;
	const expected = request.result?.isError ? undefined : request.result?.[member ?? ""];
	const check = expected === undefined ? `assert!(!result.${member}.is_empty());` : `assert_eq!(json!(result.${member}), json!(${pretty(parse(JSON.stringify(expected)), "    ")}));`;
	return [
		"use couplet::prelude::*;", "use serde_json::json;", "", "#[tokio::test]", `async fn ${test}() -> couplet::Result<()> {`,
		`    let client = Client::new("test", "1.0.0").connect(${isUrl ? rust(target.target) : command}).await?;`, `    let result = client.${call};`,
		`    ${check}`, "    client.close().await", "}", "",
	].join("\n");
}

/** @type {Record<string, (target: Target, request: Asked) => string>} */
const FORMATS = { "couplet call": asCouplet, curl: asCurl, "Rust test": asRust, "JSON message": asMessage };

/** A menu to copy a request. @param {Session} session @param {() => Asked} request */
export function copyMenu(session, request) {
	return actions("Copy the request", ["copy as…", ...Object.keys(FORMATS)], (what) => {
		const text = FORMATS[what](session.info.value, request());
		if (text) copy(text, `${what} copied`);
		else say(`this request has no form as ${what}`, "warn");
	});
}
