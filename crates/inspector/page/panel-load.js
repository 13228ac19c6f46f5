// Load: many calls of one tool, with a histogram of their latencies.

import { message } from "./mcp.js";
import { stream } from "./api.js";
import { button, div, download, empty, fill, h, heading, labelled, para, QUIET, span, svg, table } from "./dom.js";
import { exportSvg } from "./diagrams.js";
import { Draft } from "./draft.js";
import { duration } from "./format.js";
import { go, route } from "./router.js";

/** @param {number} us */
const micro = (us) => duration(us / 1000);

/** @type {Panel} */
export const loadPanel = {
	id: "load",
	title: "Load",
	offered: (context) => !!context.config.features.bench,
	open(context) {
		const main = div("main-inner");
		const session = context.session.value;
		if (!session?.live) return { main: div("main-inner", empty("A load needs a live server.")) };
		const pick = h("select", { id: "load-tool", onchange: () => go("load", pick.value) });
		const args = h("textarea", { id: "load-args", rows: 3, class: "mono" });
		/** @type {string|null} */
		let tool = null;
		const show = () => {
			const name = route.value.rest[0] ?? "";
			if (name === tool) return;
			tool = name;
			fill(pick, h("option", { value: "" }, "choose a tool"), ...session.tools.value.items.map((one) => h("option", { selected: one.name === name }, one.name)));
			args.value = session.drafts.value[name] ?? new Draft(session.tool(name)?.inputSchema).text;
		};
		const number = (/** @type {string} */ id, /** @type {number} */ value) => h("input", { id, type: "number", min: "1", value: String(value), class: "short" });
		const together = number("load-c", 4);
		const seconds = number("load-s", 5);
		const out = div("");
		/** @type {AbortController|null} */
		let running = null;
		const run = async () => {
			if (running) return running.abort();
			running = new AbortController();
			start.textContent = "Stop";
			try {
				const body = JSON.stringify({ tool: pick.value, arguments: JSON.parse(args.value || "{}"), concurrency: Number(together.value), seconds: Number(seconds.value) });
				for await (const event of stream(`${session.path}/bench`, { method: "POST", body, signal: running.signal })) {
					if (event.error) throw new Error(event.error);
					if (event.result) fill(out, ...report(event.result));
					else fill(out, para("", h("progress", { max: Number(seconds.value) * 1000, value: event.elapsed_ms, "aria-label": "Progress" }), ` ${event.done} calls, ${event.errors} errors`));
				}
			} catch (error) {
				fill(out, para(running.signal.aborted ? "warn" : "bad", running.signal.aborted ? "Stopped." : message(error)));
			}
			running = null;
			start.textContent = "Start";
		};
		const start = button("Start", run, { class: "primary", title: "Ctrl+↵" });
		fill(main, heading("Load"), labelled("tool", pick), labelled("arguments", args), labelled("at once", together), labelled("seconds", seconds), div("actions", start), out);
		return { main, primary: run, route: show, close: () => running?.abort() };
	},
};

/** @param {any} result */
function report(result) {
	const drawing = histogram(result);
	const facts = [["calls", result.calls], ["errors", result.errors], ["per s", Math.round(result.rps)], ["p50", micro(result.p50_us)], ["p90", micro(result.p90_us)], ["p99", micro(result.p99_us)], ["max", micro(result.max_us)]];
	return [table([facts.map(([, value]) => span("whole", String(value)))], facts.map(([name]) => String(name))),
		...(result.failures ?? []).map((/** @type {[string, number]} */ [text, count]) => para("bad", `${count} × ${text}`)), div("", drawing), button("export SVG", () => download("load.svg", exportSvg(drawing), "image/svg+xml"), QUIET)];
}

/** @param {any} result @returns {SVGElement} */
export function histogram(result) {
	/** @type {[number, number][]} */
	const bars = result.histogram ?? [];
	const width = Math.min(640, innerWidth - 28);
	const height = 200;
	const every = Math.ceil(bars.length / (width < 520 ? 4 : 8));
	const most = Math.max(1, ...bars.map(([, count]) => count));
	const step = (width - 20) / Math.max(1, bars.length);
	const at = (/** @type {number} */ us) => 10 + step * Math.max(0, bars.findIndex(([upper]) => upper >= us));
	const marks = [["p50", result.p50_us], ["p99", result.p99_us]].flatMap(([name, us]) => [svg("line", { x1: at(us), x2: at(us), y1: 14, y2: height - 20, class: "mark" }), svg("text", { x: at(us) + 3, y: 12 }, name)]);
	return svg("svg", { class: "histogram", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Histogram of latencies: median ${micro(result.p50_us)}, 99th percentile ${micro(result.p99_us)}` },
		...bars.map(([upper, count], i) => svg("rect", { x: 10 + i * step + 1, y: height - 20 - (count / most) * (height - 40), width: Math.max(1, step - 2), height: (count / most) * (height - 40), class: "fill" }, svg("title", {}, `up to ${micro(upper)}: ${count}`))),
		svg("line", { x1: 10, x2: width - 10, y1: height - 20, y2: height - 20 }),
		...bars.filter((_, i) => i % every === 0).map(([upper], i) => svg("text", { x: 10 + i * every * step, y: height - 6 }, micro(upper))), ...marks);
}
