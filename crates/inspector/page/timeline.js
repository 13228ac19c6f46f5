// The timeline: every message, as a list, a sequence diagram or a waterfall.

import { getBlob } from "./api.js";
import { actions, button, div, download, fill, h, para, QUIET, say, span } from "./dom.js";
import { filter, KEYS } from "./filter.js";
import { clock, duration, size } from "./format.js";
import { exportSvg, SequenceView, WaterfallView } from "./diagrams.js";
import { message } from "./mcp.js";
import { recorded } from "./recording.js";
import { go, route } from "./router.js";
import { settings } from "./settings.js";
import { perFrame } from "./store.js";
import { plain } from "./visible.js";
import { VirtualList } from "./vlist.js";

export const ROW = 22;

/** The timeline below the panels. */
export class Timeline {
	/** @param {Context} context */
	constructor(context) {
		this.context = context;
		this.events = context.events;
		/** @type {Entry[]} */
		this.shown = [];
		this.seen = 0;
		this.paused = false;
		this.test = filter("").test;
		this.list = new VirtualList({ rowHeight: ROW, label: "Messages", follow: true, render: (row, i) => this.row(row, i), onOpen: (i) => this.open(i), onSelect: (i) => this.open(i) });
		this.sequence = new SequenceView((entry) => go("messages", String(entry.seq)));
		this.waterfall = new WaterfallView((entry) => go("messages", String(entry.seq)));
		this.body = div("timeline-body");
		this.count = h("span", { class: "faint", role: "status" });
		this.problem = span("bad");
		this.input = h("input", { type: "search", class: "mono filter", placeholder: "method:tools/call dur:>5ms status:error", "aria-label": "Filter of the timeline", title: `keys: ${KEYS.join(", ")}, -key:value excludes`, value: settings.filter.value, spellcheck: false });
		this.input.addEventListener("input", () => { settings.filter.value = this.input.value; });
		this.element = h("section", { class: "timeline", "aria-label": "Timeline" }, this.head(), this.body);
		const draw = perFrame(() => this.draw());
		this.events.changes.subscribe(draw);
		settings.filter.subscribe(() => this.refilter());
		settings.timeline.subscribe(() => this.mode());
		context.session.subscribe(() => this.refilter());
		route.subscribe(() => this.follow());
		this.refilter();
		this.mode();
	}

	head() {
		const modes = ["list", "sequence", "waterfall"].map((mode) => {
			const one = button(mode, () => { settings.timeline.value = mode; }, { "aria-pressed": String(settings.timeline.value === mode), "data-mode": mode });
			settings.timeline.subscribe((now) => one.setAttribute("aria-pressed", String(now === mode)));
			return one;
		});
		const pause = button("pause", () => {
			this.paused = !this.paused;
			pause.textContent = this.paused ? "go on" : "pause";
			pause.setAttribute("aria-pressed", String(this.paused));
			if (!this.paused) this.refilter();
		}, { class: "quiet", "aria-pressed": "false", title: "stop the list here; messages are still recorded" });
		const all = h("input", { type: "checkbox" });
		all.addEventListener("change", () => {
			this.all = all.checked;
			this.refilter();
		});
		const exporting = actions("Export the timeline", ["export…", "JSON lines", ...(this.context.config.features.feed ? ["HAR", "Markdown"] : []), "SVG"], (what) => {
			this.export(what).catch((error) => say(message(error), "bad"));
		});
		this.toggle = button("▾", () => { settings.timelineOpen.value = !settings.timelineOpen.value; }, { class: "icon", "aria-label": "Collapse or open the timeline (t)" });
		return div("timeline-head", this.toggle, h("h2", null, "Timeline"), this.input, this.problem, this.count,
			h("label", { class: "check faint" }, all, "all targets"),
			span("spring"), h("span", { class: "segments", role: "group", "aria-label": "View" }, ...modes), pause,
			button("clear", () => this.events.clear(), QUIET), exporting);
	}

	/** @param {Entry} entry */
	passes(entry) {
		const here = this.context.session.value;
		return (this.all || !here || entry.target === here.id) && this.test(entry);
	}

	refilter() {
		const { test, problems } = filter(settings.filter.value);
		this.test = test;
		if (this.input.value !== settings.filter.value) this.input.value = settings.filter.value;
		fill(this.problem, problems[0] ?? "");
		this.shown = this.events.entries.filter((entry) => this.passes(entry));
		this.seen = this.events.dropped + this.events.entries.length;
		this.paint();
	}

