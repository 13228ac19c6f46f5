// The frame of the page: bar, navigation, three columns, timeline.

import { message } from "./mcp.js";
import { hasBearer, setBearer } from "./api.js";
import { button, div, fill, h, menu, opening, say, span } from "./dom.js";
import { duration } from "./format.js";
import { nameList } from "./lists.js";
import { openPalette } from "./palette.js";
import { toolItems } from "./panel-tools.js";
import { loadState } from "./parts.js";
import { go, href, route } from "./router.js";
import { settings } from "./settings.js";
import { perFrame, Scope } from "./store.js";
import { Timeline } from "./timeline.js";

const STATES = { connecting: "warn", connected: "ok", reconnecting: "warn", ended: "off", failed: "bad", login: "info" };

/** The page. */
export class Shell {
	/** @param {Context} context @param {Panel[]} panels */
	constructor(context, panels) {
		this.context = context;
		this.panels = panels;
		/** @type {View|null} */
		this.view = null;
		this.opened = "";
		this.scope = new Scope();
		/** @type {ReturnType<typeof nameList>|null} */
		this.tools = null;
		this.bar = h("header", { class: "bar" });
		this.nav = h("nav", { class: "nav", "aria-label": "Panels" });
		this.listSlot = h("section", { class: "list-slot", "aria-label": "List" });
		this.left = div("left", this.nav, this.listSlot);
		this.main = h("main", { class: "main", id: "main", tabIndex: -1 });
		this.side = h("aside", { class: "side", "aria-label": "Result", tabIndex: 0 });
		this.columns = div("columns", this.left, this.main, this.side);
		this.timeline = new Timeline(context);
		this.tabs = h("div", { class: "tabs", role: "group", "aria-label": "Parts of the page" });
		this.element = div("page", this.bar, this.columns, this.grip(), this.timeline.element, this.tabs);
		this.drawTabs();
		this.main.addEventListener("result", () => { if (this.view?.side) this.pane("side"); });
		context.session.subscribe(() => this.session());
		context.sessions.subscribe(() => this.drawBar());
		context.problem.subscribe(() => this.drawBar());
		route.subscribe(() => this.route());
		settings.timelineOpen.subscribe(() => this.size());
		settings.timelineHeight.subscribe(() => this.size());
		this.size();
		this.session();
	}

	/** Draws anew what depends on the target. */
	session() {
		this.scope.close();
		const session = this.context.session.value;
		this.tools = null;
		if (session) {
			// The tools are what most come for: panels without a list of their own show them.
			const tools = nameList({ label: "tools", placeholder: "filter tools", onOpen: ({ key }) => go("tools", key), none: () => loadState(session, "tools", "tools") });
			this.tools = tools;
			this.scope.watch(session.tools, () => tools.update(toolItems(session)));
			const again = perFrame(() => {
				this.drawBar();
				this.drawNav();
			});
			for (const signal of [session.info, session.tools, session.resources, session.templates, session.prompts, session.skills, session.logCount, session.lint, session.discovered, session.tasks.all]) {
				this.scope.add(/** @type {any} */ (signal).subscribe(again));
			}
		}
		this.opened = "";
		this.drawBar();
		this.drawNav();
		this.route();
	}

	route() {
		const known = this.panels.find((panel) => panel.id === route.value.panel);
		const panel = known ?? this.panels[0];
		const key = `${panel.id} ${this.context.session.value?.id ?? ""}`;
		if (key !== this.opened) this.open(panel, key);
		this.view?.route?.(route.value);
		this.drawNav();
		document.title = `${[route.value.rest[0], panel.title, this.context.session.value?.info.value.name].filter(Boolean).join(" · ")} · Couplet inspector`;
		if (route.value.rest.length) this.pane("main");
	}

	/** @param {Panel} panel @param {string} key */
	open(panel, key) {
		this.view?.close?.();
		this.opened = key;
		this.view = panel.open(this.context);
		this.columns.dataset.side = this.view.side ? "yes" : "no";
		this.element.dataset.list = this.view.list || this.tools ? "yes" : "no";
		fill(this.listSlot, this.view.list ?? this.tools?.element);
		fill(this.main, this.view.main);
		fill(this.side, this.view.side);
		this.main.scrollTop = 0;
		this.first();
	}

	/** Shows the part of a narrow page that a panel begins with. */
	first() {
		this.pane(this.view?.list && !route.value.rest.length ? "list" : "main");
	}

	/** @param {string} name The part that a narrow page shows. */
	pane(name) {
		this.element.dataset.pane = name;
		for (const tab of this.tabs.children) tab.setAttribute("aria-pressed", String(/** @type {HTMLElement} */ (tab).dataset.tab === name));
	}

	drawTabs() {
		const names = { list: "Panels", main: "Detail", side: "Result", timeline: "Timeline" };
		fill(this.tabs, ...Object.entries(names).map(([name, label]) => button(label, () => this.pane(name), { "data-tab": name, "aria-pressed": "false" })));
	}

	drawNav() {
		const session = this.context.session.value;
		const links = this.panels.filter((panel) => panel.id !== "messages" && (panel.offered?.(this.context) ?? true)).map((panel) => {
			const count = session ? panel.count?.(session) : null;
			const here = route.value.panel === panel.id;
			return h("a", { href: href(panel.id), class: "nav-link", "aria-current": here ? "page" : undefined, "data-panel": panel.id, onclick: () => { if (here) this.first(); } },
				span("", panel.title), count === null || count === undefined || count === 0 ? null : span("nav-count", String(count)));
		});
		const focused = /** @type {HTMLElement|null} */ (document.activeElement)?.dataset?.panel;
		fill(this.nav, ...links);
		if (focused) /** @type {HTMLElement|null} */ (this.nav.querySelector(`[data-panel="${focused}"]`))?.focus();
	}

