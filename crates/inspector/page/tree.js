// JSON as a tree: numbers and order as sent, long strings in pieces, parts to copy.

import { append, button, copy, h, LINK, span } from "./dom.js";
import { pointer, pretty } from "./json.js";
import { longText } from "./visible.js";

const CHUNK = 100;
const OPEN_CHARS = 4000;

/** Creates a tree of a JSON value. @param {JsonNode} node @param {TreeOptions} [options] */
export function tree(node, options = {}) {
	const root = h("div", { class: "tree mono", role: "tree", "aria-label": "JSON" });
	root.append(...branch(node, null, [], options, options.open ?? 2));
	root.addEventListener("keydown", (event) => keys(root, event));
	root.querySelector(".tree-row")?.setAttribute("tabindex", "0");
	return root;
}

/** @param {JsonNode} node @param {string|number|null} name @param {Path} path @param {TreeOptions} options @param {number} open @returns {HTMLElement[]} */
function branch(node, name, path, options, open) {
	const at = pointer(path);
	const isBranch = node.kind === "object" || node.kind === "array";
	const mark = options.marks?.get(at) ?? "";
	const row = h("div", { class: `tree-row ${mark}`, role: "treeitem", tabIndex: -1, "aria-level": path.length + 1, "data-path": at });
	row.style.setProperty("--depth", String(path.length));
	const label = name === null ? null : h("span", { class: typeof name === "number" ? "tree-index" : "tree-key" }, typeof name === "number" ? String(name) : name, ":");
	const note = options.notes?.get(at);
	const tail = [note ? span("tree-note", note) : null, tools(node, path)];
	if (!isBranch || !node.items.length) {
		append(row, [span("tree-twig"), label, leaf(node), ...tail]);
		return [row];
	}
	const count = `${node.items.length} ${node.kind === "object" ? (node.items.length === 1 ? "member" : "members") : node.items.length === 1 ? "item" : "items"}`;
	const twig = h("span", { class: "tree-twig", "aria-hidden": "true" });
	const brief = span("tree-brief", node.kind === "object" ? `{ ${brieflyNames(node)} }` : `[ ${count} ]`);
	append(row, [twig, label, brief, ...tail]);
	const children = h("div", { role: "group", class: "tree-children" });
	let filled = false;
	const toggle = (/** @type {boolean} */ isOpen) => {
		if (isOpen && !filled) {
			filled = true;
			grow(children, node, path, options, open - 1, 0);
		}
		children.hidden = !isOpen;
		row.setAttribute("aria-expanded", String(isOpen));
	};
	row.addEventListener("click", (event) => {
		if (/** @type {HTMLElement} */ (event.target).closest("button")) return;
		toggle(children.hidden);
	});
	row.addEventListener("tree-toggle", (event) => toggle(/** @type {CustomEvent} */ (event).detail ?? children.hidden));
	toggle(open > 0 && (path.length === 0 || node.items.length <= CHUNK));
	return [row, children];
}

/** @param {HTMLElement} children @param {JsonNode} node @param {Path} path @param {TreeOptions} options @param {number} open @param {number} from */
function grow(children, node, path, options, open, from) {
	const to = Math.min(node.items.length, from + CHUNK);
	for (let i = from; i < to; i++) {
		const name = node.kind === "object" ? String(node.keys[i].value) : i;
		children.append(...branch(node.items[i], name, [...path, name], options, open));
	}
	if (to === node.items.length) return;
	const more = button(`show ${Math.min(CHUNK, node.items.length - to)} more of ${node.items.length - to}`, () => {
		more.remove();
		grow(children, node, path, options, open, to);
	}, LINK);
	children.append(more);
}

/** Cuts a long name, of one with a prefix the prefix. @param {string} name */
export function shortName(name) {
	if (name.length <= 24) return name;
	const own = name.slice(name.lastIndexOf("/") + 1);
	return own && own.length < 24 ? `…/${own}` : `${name.slice(0, 23)}…`;
}

/** @param {JsonNode} node */
function brieflyNames(node) {
	const names = node.keys.slice(0, 5).map((key) => shortName(String(key.value)));
	return `${names.join(", ")}${node.keys.length > 5 ? ", …" : ""}`;
}

/** @param {JsonNode} node */
function leaf(node) {
	if (node.kind === "string") {
		const text = /** @type {string} */ (node.value);
		return span("json-string", '"', text.length > OPEN_CHARS ? longText(text, "inline") : text, '"');
	}
	return span(`json-${node.kind}`, node.kind === "object" ? "{}" : node.kind === "array" ? "[]" : node.raw);
}

/** Buttons to copy value, path and text. @param {JsonNode} node @param {Path} path */
function tools(node, path) {
	const one = (/** @type {string} */ label, /** @type {string} */ title, /** @type {() => string} */ text) =>
		button(label, () => copy(text(), `${title} copied`), { class: "tree-tool", title: `copy ${title}`, tabIndex: -1 });
	const isBranch = node.kind === "object" || node.kind === "array";
	return span("tree-tools",
		one("copy", isBranch ? "subtree" : "value", () => (node.kind === "string" ? node.value : isBranch ? pretty(node) : node.raw)),
		one("path", "path", () => pointer(path)));
}

/** @param {HTMLElement} root @param {KeyboardEvent} event */
function keys(root, event) {
	const row = /** @type {HTMLElement} */ (event.target).closest(".tree-row");
	if (!(row instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.altKey) return;
	const rows = /** @type {HTMLElement[]} */ ([...root.querySelectorAll(".tree-row")]).filter((one) => one.offsetParent !== null);
	const at = rows.indexOf(row);
	const expanded = row.getAttribute("aria-expanded");
	const focus = (/** @type {HTMLElement|undefined} */ to) => {
		if (!to) return;
		row.tabIndex = -1;
		to.tabIndex = 0;
		to.focus();
	};
	switch (event.key) {
		case "ArrowDown": focus(rows[at + 1]); break;
		case "ArrowUp": focus(rows[at - 1]); break;
		case "Home": focus(rows[0]); break;
		case "End": focus(rows.at(-1)); break;
		case "ArrowRight":
			if (expanded === "false") row.dispatchEvent(new CustomEvent("tree-toggle", { detail: true }));
			else focus(rows[at + 1]);
			break;
		case "ArrowLeft":
			if (expanded === "true") row.dispatchEvent(new CustomEvent("tree-toggle", { detail: false }));
			else focus(rows.slice(0, at).reverse().find((one) => Number(one.getAttribute("aria-level")) < Number(row.getAttribute("aria-level"))));
			break;
		case "Enter": case " ": row.dispatchEvent(new CustomEvent("tree-toggle")); break;
		case "c": {
			const tool = row.querySelector(".tree-tool");
			if (tool instanceof HTMLElement) tool.click();
			break;
		}
		default: return;
	}
	event.preventDefault();
}
