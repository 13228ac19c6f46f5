// Changes to a JSON text that leave the rest of it as it was written.

import { parse, pretty } from "./json.js";

/**
 * Sets the value at a path and returns the new text. Missing parents are created.
 * @param {string} text A valid JSON text, or nothing.
 * @param {Path} path
 * @param {string} value JSON text.
 */
export function setAt(text, path, value) {
	if (!path.length) return value;
	const root = parse(text.trim() ? text : "{}");
	const source = root.source;
	let node = root;
	for (let depth = 0; depth < path.length; depth++) {
		const name = path[depth];
		const next = isContainer(node, name) ? node.get(name) : undefined;
		const inner = () => nested(path.slice(depth + 1), value);
		if (!isContainer(node, name)) return splice(source, node.start, node.end, nested(path.slice(depth), value));
		if (!next) return insert(source, node, typeof name === "number" ? null : name, inner());
		node = next;
	}
	return splice(source, node.start, node.end, laidOut(source, node.start, value, ""));
}

/** A container is written in lines if the text around it is. @param {string} source @param {number} at @param {string} value @param {string} more */
function laidOut(source, at, value, more) {
	if (!source.includes("\n") || !/^[[{]/.test(value)) return value;
	const indent = /^[ \t]*/.exec(source.slice(source.lastIndexOf("\n", at - 1) + 1, at))?.[0] ?? "";
	return pretty(parse(value), indent + more);
}

/** Removes the value at a path, if there is one, and returns the new text. @param {string} text @param {Path} path */
export function removeAt(text, path) {
	const root = parse(text.trim() ? text : "{}");
	const parent = root.at(path.slice(0, -1));
	const node = root.at(path);
	if (!parent || !node || !path.length) return text;
	const index = parent.items.indexOf(node);
	const begin = (/** @type {number} */ i) => (parent.kind === "object" ? parent.keys[i].start : parent.items[i].start);
	if (parent.items.length === 1) return splice(root.source, parent.start, parent.end, parent.kind === "object" ? "{}" : "[]");
	return index + 1 < parent.items.length
		? splice(root.source, begin(index), begin(index + 1), "")
		: splice(root.source, parent.items[index - 1].end, node.end, "");
}

/** @param {JsonNode} node @param {string|number} name */
function isContainer(node, name) {
	return node.kind === (typeof name === "number" ? "array" : "object");
}

/** @param {string} text @param {number} start @param {number} end @param {string} value */
function splice(text, start, end, value) {
	return text.slice(0, start) + value + text.slice(end);
}

/** @param {Path} path @param {string} value @returns {string} */
function nested(path, value) {
	if (!path.length) return value;
	const [name, ...rest] = path;
	return typeof name === "number" ? `[${nested(rest, value)}]` : `{ ${JSON.stringify(name)}: ${nested(rest, value)} }`;
}

/** Adds a member or an item at the end of a container, in the style of the others. @param {string} source @param {JsonNode} parent @param {string|null} name @param {string} value */
function insert(source, parent, name, value) {
	const last = parent.items.at(-1);
	const shown = laidOut(source, last?.start ?? parent.start, value, last ? "" : "  ");
	const member = name === null ? shown : `${JSON.stringify(name)}: ${shown}`;
	if (last) {
		const first = parent.kind === "object" ? parent.keys[0].start : parent.items[0].start;
		const gap = source.slice(parent.start + 1, first);
		return splice(source, last.end, last.end, `,${gap.includes("\n") ? gap : " "}${member}`);
	}
	const [open, close] = parent.kind === "object" ? "{}" : "[]";
	const line = source.slice(source.lastIndexOf("\n", parent.start) + 1, parent.start);
	const indent = /^\s*/.exec(line)?.[0] ?? "";
	const inner = parent.kind === "object" ? `\n${indent}  ${member}\n${indent}` : member;
	return splice(source, parent.start, parent.end, open + inner + close);
}
