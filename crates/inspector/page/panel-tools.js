// Tools: list, form, call, result, history.

import { Call, pastCall } from "./call.js";
import { data } from "./content.js";
import { copyMenu } from "./copyas.js";
import { badge, button, div, empty, fill, h, heading, para, QUIET, say, span } from "./dom.js";
import { Draft } from "./draft.js";
import { editor } from "./editor.js";
import { duration, line, shortClock } from "./format.js";
import { Raw } from "./json.js";
import { listPanel } from "./lists.js";
import { paramHeaders } from "./mcp.js";
import { liveCall, loadState, messagesOf, saveButton } from "./parts.js";
import { callResult, callState } from "./result.js";
import { href } from "./router.js";
import { longText } from "./visible.js";

/** The last call of each tool, per session. @type {WeakMap<Session, Map<string, Call>>} */
const calls = new WeakMap();

/** @param {Session} session */
function callsOf(session) {
	let map = calls.get(session);
	if (!map) calls.set(session, (map = new Map()));
	return map;
}

/** The hints of a tool as labels. @param {Session} session @param {Tool} tool @returns {[string, string, string][]} */
export function hints(session, tool) {
	const a = tool.annotations ?? {};
	/** @type {[string, string, string][]} */
	const found = [];
	if (a.readOnlyHint === true) found.push(["read-only", "ok", "readOnlyHint: changes nothing"]);
	else if (a.destructiveHint === true) found.push(["destructive", "bad", "destructiveHint: may delete or overwrite"]);
	if (a.idempotentHint === true && !a.readOnlyHint) found.push(["idempotent", "", "idempotentHint: a repeated call changes nothing more"]);
	if (a.openWorldHint === true) found.push(["open world", "", "openWorldHint: reaches beyond the server"]);
	const task = session.supports(tool);
	if (task === "required" || task === "optional") found.push(["task", "info", `taskSupport: ${task}`]);
	if (tool._meta?.ui) found.push(["view", "info", "has a view of MCP Apps"]);
	return found;
}

/** The rows of the list. @param {Session} session @returns {Item[]} */
export const toolItems = (session) => session.tools.value.items.map((tool) => ({
	key: tool.name, label: tool.name, title: line(tool.description), find: `${tool.title ?? ""} ${tool.description ?? ""}`.slice(0, 2000),
	badges: hints(session, tool).map(([text, kind, about]) => [text[0].toUpperCase(), kind, `${text}, ${about}`]),
}));

/** @type {Panel} */
export const toolsPanel = {
	id: "tools",
	title: "Tools",
	count: (session) => session.tools.value.items.length,
	open: (context) => listPanel(context, {
		id: "tools",
		watch: (session) => [session.tools],
		items: toolItems,
		none: (session) => loadState(session, "tools", "tools"),
		find: (session, [key = ""]) => {
			const thing = session.tool(key);
			return { key, thing, version: [thing?.inputSchema, thing && session.supports(thing)] };
		},
		hint: ["Select a tool.", "↓ and ↑ move through the list, ↵ opens, Ctrl+K searches everything."],
		show: toolDetail,
	}),
};

