// The same request in all revisions, side by side, with the differences marked.

import { message } from "./mcp.js";
import { post } from "./api.js";
import { badge, button, div, empty, fill, h, heading, menu, para, span } from "./dom.js";
import { Draft } from "./draft.js";
import { duration } from "./format.js";
import { parse, pointer, tryParse } from "./json.js";
import { go, route } from "./router.js";
import { tree } from "./tree.js";

/** The values of a tree by their pointers. @param {JsonNode} node @param {Path} path @param {Map<string, string>} found */
export function leaves(node, path = [], found = new Map()) {
	found.set(pointer(path), node.items.length || node.kind === "object" || node.kind === "array" ? node.kind : node.raw);
	node.items.forEach((item, i) => leaves(item, [...path, node.kind === "object" ? String(node.keys[i].value) : i], found));
	return found;
}

/** Marks what is not the same in all trees. @param {JsonNode[]} nodes @returns {Map<string, string>[]} */
export function differences(nodes) {
	const all = nodes.map((node) => leaves(node));
	return all.map((mine) => new Map([...mine].filter(([path, value]) => all.some((other) => other.get(path) !== value)).map(([path]) => [path, "differs"])));
}

const LISTS = ["tools/list", "resources/list", "resources/templates/list", "prompts/list"];

/** The requests that can be compared, as parts of their addresses: a list, a tool, or a method with a name. @param {Session} session @returns {string[][]} */
const comparable = (session) => [...LISTS.map((one) => [one]), ...session.tools.value.items.map((one) => [one.name]),
	...session.prompts.value.items.map((one) => ["prompts/get", one.name]), ...session.resources.value.items.map((one) => ["resources/read", one.uri])];

/** The request of an address. @param {string[]} address @param {string} text The arguments. */
export function comparison([first, name], text) {
	if (LISTS.includes(first)) return { method: first, params: {} };
	if (first === "resources/read") return { method: first, params: { uri: name } };
	const args = JSON.parse(text.trim() || "{}");
	return first === "prompts/get" ? { method: first, params: { name, arguments: args } } : { method: "tools/call", params: { name: first, arguments: args } };
}

/** @type {Panel} */
export const comparePanel = {
	id: "compare",
	title: "Compare",
	offered: (context) => !!context.config.features.compare,
	open(context) {
		const main = div("main-inner");
		const session = context.session.value;
		if (!session?.live) return { main: div("main-inner", empty("A comparison needs a live server.")) };
		let shown = "";
		const pick = h("select", { "aria-label": "Request", onchange: () => go("compare", .../** @type {string[]} */ (JSON.parse(pick.value))) });
		const args = h("textarea", { rows: 3, class: "mono", "aria-label": "Arguments" });
		const what = menu({ "aria-label": "Part" }, ["answers", "requests"]);
		const out = div("");
		/** @type {any[]|null} */
		let columns = null;
		const draw = () => { if (columns) fill(out, table(columns, what.value === "requests")); };
		what.addEventListener("change", draw);
		const run = async () => {
			fill(out, para("faint", "asking in every revision…"));
			try {
				({ columns } = await post(`${session.path}/compare`, comparison(JSON.parse(pick.value), args.value)));
				draw();
			} catch (error) {
				fill(out, para("bad", message(error)));
			}
		};
		const show = () => {
			const [first = "tools/list", name] = route.value.rest;
			shown = JSON.stringify(name === undefined ? [first] : [first, name]);
			fill(pick, ...comparable(session).map((rest) => h("option", { value: JSON.stringify(rest), selected: JSON.stringify(rest) === shown }, rest.join(" "))));
			args.hidden = first === "resources/read" || LISTS.includes(first);
			args.value = first === "prompts/get" ? session.drafts.value[`prompt ${name}`] ?? "{}" : session.drafts.value[first] ?? new Draft(session.tool(first)?.inputSchema).text;
			columns = null;
			fill(out, empty("Not run yet.", "Each revision has a connection of its own; what differs is marked."));
		};
		show();
		fill(main, heading("Compare revisions", pick, button("Run in all", run, { class: "primary", title: "Ctrl+↵" }), what), args, out);
		return { main, route: () => { if (JSON.stringify(route.value.rest) !== shown) show(); }, primary: run };
	},
};

/** @param {any[]} columns @param {boolean} requests */
function table(columns, requests) {
	const nodes = columns.map((column) => {
		const node = tryParse((requests ? column.request : column.answer) ?? "null");
		// The envelope's id differs by chance.
		return node?.get(requests ? "params" : "result") ?? node?.get("error") ?? parse("null");
	});
	const present = nodes.filter((_, i) => requests || columns[i].answer);
	const marks = differences(present);
	return div("columns-five", ...columns.map((column, i) => div("column",
		h("h3", null, span("mono", column.revision), span("result-state", span("faint", duration(column.ms)), badge(column.ok ? "ok" : "error", column.ok ? "ok" : "bad"))),
		column.error ? para("bad", column.error) : null,
		present.includes(nodes[i]) ? tree(nodes[i], { open: 3, marks: marks[present.indexOf(nodes[i])] }) : null)));
}
