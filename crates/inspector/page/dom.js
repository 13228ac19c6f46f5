// Elements without markup in strings: everything a server says becomes a text node.

import { plain, visible } from "./visible.js";

/**
 * Creates an element. `on*` members are listeners, `class`, `data-*` and `aria-*` attributes, others properties.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>|null} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(props ?? {})) set(element, name, value);
	append(element, children);
	return element;
}

/** @param {HTMLElement} element @param {string} name @param {any} value */
function set(element, name, value) {
	if (value === undefined || value === null || value === false) return;
	if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
	else if (name === "class") element.className = value;
	else if (name.includes("-") || name === "role" || name === "for" || name === "list") {
		element.setAttribute(name, value === true ? "" : plain(value));
	} else if (name === "title" || name === "placeholder") element.setAttribute(name, plain(value));
	else /** @type {any} */ (element)[name] = value;
}

/** Appends children; strings become text nodes in which hidden characters are visible. @param {Node} parent @param {Child[]} children */
export function append(parent, children) {
	for (const child of children) {
		if (child === null || child === undefined || child === false) continue;
		if (Array.isArray(child)) append(parent, child);
		else parent.appendChild(child instanceof Node ? child : visible(child));
	}
}

/** @param {Child} title @param {...Child} after */
export const heading = (title, ...after) => h("div", { class: "heading" }, h("h2", null, title), ...after);

/** Creates a list of names and values; those without a value are left out. @param {Record<string, Child>} values */
export const facts = (values) => h("dl", { class: "facts" }, ...Object.entries(values).map(([name, value]) => (value ? [h("dt", null, name), h("dd", null, value)] : null)));

/** Creates a menu; options are texts, or values with their texts. @param {Record<string, any>} props @param {(string|[string, string])[]} options @param {string} [value] The selected one. */
export const menu = (props, options, value) => h("select", props, ...options.map((one) => {
	const [own, text] = typeof one === "string" ? [one, one] : one;
	return h("option", { value: own, selected: own === value }, text);
}));

/** Lets arrow keys open a menu whose choice acts at once, instead of choosing. @template {HTMLSelectElement} T @param {T} select */
export function opening(select) {
	select.addEventListener("keydown", (event) => {
		if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
		event.preventDefault();
		select.showPicker();
	});
	return select;
}

/** Creates a menu of actions; the first option is its title. @param {string} label @param {string[]} options @param {(what: string) => void} run */
export function actions(label, options, run) {
	const select = opening(menu({ "aria-label": label, class: "quiet" }, options));
	select.addEventListener("change", () => {
		const what = select.value;
		select.selectedIndex = 0;
		run(what);
	});
	return select;
}

/** Creates a table. @param {Child[][]} rows @param {string[]} [head] */
export function table(rows, head) {
	const line = (/** @type {"td"|"th"} */ tag, /** @type {Child[]} */ cells) => h("tr", null, ...cells.map((cell) => h(tag, null, cell)));
	return h("table", { class: "grid" }, head ? h("thead", null, line("th", head)) : null, h("tbody", null, ...rows.map((row) => line("td", row))));
}

/** Shows what is between backticks as code. @param {unknown} text @returns {Child} */
export const ticks = (text) => String(text ?? "").split("`").map((part, i) => (i % 2 ? h("code", null, part) : part));

/** @param {string} name @param {...Child} children */
export const div = (name, ...children) => h("div", name ? { class: name } : null, ...children);

/** @param {string} name @param {...Child} children */
export const span = (name, ...children) => h("span", name ? { class: name } : null, ...children);

/** @param {string} name @param {...Child} children */
export const para = (name, ...children) => h("p", name ? { class: name } : null, ...children);

/** @param {...Child} children */
export const pre = (...children) => h("pre", { class: "mono text" }, ...children);

/** Replaces the children of an element. @param {Element} element @param {...Child} children */
export function fill(element, ...children) {
	element.replaceChildren();
	append(element, children);
}

/** Creates an SVG element. @param {string} tag @param {Record<string, string|number>} attributes @param {...Child} children @returns {SVGElement} */
export function svg(tag, attributes, ...children) {
	const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
	append(element, children);
	return element;
}

/** Creates a button. @param {string} label @param {(event: MouseEvent) => void} onclick @param {Record<string, any>} [props] */
export function button(label, onclick, props) {
	return h("button", { type: "button", onclick, ...props }, label);
}

/** The look of a button that is less than others. */
export const QUIET = { class: "quiet" };
export const LINK = { class: "link" };

/** Creates a small label. @param {string} text @param {string} [kind] One of `ok`, `warn`, `bad`, `info`. @param {string} [title] */
export function badge(text, kind = "", title) {
	return h("span", { class: `badge ${kind}`, title }, text);
}

/** Creates the content of a panel that has nothing to show. @param {string} what @param {...Child} how */
export function empty(what, ...how) {
	return h("div", { class: "empty" }, h("p", { class: "empty-what" }, ticks(what)), how.length ? h("p", null, ...how.map((one) => (typeof one === "string" ? ticks(one) : one))) : null);
}

/** Creates a line with a field and its label. @param {string} label @param {HTMLElement} field */
export const labelled = (label, field) => div("field-line", h("label", { for: field.id }, label), field);

/** Creates a section with a small heading. @param {Child} title @param {...Child} children */
export function section(title, ...children) {
	return h("section", { class: "section" }, h("h3", null, title), ...children);
}

/** Offers a file for download. @param {string} name @param {string|Blob} content @param {string} [type] */
export function download(name, content, type = "text/plain") {
	const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
	const link = h("a", { href: url, download: name });
	document.body.append(link);
	link.click();
	link.remove();
	setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Copies a text to the clipboard and reports it. @param {string} text @param {string} [what] */
export async function copy(text, what = "copied") {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = h("textarea", { value: text, class: "off-screen" });
		document.body.append(area);
		area.select();
		document.execCommand("copy");
		area.remove();
	}
	say(what);
}

/** @type {ReturnType<typeof setTimeout>|undefined} */
let hiding;

/** Shows a short report at the foot of the page, which screen readers announce. @param {string} text @param {string} [kind] */
export function say(text, kind = "") {
	const line = document.getElementById("say");
	if (!line) return;
	line.className = `say shown ${kind}`;
	fill(line, text);
	clearTimeout(hiding);
	hiding = setTimeout(() => { line.className = "say"; }, kind === "bad" ? 6000 : 2500);
}
