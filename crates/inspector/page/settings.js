// What the user has set: the answers of the client side, and the look.

import { stored } from "./store.js";

export const settings = {
	/** @type {Signal<Root[]>} */
	roots: stored("roots", /** @type {Root[]} */ ([{ uri: "file:///workspace", name: "workspace" }]), localStorage),
	/** `ask` or `canned`. */
	sampling: stored("sampling", "ask", localStorage),
	canned: stored("canned", "This is a canned answer.", localStorage),
	model: stored("model", "inspector", localStorage),
	/** The level of log messages that requests ask for; empty for none. */
	logLevel: stored("logLevel", "", localStorage),
	/** `light`, `dark` or `auto`. */
	theme: stored("theme", "auto", localStorage),
	/** `list`, `sequence` or `waterfall`. */
	timeline: stored("timeline", "list"),
	timelineHeight: stored("timelineHeight", 220),
	timelineOpen: stored("timelineOpen", true),
	filter: stored("filter", ""),
	target: stored("target", ""),
};

/** Applies the theme to the page. */
export function applyTheme() {
	const dark = matchMedia("(prefers-color-scheme: dark)");
	const apply = () => {
		const theme = settings.theme.value === "auto" ? (dark.matches ? "dark" : "light") : settings.theme.value;
		document.documentElement.dataset.theme = theme;
	};
	dark.addEventListener("change", apply);
	settings.theme.subscribe(apply);
	apply();
}
