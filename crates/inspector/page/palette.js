// The palette: everything by name, from the keyboard.

import { badge, fill, h, para, span } from "./dom.js";
import { line } from "./format.js";
import { openDetail } from "./lists.js";
import { go } from "./router.js";
import { settings } from "./settings.js";

const MAX = 50;

/** Ranks a label for a search: nothing if it does not match. @param {string} label @param {string} search @returns {number|null} */
export function rank(label, search) {
	const name = label.toLowerCase();
	if (!search) return 0;
	const at = name.indexOf(search);
	if (at >= 0) return at === 0 ? 0 : 1 + at / 100;
	let from = 0;
	let gaps = 0;
	for (const char of search.replaceAll(" ", "")) {
		const next = name.indexOf(char, from);
		if (next < 0) return null;
		gaps += next - from;
		from = next + 1;
	}
	return gaps > 12 ? null : 10 + gaps;
}

/** @param {Context} context @param {Panel[]} panels @returns {Command[]} */
function commands(context, panels) {
	const session = context.session.value;
	/** @type {Command[]} */
	const all = panels.filter((panel) => panel.id !== "messages" && (panel.offered?.(context) ?? true)).map((panel) => ({ label: panel.title, kind: "panel", run: () => go(panel.id) }));
	const add = (/** @type {string} */ kind, /** @type {string} */ label, /** @type {() => any} */ run, /** @type {string} */ about = "") => all.push({ label, kind, about: line(about, 80), run });
	for (const tool of session?.tools.value.items ?? []) add("tool", tool.name, () => go("tools", tool.name), tool.description);
	for (const prompt of session?.prompts.value.items ?? []) add("prompt", prompt.name, () => go("prompts", prompt.name), prompt.description);
	for (const { uri, name } of session?.resources.value.items ?? []) add("resource", uri, () => go("resources", uri), name);
	for (const { uriTemplate, name } of session?.templates.value.items ?? []) add("template", uriTemplate, () => go("resources", "template", uriTemplate), name);
	for (const other of context.sessions.value) add("target", `target ${other.info.value.name}`, () => context.select(other));
	if (session?.live && context.config.mode === "inspect") {
		for (const revision of ["auto", ...context.config.revisions]) add("command", `reconnect in ${revision}`, () => context.reconnect(session, revision).catch(() => {}));
	}
	for (const mode of ["list", "sequence", "waterfall"]) add("command", `timeline as ${mode}`, () => { settings.timeline.value = mode; });
	add("command", "clear the timeline", () => context.events.clear());
	for (const theme of ["light", "dark", "auto"]) add("command", `theme ${theme}`, () => { settings.theme.value = theme; });
	return all;
}

/** @param {Context} context @param {Panel[]} panels */
export function openPalette(context, panels) {
	if (document.querySelector("dialog.palette")) return;
	const all = commands(context, panels);
	/** @type {Command[]} */
	let shown = [];
	let at = 0;
	const input = h("input", { type: "text", placeholder: "tool, resource, prompt, panel or command", "aria-label": "Search or run", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list", spellcheck: false, autocomplete: "off" });
	const list = h("div", { class: "palette-list", role: "listbox", id: "palette-list", "aria-label": "Found" });
	const dialog = h("dialog", { class: "palette", "aria-label": "Search or run" }, input, list);
	const before = document.activeElement;
	const close = () => {
		dialog.close();
		dialog.remove();
		if (before instanceof HTMLElement && before.isConnected) before.focus();
	};
	const run = (/** @type {Command|undefined} */ command) => {
		if (!command) return;
		close();
		if (["tool", "prompt", "resource", "template"].includes(command.kind)) openDetail(command.run);
		else command.run();
	};
	const draw = () => {
		fill(list, ...shown.map((command, i) => h("div", { class: "palette-row", role: "option", id: `palette-${i}`, "aria-selected": String(i === at), onclick: () => run(command) },
			badge(command.kind), span("palette-label", command.label), span("faint", command.about ?? ""))));
		if (!shown.length) fill(list, para("faint", "Nothing has this name."));
		input.setAttribute("aria-activedescendant", shown.length ? `palette-${at}` : "");
		list.children[at]?.scrollIntoView({ block: "nearest" });
	};
	const search = () => {
		const text = input.value.trim().toLowerCase();
		const found = [];
		for (const command of all) {
			const score = rank(command.label, text);
			if (score !== null) found.push({ command, score });
		}
		found.sort((a, b) => a.score - b.score);
		shown = found.slice(0, MAX).map(({ command }) => command);
		at = 0;
		draw();
	};
	input.addEventListener("input", search);
	input.addEventListener("keydown", (event) => {
		if (event.key === "ArrowDown") at = Math.min(at + 1, shown.length - 1);
		else if (event.key === "ArrowUp") at = Math.max(at - 1, 0);
		else if (event.key === "Enter") return run(shown[at]);
		else return;
		event.preventDefault();
		draw();
	});
	dialog.addEventListener("cancel", (event) => {
		event.preventDefault();
		close();
	});
	dialog.addEventListener("click", (event) => { if (event.target === dialog) close(); });
	document.body.append(dialog);
	dialog.showModal();
	search();
	input.focus();
}
