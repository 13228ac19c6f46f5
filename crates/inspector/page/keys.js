// Keys of the whole page.

import { stepMessage } from "./panel-messages.js";
import { openPalette } from "./palette.js";
import { go, route } from "./router.js";
import { settings } from "./settings.js";

/** @type {[string, string][]} */
export const KEYS = [
	["Ctrl+K, ⌘K", "search or run anything"],
	["Ctrl+↵, ⌘↵", "call, read or get what is open; accept a question"],
	["/", "filter the list"],
	["j, k or ↓, ↑", "next and previous row; next and previous message"],
	["↵", "open the row"],
	["f", "filter the timeline"],
	["t", "open or collapse the timeline"],
	["1 … 9", "panels"],
	["esc", "leave a field; cancel the palette"],
	["← → in a tree", "close and open; c copies"],
	["?", "this help"],
];

/** @param {EventTarget|null} target */
const isTyping = (target) => target instanceof HTMLElement && (target.matches("input:not([type=checkbox]), textarea, select") || target.isContentEditable);

/** @param {Context} context @param {Shell} shell */
export function bindKeys(context, shell) {
	addEventListener("keydown", (event) => {
		const command = event.ctrlKey || event.metaKey;
		if (command && event.key.toLowerCase() === "k") {
			event.preventDefault();
			return openPalette(context, shell.panels);
		}
		if (document.querySelector("dialog[open]")) return;
		if (command && event.key === "Enter") {
			event.preventDefault();
			return shell.view?.primary?.();
		}
		if (command || event.altKey || event.defaultPrevented) return;
		if (event.key === "Escape" && isTyping(event.target)) return /** @type {HTMLElement} */ (event.target).blur();
		if (isTyping(event.target)) return;
		plain(event, context, shell);
	});
}

/** @param {KeyboardEvent} event @param {Context} context @param {Shell} shell */
function plain(event, context, shell) {
	const inside = /** @type {HTMLElement} */ (event.target).closest?.(".vlist, .tree");
	switch (event.key) {
		case "/": focus(event, ".list-filter"); break;
		case "f": focus(event, ".timeline .filter"); break;
		case "t": settings.timelineOpen.value = !settings.timelineOpen.value; break;
		case "?": go("help"); break;
		case "j": case "k":
			if (inside) return;
			if (route.value.panel === "messages") stepMessage(context, event.key === "j" ? 1 : -1);
			else focus(event, ".list .vlist");
			break;
		default: {
			const shown = [...document.querySelectorAll(".nav-link")];
			const link = /^[1-9]$/.test(event.key) ? shown[Number(event.key) - 1] : undefined;
			if (link instanceof HTMLElement) link.click();
		}
	}
}

/** @param {Event} event @param {string} selector */
function focus(event, selector) {
	const element = document.querySelector(selector);
	if (!(element instanceof HTMLElement)) return;
	event.preventDefault();
	element.focus();
}