	drawBar() {
		const { context } = this;
		const session = context.session.value;
		const target = session?.info.value;
		const problem = context.problem.value;
		if (this.bar.contains(document.activeElement) && document.activeElement instanceof HTMLSelectElement && this.drawn === context.sessions.value.length) {
			// A menu that is open is not taken away: only the sentence changes.
			const line = this.bar.querySelector(".state-text");
			if (line && target) fill(line, problem ?? sentence(target));
			return;
		}
		this.drawn = context.sessions.value.length;
		fill(this.bar,
			this.targetMenu(),
			target ? h("span", { class: `state-dot ${problem ? "bad" : STATES[target.state] ?? ""}`, "aria-hidden": "true" }) : null,
			target ? h("span", { class: "state-text", role: "status" }, problem ?? sentence(target)) : problem ? h("span", { class: "bad", role: "status" }, problem) : null,
			session && target ? this.revisionMenu(session, target) : null,
			target?.transport ? span("faint wide", target.transport) : null,
			target?.latency_ms ? h("span", { class: "faint wide", title: "latency" }, duration(target.latency_ms)) : null,
			target?.state === "login" ? h("a", { href: href("login"), class: "button primary" }, "log in") : null,
			span("spring"),
			context.config.mode === "endpoint" ? this.bearer() : null,
			button("Search or run", () => openPalette(context, this.panels), { class: "palette-button", title: "Ctrl+K or ⌘K" }),
			button("?", () => go("help"), { class: "icon", "aria-label": "Keys and help", title: "keys (?)" }),
			this.themeButton());
	}

	targetMenu() {
		const { context } = this;
		const sessions = context.sessions.value;
		/** @type {[string, string][]} */
		const options = sessions.map((session) => [session.id, title(session.info.value)]);
		if (context.config.mode === "inspect") options.push(["+", sessions.length ? "connect to another…" : "no target"]);
		const select = opening(menu({ "aria-label": "Target", class: "target-menu" }, options, context.session.value?.id));
		select.addEventListener("change", () => {
			const session = sessions.find((one) => one.id === select.value);
			if (session) context.select(session);
			else {
				select.value = context.session.value?.id ?? "+";
				go("connect");
			}
		});
		return select;
	}

	/** @param {Session} session @param {Target} target */
	revisionMenu(session, target) {
		const fixed = this.context.config.mode === "endpoint" || !session.live;
		if (fixed) return span("faint wide", target.revision ?? "");
		const auto = target.asked === "auto" && target.revision ? `${target.revision} (auto)` : "auto";
		const select = opening(menu({ "aria-label": "Protocol revision", class: "revision-menu", title: "reconnects in this revision" }, [["auto", auto], ...this.context.config.revisions], target.asked));
		select.addEventListener("change", () => {
			const revision = select.value;
			select.blur();
			this.context.reconnect(session, revision).catch((error) => say(message(error), "bad"));
		});
		return select;
	}

	bearer() {
		const input = h("input", { type: "password", placeholder: hasBearer() ? "bearer token set" : "bearer token", "aria-label": "Bearer token", autocomplete: "off", class: "short" });
		input.addEventListener("change", () => {
			setBearer(input.value.trim());
			this.context.session.value?.connected();
		});
		return input;
	}

	themeButton() {
		return button("", () => { settings.theme.value = document.documentElement.dataset.theme === "dark" ? "light" : "dark"; }, { class: "icon theme", "aria-label": "Light or dark theme" });
	}

	/** The line between the panels and the timeline. */
	grip() {
		const grip = h("div", { class: "grip", role: "separator", tabIndex: 0, "aria-orientation": "horizontal", "aria-label": "Height of the timeline", "aria-valuemin": 60, "aria-valuemax": 900, "aria-valuenow": settings.timelineHeight.value });
		const set = (/** @type {number} */ height) => {
			settings.timelineHeight.value = Math.round(Math.min(Math.max(height, 60), Math.max(120, innerHeight - 200)));
			grip.setAttribute("aria-valuenow", String(settings.timelineHeight.value));
		};
		grip.addEventListener("pointerdown", (event) => {
			grip.setPointerCapture(event.pointerId);
			settings.timelineOpen.value = true;
			const move = (/** @type {PointerEvent} */ moved) => set(this.element.getBoundingClientRect().bottom - moved.clientY);
			grip.addEventListener("pointermove", move);
			grip.addEventListener("pointerup", () => grip.removeEventListener("pointermove", move), { once: true });
		});
		grip.addEventListener("keydown", (event) => {
			const step = { ArrowUp: 22, ArrowDown: -22 }[event.key];
			if (!step) return;
			event.preventDefault();
			set(settings.timelineHeight.value + step);
		});
		return grip;
	}

	size() {
		const open = settings.timelineOpen.value;
		this.element.dataset.timeline = open ? "open" : "closed";
		this.element.style.setProperty("--timeline", open ? `${settings.timelineHeight.value}px` : "30px");
		if (this.timeline.toggle) {
			this.timeline.toggle.textContent = open ? "▾" : "▸";
			this.timeline.toggle.setAttribute("aria-expanded", String(open));
		}
	}
}

/** @param {Target} target */
const title = (target) => (target.server ? `${target.server.title ?? target.server.name} ${target.server.version}` : target.name);

/** The state as a sentence. @param {Target} target */
export function sentence(target) {
	switch (target.state) {
		case "connecting": return "connecting…";
		case "connected": return "connected";
		case "reconnecting": return target.retry_ms ? `reconnecting in ${Math.ceil(target.retry_ms / 1000)} s: ${target.detail}` : `reconnecting: ${target.detail}`;
		case "login": return "login needed";
		default: return target.detail || target.state;
	}
}
