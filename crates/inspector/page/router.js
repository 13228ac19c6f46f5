// Addresses of the page: `#/tools/get-sum`, `#/messages/214`, and `#/@t2/tools/get-sum` where there are several targets.

import { Signal } from "./store.js";

/** @param {string} hash @returns {Route} */
export function parseRoute(hash) {
	const parts = hash.replace(/^#token=[^&]*&?/, "#").replace(/^#?\/?/, "").split("/").map((part) => {
		try {
			return decodeURIComponent(part);
		} catch {
			return part;
		}
	});
	const target = parts[0]?.startsWith("@") ? parts.shift()?.slice(1) : undefined;
	const [panel, ...rest] = parts;
	return { panel: panel || "overview", rest: rest.filter(Boolean), ...(target ? { target } : {}) };
}

let named = "";

/** Names the target in the addresses from now on, and in that of now; nothing for none. @param {string} target */
export function nameTarget(target) {
	if (named === target) return;
	named = target;
	history.replaceState(null, "", href(route.value.panel, ...route.value.rest));
	route.current = parseRoute(location.hash);
}

/** @param {string} panel @param {...string} rest */
export function href(panel, ...rest) {
	return `#/${named ? `@${encodeURIComponent(named)}/` : ""}${[panel, ...rest].map(encodeURIComponent).join("/")}`;
}

/** @type {Signal<Route>} */
export const route = new Signal(parseRoute(location.hash));

addEventListener("hashchange", () => {
	// `#main` is a place on the page, not in it.
	if (location.hash && !location.hash.startsWith("#/")) {
		history.replaceState(null, "", href(route.value.panel, ...route.value.rest));
		return;
	}
	route.value = parseRoute(location.hash);
});

/** Goes to a place. @param {string} panel @param {...string} rest */
export function go(panel, ...rest) {
	const to = href(panel, ...rest);
	if (location.hash !== to) location.hash = to;
}
