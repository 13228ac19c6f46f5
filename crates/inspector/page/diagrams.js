// The timeline as drawings: a sequence diagram and a waterfall. Only the visible rows are drawn.

import { div, h, svg } from "./dom.js";
import { clock, duration } from "./format.js";
import { perFrame } from "./store.js";
import { plain } from "./visible.js";

const HEAD = 26;
const MAX_WHOLE = 2000;
/** Below this width there is less beside the drawing. */
const NARROW = 520;

/** A drawing of rows that scrolls. */
class Diagram {
	/** @param {(entry: Entry) => void} onOpen @param {number} rowHeight @param {string} label */
	constructor(onOpen, rowHeight, label) {
		this.onOpen = onOpen;
		this.rowHeight = rowHeight;
		/** @type {Entry[]} */
		this.entries = [];
		this.svg = svg("svg", { class: "diagram", role: "img", "aria-label": label });
		this.space = div("diagram-space", this.svg);
		this.element = h("div", { class: "diagram-box", tabIndex: 0, role: "group", "aria-label": label }, this.space);
		this.atEnd = true;
		/** How far it was scrolled: an element that leaves the page loses its place. */
		this.top = 0;
		const draw = perFrame(() => this.paint());
		this.element.addEventListener("scroll", () => {
			const { scrollTop, clientHeight, scrollHeight } = this.element;
			if (!clientHeight) return;
			this.top = scrollTop;
			this.atEnd = scrollTop + clientHeight >= scrollHeight - 4;
			draw();
		}, { passive: true });
		new ResizeObserver(draw).observe(this.element);
		// From there on, j and k step.
		this.element.addEventListener("keydown", (event) => {
			const entry = this.entries[Math.floor(this.element.scrollTop / rowHeight)];
			if (event.key === "Enter" && entry) onOpen(entry);
		});
		this.svg.addEventListener("click", (event) => {
			const row = /** @type {Element} */ (event.target).closest("[data-index]");
			const entry = row && this.entries[Number(row.getAttribute("data-index"))];
			if (entry) this.onOpen(entry);
		});
	}

	/** The width below which it scrolls. */
	get least() {
		return 300;
	}

	/** @param {Entry[]} entries */
	take(entries) {
		this.entries = entries;
		this.space.style.minWidth = `${this.least}px`;
		this.space.style.height = `${HEAD + entries.length * this.rowHeight}px`;
		if (this.atEnd) this.element.scrollTop = this.element.scrollHeight;
		this.paint();
	}

	/** Goes to where it was before it left the page. */
	restore() {
		if (this.atEnd) return;
		this.element.scrollTop = this.top;
		this.paint();
	}

	paint() {
		const { scrollTop, clientHeight, clientWidth } = this.element;
		if (!clientHeight) return;
		const from = Math.max(0, Math.floor(scrollTop / this.rowHeight));
		const to = Math.min(this.entries.length, Math.ceil((scrollTop + clientHeight) / this.rowHeight));
		const width = Math.max(clientWidth, this.least);
		this.svg.setAttribute("width", String(width));
		this.svg.setAttribute("height", String(clientHeight));
		this.svg.style.transform = `translateY(${scrollTop}px)`;
		this.svg.replaceChildren(...this.draw(from, to, width, clientHeight, scrollTop));
	}

	/** The whole drawing, to be exported. */
	whole() {
		const count = Math.min(this.entries.length, MAX_WHOLE);
		const height = HEAD + count * this.rowHeight + 8;
		const whole = svg("svg", { class: "diagram", width: 960, height, viewBox: `0 0 960 ${height}` });
		whole.append(...this.draw(0, count, 960, height, 0));
		return whole;
	}

	/** @param {number} _from @param {number} _to @param {number} _width @param {number} _height @param {number} _top @returns {SVGElement[]} */
	draw(_from, _to, _width, _height, _top) {
		return [];
	}
}