	/** Takes the entries that are new. */
	draw() {
		if (this.paused) return;
		const total = this.events.dropped + this.events.entries.length;
		const fresh = total - this.seen;
		const first = this.events.entries[0];
		if (fresh < 0 || (this.shown.length && first && this.shown[0].seq < first.seq)) return this.refilter();
		const dependsOnAnswer = /\b(dur|status):/.test(settings.filter.value);
		if (dependsOnAnswer && this.events.entries.length < 5000) return this.refilter();
		for (const entry of this.events.entries.slice(this.events.entries.length - fresh)) if (this.passes(entry)) this.shown.push(entry);
		this.seen = total;
		this.paint();
	}

	paint() {
		const { length } = this.shown;
		const whole = this.events.entries.length;
		this.count.textContent = length === whole ? `${length.toLocaleString("en")}` : `${length.toLocaleString("en")} of ${whole.toLocaleString("en")}`;
		const mode = settings.timeline.value;
		if (mode === "list") {
			this.list.update(length);
			this.body.classList.toggle("none", !length);
			this.follow();
		} else if (mode === "sequence") this.sequence.update(this.shown, this.names());
		else this.waterfall.update(this.shown);
	}

	names() {
		return new Map(this.context.sessions.value.map((session) => [session.id, session.info.value.name]));
	}

	mode() {
		const view = { list: this.list, sequence: this.sequence, waterfall: this.waterfall }[settings.timeline.value] ?? this.list;
		const none = para("timeline-none faint", "Messages between client and server appear here as they are sent.");
		fill(this.body, view.element, none);
		this.paint();
		view.restore();
	}

	/** Shows which message is open. */
	follow() {
		const { panel, rest } = route.value;
		const seq = panel === "messages" ? Number(rest[0]) : NaN;
		const index = this.shown.findIndex((entry) => entry.seq === seq);
		if (index === this.list.selected) return;
		if (index >= 0) this.list.select(index);
		else {
			this.list.selected = -1;
			this.list.paint(false);
		}
	}

	/** @param {number} index */
	open(index) {
		const entry = this.shown[index];
		if (entry) go("messages", String(entry.seq));
	}

	/** @param {HTMLElement} row @param {number} index */
	row(row, index) {
		const entry = this.shown[index];
		if (!entry) return;
		fillRow(row, entry);
	}

	/** @param {string} what */
	async export(what) {
		const name = this.context.session.value?.info.value.name ?? "couplet";
		if (what === "SVG") {
			const view = settings.timeline.value === "waterfall" ? this.waterfall : this.sequence;
			view.update(this.shown, this.names());
			return download(`${name}.svg`, exportSvg(view.whole()), "image/svg+xml");
		}
		const format = { "JSON lines": "jsonl", HAR: "har", Markdown: "md" }[what] ?? "jsonl";
		if (this.context.config.features.feed) {
			const target = this.all ? "" : `&target=${encodeURIComponent(this.context.session.value?.id ?? "")}`;
			return download(`${name}.${format}`, await getBlob(`api/export?format=${format}${target}`));
		}
		const lines = this.shown.filter((entry) => entry.kind === "message").map(recorded);
		download(`${name}.jsonl`, `${lines.join("\n")}\n`);
	}
}

const STATUS = { ok: "ok", error: "bad", pending: "faint", cancelled: "warn", input: "info" };

/** Fills a row of the timeline. @param {HTMLElement} row @param {Entry} entry */
function fillRow(row, entry) {
	let cells = /** @type {HTMLElement[]} */ ([...row.children]);
	if (cells.length !== 8) {
		cells = ["time", "dir", "method", "name", "dur", "size", "rev", "status"].map((one) => span(`t-${one}`));
		row.replaceChildren(...cells);
		row.classList.add("t-row");
	}
	const arrow = entry.kind !== "message" ? "·" : entry.dir === "out" ? "→" : "←";
	row.dataset.what = entry.what;
	row.dataset.dir = entry.kind === "message" ? entry.dir : "";
	const method = entry.what === "answer" ? `  ${entry.method || "answer"}` : entry.what === "notice" ? `  ${entry.method}` : entry.method;
	const texts = [clock(entry.t), arrow, method, "", entry.what === "notice" ? "" : duration(entry.duration), entry.size ? size(entry.size) : "", entry.revision, entry.what === "notice" ? "" : entry.status];
	texts.forEach((text, i) => { if (i !== 3) cells[i].textContent = plain(text); });
	fill(cells[3], entry.name, span("faint", entry.args && `  ${entry.args}`));
	cells[7].className = `t-status ${STATUS[/** @type {keyof STATUS} */ (entry.status)] ?? ""}`;
}
