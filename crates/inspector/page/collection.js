// Saved calls with their expectations, as a file that `couplet test` runs.

import { parse, tryParse } from "./json.js";
import { stored } from "./store.js";

/** @type {Signal<Saved[]>} */
export const collection = stored("collection", /** @type {Saved[]} */ ([]), localStorage);

/** Adds a call; the values of the last result become its expectations. @param {{target: string, tool: string, text: string, result: any}} call */
export function addToCollection({ target, tool, text, result }) {
	const same = collection.value.filter((one) => one.tool === tool).length;
	/** @type {Saved} */
	const saved = {
		target, tool, text: text.trim() || "{}", name: same ? `${tool} ${same + 1}` : tool,
		expect: result?.isError ? "error" : "ok", pointers: expectations(result), snapshot: false,
	};
	collection.value = [...collection.value, saved];
}

/** @param {any} result @returns {Record<string, string>} */
function expectations(result) {
	/** @type {Record<string, string>} */
	const found = {};
	const structured = result?.structuredContent;
	if (structured && typeof structured === "object" && !Array.isArray(structured)) {
		for (const [name, value] of Object.entries(structured).slice(0, 20)) {
			if (value === null || typeof value === "object") continue;
			found[`/structuredContent/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`] = JSON.stringify(value);
		}
	} else if (typeof result?.content?.[0]?.text === "string" && result.content[0].text.length < 500) {
		found["/content/0/text"] = JSON.stringify(result.content[0].text);
	}
	return found;
}

/** @param {string} text */
function string(text) {
	return JSON.stringify(text).replaceAll(/[\x7f-\x9f\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** @param {string} name */
const key = (name) => (/^[\w-]+$/.test(name) ? name : string(name));

/** Writes a JSON value as TOML; nothing if it has a null, which TOML lacks. @param {JsonNode} node @returns {string|null} */
export function toml(node) {
	switch (node.kind) {
		case "null": return null;
		case "string": return string(node.value);
		case "number": return /^-?\d+$/.test(node.raw) || /\./.test(node.raw) ? node.raw : node.raw.replace(/[eE]/, ".0e");
		case "boolean": return node.raw;
		case "array": {
			const items = node.items.map(toml);
			return items.includes(null) ? null : `[${items.join(", ")}]`;
		}
		default: {
			const members = node.items.map((item, i) => ({ name: String(node.keys[i].value), value: toml(item) }));
			if (members.some(({ value }) => value === null)) return null;
			return members.length ? `{ ${members.map(({ name, value }) => `${key(name)} = ${value}`).join(", ")} }` : "{}";
		}
	}
}

/** The calls of one target as a file. @param {Saved[]} calls @returns {string} */
export function collectionFile(calls) {
	const lines = [`target = ${string(calls[0]?.target ?? "")}`];
	for (const call of calls) {
		const node = tryParse(call.text);
		lines.push("", "[[call]]", `name = ${string(call.name)}`, `tool = ${literal(string(call.tool))}`,
			`arguments = ${literal((node && toml(node)) ?? string(call.text))}`);
		const pointers = Object.entries(call.pointers);
		if (call.expect === "error" || call.snapshot) lines.push("", "[call.expect]");
		if (call.expect === "error") lines.push("error = true");
		if (call.snapshot) lines.push("snapshot = true");
		if (pointers.length) lines.push("", "[call.expect.pointer]");
		for (const [path, text] of pointers) {
			const value = tryParse(text);
			lines.push(`${string(path)} = ${!value || value.kind === "null" ? '{ type = "null" }' : expected(value)}`);
		}
	}
	return `${lines.join("\n")}\n`;
}

/** A saved value is named by `${`; here it is text. @param {string} text */
const literal = (text) => text.replaceAll("${", () => "$${");

/** @param {JsonNode} node */
function expected(node) {
	const value = literal(toml(node) ?? string(""));
	return node.kind === "object" ? `{ equals = ${value} }` : value;
}

/** The files, one for each target. @param {Saved[]} calls @returns {string[]} */
export function collectionFiles(calls) {
	const targets = [...new Set(calls.map((call) => call.target))];
	return targets.map((target) => collectionFile(calls.filter((call) => call.target === target)));
}

/** Whether a text is JSON. @param {string} text */
export function isJson(text) {
	try {
		parse(text);
		return true;
	} catch {
		return false;
	}
}