/** Client and servers as lanes, messages as arrows. */
export class SequenceView extends Diagram {
	/** @param {(entry: Entry) => void} onOpen */
	constructor(onOpen) {
		super(onOpen, 24, "Sequence diagram");
		/** @type {Map<string, string>} */
		this.names = new Map();
		/** @type {string[]} */
		this.lanes = [];
		/** @type {{from: number, to: number, entry: Entry, depth: number}[]} */
		this.spans = [];
	}

	get least() {
		return 160 + 140 * Math.max(1, this.lanes.length);
	}

	/** @param {Entry[]} entries @param {Map<string, string>} names */
	update(entries, names) {
		const messages = entries.filter((entry) => entry.kind === "message");
		this.names = names;
		this.lanes = [...new Set(messages.map((entry) => entry.target))];
		const rows = new Map(messages.map((entry, i) => [entry, i]));
		/** @type {Map<string, number[]>} */
		const open = new Map();
		this.spans = [];
		messages.forEach((entry, from) => {
			if (entry.what !== "request") return;
			const to = (entry.pair && rows.get(entry.pair)) ?? (entry.pair ? from : messages.length);
			const lane = `${entry.target}${entry.dir}`;
			const running = (open.get(lane) ?? []).filter((end) => end > from);
			this.spans.push({ from, to, entry, depth: Math.min(running.length, 4) });
			open.set(lane, [...running, to]);
		});
		this.take(messages);
	}

	/** @param {number} from @param {number} to @param {number} width @param {number} height @param {number} top */
	draw(from, to, width, height, top) {
		const isNarrow = width < NARROW;
		const [client, after] = isNarrow ? [30, 70] : [150, 90];
		const step = (width - client - after) / Math.max(1, this.lanes.length);
		const x = (/** @type {string} */ target) => client + step * (this.lanes.indexOf(target) + 1);
		const y = (/** @type {number} */ row) => HEAD + row * this.rowHeight - top + 17;
		/** @type {[string, number][]} */
		const lanes = [["client", client], ...this.lanes.map((id) => /** @type {[string, number]} */ ([this.names.get(id) ?? id, x(id)]))];
		const parts = lanes.map(([, at]) => svg("line", { x1: at, x2: at, y1: HEAD, y2: height, class: "lane" }));
		for (const span of this.spans) {
			if (span.to < from || span.from > to) continue;
			const at = (span.entry.dir === "out" ? x(span.entry.target) : client) - 3 + span.depth * 4;
			parts.push(svg("rect", { x: at, y: y(span.from), width: 6, height: Math.max(2, y(span.to) - y(span.from)), class: `span ${span.entry.status === "error" ? "bad" : ""}` }));
		}
		for (let row = from; row < to; row++) parts.push(this.arrow(row, client, x(this.entries[row].target), y(row), isNarrow));
		// A name at the edge stays within it.
		const middle = (/** @type {string} */ name, /** @type {number} */ at) => Math.min(at, width - 6 - name.length * 3.6);
		const heads = lanes.map(([name, at]) => svg("text", { x: middle(name, at), y: 17, "text-anchor": "middle", class: "head" }, plain(name)));
		return [...parts, svg("rect", { x: 0, y: 0, width, height: HEAD, class: "cover" }), ...heads];
	}

	/** @param {number} row @param {number} client @param {number} server @param {number} y @param {boolean} isNarrow */
	arrow(row, client, server, y, isNarrow) {
		const entry = this.entries[row];
		const [start, end] = entry.dir === "out" ? [client + 4, server - 5] : [server - 5, client + 4];
		const sign = end > start ? 1 : -1;
		const label = `${entry.what === "answer" ? `${entry.method || "answer"} ${entry.status}` : entry.method} ${entry.name}`.slice(0, Math.max(12, Math.abs(server - client) / 6.4));
		return svg("g", { class: `arrow ${entry.what} ${entry.status}`, "data-index": row },
			svg("rect", { x: 0, y: y - 17, width: Math.max(server, client) + 90, height: this.rowHeight, class: "hit" }),
			isNarrow ? null : svg("text", { x: 6, y: y - 1, class: "time" }, clock(entry.t)),
			svg("line", { x1: start, x2: end, y1: y, y2: y }),
			svg("path", { d: `M${end} ${y} l${-7 * sign} -3.5 v7 z` }),
			svg("text", { x: (start + end) / 2, y: y - 4, "text-anchor": "middle", class: "label" }, plain(label)),
			entry.what === "answer" ? svg("text", { x: server + 22, y: y + 3, class: "time" }, duration(entry.duration)) : null);
	}
}

