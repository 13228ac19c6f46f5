// A field with completions of the server.

import { div, fill, h, span } from "./dom.js";

let fields = 0;

/**
 * Creates a field that asks the server for completions while the user types.
 * @param {Session} session
 * @param {any} ref `{type: "ref/prompt", name}` or `{type: "ref/resource", uri}`.
 * @param {string} name
 * @param {string} value
 * @param {() => Record<string, string>} others The arguments so far.
 * @param {(value: string) => void} onChange
 */
export function suggestField(session, ref, name, value, others, onChange) {
	const id = `suggest${++fields}`;
	const offers = !!session.capabilities.completions && session.live;
	const input = h("input", { type: "text", value, id, autocomplete: "off", spellcheck: false, ...(offers ? { role: "combobox", "aria-expanded": "false", "aria-autocomplete": "list", "aria-controls": `${id}-l` } : {}) });
	const list = h("div", { class: "suggest-list", role: "listbox", id: `${id}-l`, "aria-label": `Completions of ${name}` });
	list.hidden = true;
	/** @type {string[]} */
	let found = [];
	let at = -1;
	let asked = 0;
	const close = () => {
		list.hidden = true;
		input.setAttribute("aria-expanded", "false");
	};
	const take = (/** @type {string} */ text) => {
		input.value = text;
		onChange(text);
		close();
	};
	const draw = () => {
		fill(list, ...found.map((text, i) => h("div", { role: "option", id: `${id}-${i}`, "aria-selected": String(i === at), onmousedown: (/** @type {Event} */ event) => { event.preventDefault(); take(text); } }, text)));
		list.hidden = !found.length;
		input.setAttribute("aria-expanded", String(!!found.length));
		input.setAttribute("aria-activedescendant", at >= 0 ? `${id}-${at}` : "");
		list.children[at]?.scrollIntoView({ block: "nearest" });
	};
	const ask = async () => {
		const turn = ++asked;
		const { [name]: _, ...rest } = others();
		try {
			const context = Object.keys(rest).length ? { context: { arguments: rest } } : {};
			const { result } = await session.client.request("completion/complete", { ref, argument: { name, value: input.value }, ...context });
			if (turn !== asked || document.activeElement !== input) return;
			// A late answer does not take the choice away.
			const chosen = found[at];
			found = (result.completion?.values ?? []).map(String);
			at = chosen === undefined ? -1 : found.indexOf(chosen);
			draw();
		} catch {
			close();
		}
	};
	input.addEventListener("input", () => {
		onChange(input.value);
		if (offers) ask();
	});
	if (offers) {
		input.addEventListener("focus", ask);
		input.addEventListener("blur", close);
		input.addEventListener("keydown", (event) => {
			if (list.hidden) return;
			if (event.key === "ArrowDown") at = Math.min(at + 1, found.length - 1);
			else if (event.key === "ArrowUp") at = Math.max(at - 1, -1);
			else if (event.key === "Enter" && at >= 0 && !event.ctrlKey && !event.metaKey) {
				event.preventDefault();
				return take(found[at]);
			} else if (event.key === "Escape") {
				event.stopPropagation();
				return close();
			} else return;
			event.preventDefault();
			draw();
		});
	}
	return { element: div("suggest", input, list), input, id };
}

/**
 * Rows of fields with completions.
 * @param {Session} session
 * @param {any} ref
 * @param {{name: string, title?: string, description?: string, required?: boolean}[]} args
 * @param {Record<string, string>} values Changed as the user types.
 * @param {() => void} onChange
 */
export function suggestRows(session, ref, args, values, onChange) {
	return div("form", ...args.map((arg) => {
		const field = suggestField(session, ref, arg.name, values[arg.name] ?? "", () => ({ ...values }), (text) => {
			if (text === "") delete values[arg.name];
			else values[arg.name] = text;
			onChange();
		});
		return div("row", h("label", { for: field.id }, arg.title ?? arg.name, arg.required ? span("required", "*") : null),
			div("field", field.element, arg.description ? div("about", arg.description) : null));
	}));
}
