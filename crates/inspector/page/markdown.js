// Markdown as elements: headings, lists, code, quotes, tables, emphasis and links. HTML in it stays text; images are
// not loaded.

import { div, h, para, span } from "./dom.js";

/** Shows a Markdown text. @param {string} source @returns {HTMLElement} */
export function markdown(source) {
	const out = div("markdown");
	const lines = source.replaceAll("\r\n", "\n").split("\n");
	const front = lines[0] === "---" ? lines.indexOf("---", 1) : -1;
	if (front > 0) out.append(h("pre", { class: "mono code" }, lines.slice(1, front).join("\n")));
	for (let i = front + 1; i < lines.length;) i = block(lines, i, out);
	return out;
}

/** Shows the block that begins at a line and returns where the next begins. @param {string[]} lines @param {number} i @param {HTMLElement} out @returns {number} */
function block(lines, i, out) {
	const line = lines[i];
	if (!line.trim()) return i + 1;
	const fence = /^\s*(```+|~~~+)\s*(\S*)/.exec(line);
	if (fence) {
		const end = lines.findIndex((one, at) => at > i && one.trim().startsWith(fence[1]));
		const to = end < 0 ? lines.length : end;
		out.append(h("pre", { class: "mono code" }, lines.slice(i + 1, to).join("\n")));
		return to + 1;
	}
	const title = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
	if (title) {
		out.append(h("div", { class: `md-title md-${title[1].length}`, role: "heading", "aria-level": Math.min(6, title[1].length + 2) }, ...inline(title[2])));
		return i + 1;
	}
	if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
		out.append(h("hr"));
		return i + 1;
	}
	if (/^\s*>/.test(line)) return run(lines, i, /^\s*>/, (part) => out.append(h("blockquote", null, markdown(part.map((one) => one.replace(/^\s*> ?/, "")).join("\n")))));
	if (/^\s*([-*+]|\d+[.)])\s+/.test(line)) return list(lines, i, out);
	if (line.includes("|") && /^\s*\|?[\s:|-]+\|[\s:|-]*$/.test(lines[i + 1] ?? "")) return table(lines, i, out);
	return paragraph(lines, i, out);
}

/** @param {string[]} lines @param {number} i @param {RegExp} pattern @param {(part: string[]) => void} take */
function run(lines, i, pattern, take) {
	let to = i;
	while (to < lines.length && pattern.test(lines[to])) to++;
	take(lines.slice(i, to));
	return to;
}

/** @param {string[]} lines @param {number} i @param {HTMLElement} out */
function paragraph(lines, i, out) {
	const to = i + 1 + continued(lines.slice(i + 1));
	out.append(para("", ...inline(lines.slice(i, to).join("\n"))));
	return to;
}

/** The number of lines that go on with the paragraph before them. @param {string[]} lines */
export function continued(lines) {
	const end = lines.findIndex((line) => !line.trim() || /^\s*(#{1,6}\s|>|```|~~~|[-*+]\s|\d+[.)]\s)/.test(line));
	return end < 0 ? lines.length : end;
}

/** @param {string[]} lines @param {number} i @param {HTMLElement} out */
function list(lines, i, out) {
	const first = /^(\s*)([-*+]|\d+[.)])\s+/.exec(lines[i]);
	const indent = first?.[1].length ?? 0;
	const items = h(/\d/.test(first?.[2] ?? "") ? "ol" : "ul", null);
	let at = i;
	while (at < lines.length) {
		const item = /^(\s*)([-*+]|\d+[.)])\s+(.*)$/.exec(lines[at]);
		if (!item || item[1].length < indent || item[1].length > indent + 3) break;
		const rest = [];
		let to = at + 1;
		while (to < lines.length && (/^\s*$/.test(lines[to]) ? /^\s{2,}\S/.test(lines[to + 1] ?? "") : lines[to].startsWith(" ".repeat(indent + 2)))) rest.push(lines[to++].slice(indent + 2));
		const more = rest.splice(0, continued(rest));
		const entry = h("li", null, ...inline([item[3], ...more].join("\n")));
		if (rest.length) entry.append(markdown(rest.join("\n")));
		items.append(entry);
		at = to;
	}
	out.append(items);
	return Math.max(at, i + 1);
}

/** @param {string[]} lines @param {number} i @param {HTMLElement} out */
function table(lines, i, out) {
	const cells = (/** @type {string} */ line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
	const body = h("tbody", null);
	let to = i + 2;
	for (; to < lines.length && lines[to].includes("|"); to++) body.append(h("tr", null, ...cells(lines[to]).map((cell) => h("td", null, ...inline(cell)))));
	out.append(h("table", { class: "grid" }, h("thead", null, h("tr", null, ...cells(lines[i]).map((cell) => h("th", null, ...inline(cell))))), body));
	return to;
}

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|__(.+?)__|\*(\S[^*\n]*?)\*|(?<![\w])_(\S[^_\n]*?)_(?![\w])|(!?)\[([^\]\n]*)\]\(([^)\s]*)[^)\n]*\)|<(https?:\/\/[^>\s]+)>/g;

/** @param {string} source @param {number} [depth] @returns {Child[]} */
function inline(source, depth = 0) {
	if (depth > 4 || source.length > 50_000) return [source];
	/** @type {Child[]} */
	const out = [];
	let from = 0;
	for (const match of source.matchAll(INLINE)) {
		out.push(source.slice(from, match.index));
		from = match.index + match[0].length;
		const [, , code, strong, strong2, em, em2, image, label, target, auto] = match;
		if (code !== undefined) out.push(h("code", null, code));
		else if (strong ?? strong2) out.push(h("strong", null, ...inline(strong ?? strong2, depth + 1)));
		else if (em ?? em2) out.push(h("em", null, ...inline(em ?? em2, depth + 1)));
		else out.push(link(label || auto || target, target ?? auto, image === "!"));
	}
	out.push(source.slice(from));
	return out;
}

/** A link shows where it leads; only web addresses can be opened. @param {string} label @param {string} target @param {boolean} image */
function link(label, target, image) {
	if (image) return span("faint", `[image: ${label} ${target}]`);
	if (!/^https?:\/\//i.test(target)) return span("", label, span("faint", ` (${target})`));
	return h("a", { href: target, target: "_blank", rel: "noopener noreferrer", title: target }, label);
}