/** @param {Detail} place @param {Tool} tool */
function toolDetail({ context, session, main, side, scope }, tool) {
	const draft = new Draft(tool.inputSchema, session.drafts.value[tool.name]);
	const edit = editor(draft, "Arguments");
	scope.add(() => edit.close(), draft.changes.subscribe(() => session.draft(tool.name, draft.text)));
	const live = h("div", { class: "live", "aria-live": "polite" });
	const result = div("");
	const state = span("");
	const history = div("history");

	const run = (/** @type {boolean} */ task) => {
		if (!session.live) return say("a recording cannot be called", "bad");
		if (callsOf(session).get(tool.name)?.state === "running") return say("the call is running: cancel it first", "warn");
		if (!edit.check() && !confirmed()) return;
		start(task);
	};
	let armed = 0;
	const confirmed = () => {
		// A server must be testable with wrong arguments too, if they are JSON.
		if (!draft.node) return false;
		const again = Date.now() - armed < 4000;
		armed = Date.now();
		if (!again) say("the arguments do not match the schema: call again to send them anyway", "warn");
		return again;
	};
	const start = (/** @type {boolean} */ task) => {
		const text = draft.text.trim() || "{}";
		const call = new Call(session, "tools/call", { name: tool.name, arguments: new Raw(text) }, { task, headers: paramHeaders(tool.inputSchema, draft.node?.value) });
		callsOf(session).set(tool.name, call);
		call.done.then(() => {
			session.remember(tool.name, summary(call, text));
			if (call.answer && !call.task) session.result(tool.name, { args: text, text: call.answer.text, ms: call.ms, started: call.started });
			main.dispatchEvent(new Event("result", { bubbles: true }));
		});
		follow();
	};

	let end = () => {};
	const follow = () => {
		end();
		const past = session.results.value[tool.name];
		if (past && !callsOf(session).has(tool.name)) callsOf(session).set(tool.name, pastCall(session, tool.name, past));
		const call = callsOf(session).get(tool.name);
		if (!call) {
			fill(result, empty("No call yet.", session.live ? "Ctrl+↵ calls the tool with the arguments of the form." : "This is a recording: its messages are in the timeline."));
			return;
		}
		let shown = "";
		const live_ = liveCall(live, call, tool.name);
		const draw = () => {
			fill(state, callState(call));
			live_();
			if (call.state === "running" && !result.querySelector(".result")) fill(result, empty(call.question ? "Waiting for your answer." : "Running…"));
			call_.textContent = call.state === "running" ? "Calling…" : "Call";
			if (call.state === shown) return;
			shown = call.state;
			if (call.state === "running") result.classList.add("stale");
			else {
				result.classList.remove("stale");
				fill(result, callResult(context, call, tool), messagesOf(context, call));
			}
		};
		end = call.changes.subscribe(draw);
		draw();
	};

	const call_ = button("Call", () => run(false), { class: "primary", title: "Ctrl+↵ or ⌘↵" });
	const params = () => ({ name: tool.name, arguments: new Raw(draft.text.trim() || "{}") });
	const taskOnly = session.supports(tool) === "required";
	fill(main,
		div("heading", h("h2", { class: "mono" }, tool.name), tool.title && tool.title !== tool.name ? span("faint", tool.title) : null,
			...hints(session, tool).map(([text, kind, title]) => badge(text, kind, title))),
		tool.description ? longText(tool.description, "description") : para("faint", "The tool has no description."),
		edit.element,
		div("actions", taskOnly ? null : call_, session.canBeTask(tool) ? button("as task", () => run(true), { title: "lets the server answer with a task", class: taskOnly ? "primary" : "" }) : null,
			copyMenu(session, () => ({ method: "tools/call", params: params(), text: draft.text, schema: tool.inputSchema, result: callsOf(session).get(tool.name)?.answer?.result })),
			saveButton(context, session, () => ({ tool: tool.name, text: draft.text, call: callsOf(session).get(tool.name) })),
			context.config.features.compare ? h("a", { class: "button", href: href("compare", tool.name) }, "compare") : null,
			context.config.features.bench ? h("a", { class: "button", href: href("load", tool.name) }, "load") : null,
			button("reset", () => { draft.replace(new Draft(tool.inputSchema).text); }, QUIET)),
		live,
		schemas(tool));
	fill(side, heading("Result", state), result, history);
	scope.add(session.history.subscribe(() => drawHistory()));
	const drawHistory = () => fill(history, ...historyRows(session, tool, (text) => draft.replace(text)));
	drawHistory();
	follow();
	scope.add(() => end());
	return () => run(taskOnly);
}

/** @param {Tool} tool */
function schemas(tool) {
	const one = (/** @type {string} */ title, /** @type {any} */ value) => {
		if (!value) return null;
		const details = h("details", { ontoggle: () => { if (details.childElementCount === 1) details.append(data(value)); } }, h("summary", null, title));
		return details;
	};
	return div("schemas", one("input schema", tool.inputSchema), one("output schema", tool.outputSchema), one("definition", tool));
}

/** @param {Call} call @param {string} text */
function summary(call, text) {
	const content = call.answer?.result?.content?.[0];
	const structured = call.answer?.result?.structuredContent;
	const brief = call.state !== "done" ? call.problem : call.task ? "task" : structured !== undefined ? JSON.stringify(structured) : content?.text ?? content?.type ?? "";
	return { t: call.started, text: text.slice(0, 20_000), ms: call.ms, ok: call.state === "done" && !call.answer?.result?.isError, brief: String(brief).slice(0, 200) };
}

/** @param {Session} session @param {Tool} tool @param {(text: string) => void} use */
function historyRows(session, tool, use) {
	const calls = session.history.value[tool.name] ?? [];
	if (!calls.length) return [];
	return [h("h3", null, "history"), ...calls.map((call) => h("button", { type: "button", class: "history-row", title: "use these arguments again", onclick: () => use(call.text) },
		span("faint mono", shortClock(call.t)),
		span("history-text mono", `${call.text.replaceAll(/\s+/g, " ")} → ${line(call.brief, 80)}`),
		h("span", { class: call.ok ? "ok" : "bad" }, duration(call.ms))))];
}