/** Requests as bars over time. The scale is that of the visible rows. */
export class WaterfallView extends Diagram {
	/** @param {(entry: Entry) => void} onOpen */
	constructor(onOpen) {
		super(onOpen, 22, "Waterfall");
	}

	/** @param {Entry[]} entries @param {Map<string, string>} [_names] */
	update(entries, _names) {
		this.take(entries.filter((entry) => entry.what === "request" || entry.kind === "http"));
	}

	/** @param {number} from @param {number} to @param {number} width @param {number} height @param {number} top */
	draw(from, to, width, height, top) {
		const left = Math.min(290, width * 0.4);
		const visible = this.entries.slice(from, to);
		const now = Date.now();
		const end = (/** @type {Entry} */ entry) => (entry.duration === null ? (entry.status === "pending" ? now : entry.t) : entry.t + entry.duration);
		const t0 = Math.min(...visible.map((entry) => entry.t));
		const t1 = Math.max(...visible.map(end), t0 + 1);
		const x = (/** @type {number} */ t) => left + ((t - t0) / (t1 - t0)) * (width - left - 90);
		const quarters = width < NARROW ? [0, 4] : [0, 1, 2, 3, 4];
		const ticks = visible.length ? quarters.map((i) => t0 + ((t1 - t0) * i) / 4) : [];
		const parts = ticks.map((t) => svg("line", { x1: x(t), x2: x(t), y1: HEAD, y2: height, class: "lane" }));
		visible.forEach((entry, i) => {
			const y = HEAD + (from + i) * this.rowHeight - top;
			const label = `${entry.method} ${entry.name}`.slice(0, Math.floor(left / 6.6) - 2);
			const bar = Math.max(2, x(end(entry)) - x(entry.t));
			parts.push(svg("g", { class: `bar ${entry.status}`, "data-index": from + i },
				svg("rect", { x: 0, y, width, height: this.rowHeight, class: "hit" }),
				svg("text", { x: 6, y: y + 15, class: "name" }, plain(`${entry.dir === "out" ? "→" : "←"} ${label}`)),
				svg("rect", { x: x(entry.t), y: y + 6, width: bar, height: 10, rx: 1.5, class: "fill" }),
				svg("text", { x: x(entry.t) + bar + 5, y: y + 15, class: "time" }, entry.status === "pending" ? "running" : duration(entry.duration))));
		});
		parts.push(svg("rect", { x: 0, y: 0, width, height: HEAD, class: "cover" }));
		return parts.concat(ticks.map((t, i) => svg("text", { x: x(t), y: 17, "text-anchor": "middle", class: "time" }, i ? `+${duration(t - t0)}` : clock(t))));
	}
}

const TOKENS = ["--text", "--faint", "--line", "--back", "--accent", "--ok", "--bad", "--warn", "--info"];

/** Serializes a drawing with its colours, so that it looks the same elsewhere. @param {SVGElement} drawing */
export function exportSvg(drawing) {
	const probe = document.body.appendChild(h("i", null));
	const value = (/** @type {string} */ name) => {
		probe.style.color = `var(${name})`;
		return getComputedStyle(probe).color;
	};
	const own = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText)).filter((rule) => /^\.(diagram|histogram) /.test(rule));
	const rules = `svg{background:${value("--back")};font:12px system-ui,sans-serif}:root{${TOKENS.map((name) => `${name}:${value(name)}`).join(";")}}${own.join("")}`;
	probe.remove();
	const style = svg("style", {}, rules);
	drawing.prepend(style);
	const text = new XMLSerializer().serializeToString(drawing);
	style.remove();
	return text;
}
