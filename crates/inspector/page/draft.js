// Arguments that the user is writing. The text is the truth: the form changes parts of it and never rewrites the rest.

import { removeAt, setAt } from "./edit.js";
import { JsonError, parse, pretty, write } from "./json.js";
import { choices, resolve, same, validate } from "./schema.js";
import { Signal } from "./store.js";

/** The text of a value with its schema. */
export class Draft {
	/** @param {any} schema @param {string} [text] */
	constructor(schema, text) {
		this.schema = schema ?? {};
		this.text = text ?? start(this.schema);
		/** @type {JsonNode|null} */
		this.node = null;
		/** Why the text is not JSON. */
		this.error = "";
		/** Fields whose text is not a value of their type, by path. @type {Map<string, string>} */
		this.invalid = new Map();
		/** Counts the changes. */
		this.changes = new Signal(0);
		this.parse();
	}

	parse() {
		try {
			this.node = parse(this.text.trim() ? this.text : "{}");
			this.error = "";
		} catch (error) {
			this.node = null;
			this.error = error instanceof JsonError ? error.message : String(error);
		}
	}

	/** Takes a text that the user wrote. @param {string} text */
	replace(text) {
		this.text = text;
		this.invalid.clear();
		this.parse();
		this.changes.value++;
	}

	/** @param {Path} path @param {string} value JSON text. */
	set(path, value) {
		if (this.error) return;
		this.text = setAt(this.text, path, value);
		this.parse();
		this.changes.value++;
	}

	/** @param {Path} path */
	remove(path) {
		if (this.error) return;
		this.text = removeAt(this.text, path);
		this.parse();
		this.changes.value++;
	}

	/** What is wrong with the value. @returns {Problem[]} */
	problems() {
		if (!this.node) return [{ path: "", message: `the JSON text is invalid: ${this.error}` }];
		const found = validate(this.schema, this.node.value);
		for (const [path, message] of this.invalid) found.unshift({ path, message });
		return found;
	}
}

/** The text with which a value of a schema begins: defaults and constants. @param {any} schema */
export function start(schema) {
	const value = skeleton(schema, schema, 0);
	return pretty(parse(write(value ?? {})));
}

/** Returns a value with the defaults and constants of a schema, or nothing. @param {any} schema @param {any} root @param {number} depth @returns {any} */
export function skeleton(schema, root, depth) {
	const resolved = resolve(schema, root);
	if (resolved.default !== undefined) return resolved.default;
	if ("const" in resolved) return resolved.const;
	if (resolved.type !== "object" && !resolved.properties) return undefined;
	if (depth > 4) return {};
	/** @type {Record<string, any>} */
	const value = {};
	for (const [name, property] of Object.entries(resolved.properties ?? {})) {
		const inner = skeleton(property, root, depth + 1);
		const required = resolved.required?.includes(name);
		if (inner !== undefined && (required || !same(inner, {}))) value[name] = inner;
	}
	return value;
}

/** Returns the text of a new value of a schema, for an added item or a chosen alternative. @param {any} schema @param {any} root */
export function fresh(schema, root) {
	const resolved = resolve(schema, root);
	const value = skeleton(resolved, root, 0);
	if (value !== undefined) return write(value);
	const first = choices(resolved)?.[0];
	if (first) return write(first.value);
	switch ([resolved.type].flat()[0]) {
		case "array": return "[]";
		case "number": case "integer": return String(resolved.minimum ?? 0);
		case "boolean": return "false";
		case "null": return "null";
		case "object": return "{}";
		default: return '""';
	}
}
