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

/** @type {Panel} */
export const comparePanel = {
	id: "compare",
	title: "Compare",
	offered: (context) => !!context.config.features.compare,
	open(context) {
		const main = div("main-inner");
		const session = context.session.value;
		if (!session?.live) return { main: div("main-inner", empty("A comparison needs a live server.")) };
		let tool = "";
		const lists = ["tools/list", "resources/list", "prompts/list"];
		const pick = h("select", { "aria-label": "Request", onchange: () => go("compare", pick.value) });
		const args = h("textarea", { rows: 3, class: "mono", "aria-label": "Arguments" });
		const what = menu({ "aria-label": "Part" }, ["answers", "requests"]);
		const out = div("");
		/** @type {any[]|null} */
		let columns = null;
		const draw = () => { if (columns) fill(out, table(columns, what.value === "requests")); };
		what.addEventListener("change", draw);
		const run = async () => {
			const method = lists.includes(pick.value) ? pick.value : "tools/call";
			fill(out, para("faint", "asking in every revision…"));
			try {
				const params = method === "tools/call" ? { name: pick.value, arguments: JSON.parse(args.value || "{}") } : {};
				({ columns } = await post(`${session.path}/compare`, { method, params }));
				draw();
			} catch (error) {
				fill(out, para("bad", message(error)));
			}
		};
		const show = () => {
			const names = [...lists, ...session.tools.value.items.map((one) => one.name)];
			tool = route.value.rest[0] ?? "tools/list";
			fill(pick, ...names.map((one) => h("option", { selected: one === tool }, one)));
			args.hidden = lists.includes(tool);
			args.value = session.drafts.value[tool] ?? new Draft(session.tool(tool)?.inputSchema).text;
			columns = null;
			fill(out, empty("Not run yet.", "Each revision has a connection of its own; what differs is marked."));
		};
		show();
		fill(main, heading("Compare revisions", pick, button("Run in all", run, { class: "primary", title: "Ctrl+↵" }), what), args, out);
		return { main, route: () => { if ((route.value.rest[0] ?? "tools/list") !== tool) show(); }, primary: run };
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
