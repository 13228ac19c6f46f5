// Log messages and what the server writes to its error output.

import { button, div, download, fill, h, menu, para, QUIET, say, span } from "./dom.js";
import { clock } from "./format.js";
import { go } from "./router.js";
import { message } from "./mcp.js";
import { settings } from "./settings.js";
import { perFrame, Scope } from "./store.js";
import { VirtualList } from "./vlist.js";

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** @param {string} level */
const kind = (level) => (LEVELS.indexOf(level) >= 4 ? "bad" : level === "warning" ? "warn" : level === "stderr" ? "info" : level === "debug" ? "faint" : "");

/** @type {Panel} */
export const logsPanel = {
	id: "logs",
	title: "Logs",
	count: (session) => (session.logs.length > 999 ? "999+" : session.logs.length),
	open(context) {
		const session = context.session.value;
		if (!session) return { main: div("main-inner") };
		const scope = new Scope();
		/** @type {LogLine[]} */
		let shown = [];
		const list = new VirtualList({
			rowHeight: 22, label: "Log", follow: true, onOpen: (i) => go("messages", String(shown[i].seq)),
			render: (row, i) => {
				const line = shown[i];
				row.classList.add("log-row");
				fill(row, span("t-time", clock(line.t)), span(`log-level ${kind(line.level)}`, line.level), span("log-text", line.logger ? `[${line.logger}] ` : "", line.text.slice(0, 2000)));
			},
		});
		const search = h("input", { type: "search", placeholder: "search", "aria-label": "Search in the log", class: "short" });
		const least = menu({ "aria-label": "Least level shown" }, ["all levels", ...LEVELS.slice(1).map((level) => /** @type {[string, string]} */ ([level, `${level} and above`])), "stderr only"]);
		const wanted = menu({ "aria-label": "Level that requests ask for", onchange: () => {
			settings.logLevel.value = wanted.value;
			session.askLevel().catch((error) => say(message(error), "bad"));
		} }, [["", context.config.features.feed ? "all levels" : "none"], ...LEVELS], settings.logLevel.value);
		const none = para("timeline-none faint", "Log messages and lines of the error output appear here. Ask for a level, then call a tool.");
		const draw = perFrame(() => {
			const from = LEVELS.indexOf(least.value);
			const text = search.value.toLowerCase();
			const passes = (/** @type {LogLine} */ line) => (least.value === "stderr only" ? line.level === "stderr" : line.level === "stderr" || LEVELS.indexOf(line.level) >= from) && (!text || line.text.toLowerCase().includes(text));
			shown = session.logs.filter(passes);
			list.update(shown.length);
			body.classList.toggle("none", !shown.length);
		});
		for (const control of [search, least]) control.addEventListener("input", draw);
		const body = div("timeline-body", list.element, none);
		scope.watch(session.logCount, draw);
		const main = div("logs", div("actions", h("label", { class: "check" }, "ask the server for", wanted), h("label", { class: "check" }, "show", least), search,
			button("clear", () => { session.logs.length = 0; session.logCount.value++; }, QUIET),
			button("export", () => download("log.jsonl", shown.map((line) => JSON.stringify(line)).join("\n")), QUIET)), body);
		return { main, close: () => scope.close() };
	},
};
