// Addresses of the page: `#/tools/get-sum`, `#/messages/214`.

import { Signal } from "./store.js";

/** @param {string} hash @returns {Route} */
export function parseRoute(hash) {
	const [panel, ...rest] = hash.replace(/^#token=[^&]*&?/, "#").replace(/^#?\/?/, "").split("/").map((part) => {
		try {
			return decodeURIComponent(part);
		} catch {
			return part;
		}
	});
	return { panel: panel || "overview", rest: rest.filter(Boolean) };
}

/** @param {string} panel @param {...string} rest */
export function href(panel, ...rest) {
	return `#/${[panel, ...rest].map(encodeURIComponent).join("/")}`;
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
