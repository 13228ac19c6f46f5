// JSON as it was sent: a parser whose nodes know their place in the source, so that the spelling of numbers and the
// order of keys stay.

/** @typedef {"object"|"array"|"string"|"number"|"boolean"|"null"} Kind */

const MAX_DEPTH = 512;

/** A value that is written into JSON as it stands. */
export class Raw {
	/** @param {string} text */
	constructor(text) {
		this.text = text;
	}
}

/** A JSON value with its place in the source text. */
export class JsonNode {
	/** @param {Kind} kind @param {string} source @param {number} start */
	constructor(kind, source, start) {
		this.kind = kind;
		this.source = source;
		this.start = start;
		this.end = start;
		/** @type {JsonNode[]} */
		this.items = [];
		/** @type {JsonNode[]} */
		this.keys = [];
	}

	/** The text of the value, as it was sent. */
	get raw() {
		return this.source.slice(this.start, this.end);
	}

	/** The value in JavaScript. @returns {any} */
	get value() {
		return JSON.parse(this.raw);
	}

	/** The names of an object's members. */
	get names() {
		return this.keys.map((key) => /** @type {string} */ (key.value));
	}

	/** Returns a member or an item. The last of several members with one name counts, as in `JSON.parse`. @param {string|number} name @returns {JsonNode|undefined} */
	get(name) {
		if (this.kind === "array") return this.items[Number(name)];
		const quoted = JSON.stringify(name);
		for (let i = this.keys.length - 1; i >= 0; i--) {
			const key = this.keys[i];
			if (key.raw === quoted || key.value === name) return this.items[i];
		}
		return undefined;
	}

	/** @param {Path} path @returns {JsonNode|undefined} */
	at(path) {
		/** @type {JsonNode|undefined} */
		let node = this;
		for (const name of path) node = node?.get(name);
		return node;
	}
}

/** An error of a JSON text, with its place. */
export class JsonError extends Error {
	/** @param {string} message @param {string} source @param {number} at */
	constructor(message, source, at) {
		const before = source.slice(0, at).split("\n");
		super(`${message} at line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`);
		this.at = at;
	}
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

/** Parses a JSON text. @param {string} source @returns {JsonNode} @throws {JsonError} */
export function parse(source) {
	let at = 0;
	/** @param {string} message @returns {never} */
	const fail = (message) => {
		throw new JsonError(message, source, at);
	};
	const space = () => {
		for (;;) {
			const c = source.charCodeAt(at);
			if (c !== 32 && c !== 10 && c !== 13 && c !== 9) return;
			at++;
		}
	};
	/** @param {RegExp} pattern @param {Kind} kind @param {string} message */
	const scalar = (pattern, kind, message) => {
		const node = new JsonNode(kind, source, at);
		pattern.lastIndex = at;
		if (!pattern.test(source)) fail(message);
		at = node.end = pattern.lastIndex;
		return node;
	};
	/** @param {string} word @param {Kind} kind */
	const word = (word, kind) => {
		if (!source.startsWith(word, at)) fail(at >= source.length ? "the text ends too early" : "a value is expected");
		const node = new JsonNode(kind, source, at);
		at = node.end = at + word.length;
		return node;
	};
	/** A regular expression overflows the stack with strings of megabytes. */
	const string = () => {
		const node = new JsonNode("string", source, at);
		let end = at + 1;
		for (;;) {
			end = source.indexOf('"', end);
			if (end < 0) fail("a string is not closed");
			let slashes = 0;
			while (source.charCodeAt(end - 1 - slashes) === 92) slashes++;
			end++;
			if (slashes % 2 === 0) break;
		}
		if (end - at < 10_000) return scalar(STRING, "string", "the string is invalid");
		try {
			JSON.parse(source.slice(at, end));
		} catch {
			fail("the string is invalid");
		}
		at = node.end = end;
		return node;
	};
	/** @param {number} depth @returns {JsonNode} */
	const value = (depth) => {
		if (depth > MAX_DEPTH) fail("the nesting is too deep");
		space();
		switch (source[at]) {
			case "{": return container("object", "}", depth);
			case "[": return container("array", "]", depth);
			case '"': return string();
			case "t": return word("true", "boolean");
			case "f": return word("false", "boolean");
			case "n": return word("null", "null");
			default: return /[-\d]/.test(source[at] ?? "") ? scalar(NUMBER, "number", "the number is invalid") : word("a value", "null");
		}
	};
	/** @param {"object"|"array"} kind @param {string} close @param {number} depth */
	const container = (kind, close, depth) => {
		const node = new JsonNode(kind, source, at);
		at++;
		space();
		while (source[at] !== close) {
			if (kind === "object") {
				if (source[at] !== '"') fail("a member's name is expected");
				node.keys.push(string());
				space();
				if (source[at] !== ":") fail("`:` is expected");
				at++;
			}
			node.items.push(value(depth + 1));
			space();
			if (source[at] === ",") {
				at++;
				space();
				if (source[at] === close) fail("a comma is not followed by a value");
			} else if (source[at] !== close) fail(`\`,\` or \`${close}\` is expected`);
		}
		node.end = ++at;
		return node;
	};
	const node = value(0);
	space();
	if (at < source.length) fail("the text goes on after the value");
	return node;
}

/** Parses a JSON text, or returns nothing if it is invalid. @param {string} source */
export function tryParse(source) {
	try {
		return parse(source);
	} catch {
		return undefined;
	}
}

/** Writes a value as JSON; `Raw` and `JsonNode` are written as they stand. @param {any} value @returns {string} */
export function write(value) {
	if (value instanceof Raw) return value.text;
	if (value instanceof JsonNode) return value.raw;
	if (Array.isArray(value)) return `[${value.map((item) => (item === undefined ? "null" : write(item))).join(",")}]`;
	if (value && typeof value === "object") {
		const members = Object.entries(value).filter(([, item]) => item !== undefined);
		return `{${members.map(([name, item]) => `${JSON.stringify(name)}:${write(item)}`).join(",")}}`;
	}
	return JSON.stringify(value ?? null);
}

/** Writes a node with line breaks, without changing spelling and order. @param {JsonNode} node @param {string} [indent] @returns {string} */
export function pretty(node, indent = "") {
	if (!node.items.length) return node.kind === "object" ? "{}" : node.kind === "array" ? "[]" : node.raw;
	const inner = `${indent}  `;
	const lines = node.items.map((item, i) => {
		const key = node.kind === "object" ? `${node.keys[i].raw}: ` : "";
		return `${inner}${key}${pretty(item, inner)}`;
	});
	const [open, close] = node.kind === "object" ? "{}" : "[]";
	return `${open}\n${lines.join(",\n")}\n${indent}${close}`;
}

/** @param {Path} path */
export function pointer(path) {
	return path.map((name) => `/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
