// Fields of a form for single values: text, number, truth, choice, raw JSON.

import { h, menu, span } from "./dom.js";
import { pointer, tryParse } from "./json.js";
import { choices, same } from "./schema.js";

/** Sets a member, or removes an optional one. @param {Place} place @param {string|null} value */
export function put({ draft, path, required, nullable }, value) {
	draft.invalid.delete(pointer(path));
	if (value !== null) draft.set(path, value);
	else if (nullable && required) draft.set(path, "null");
	else if (path.length && typeof path.at(-1) !== "number") draft.remove(path);
}

/** @param {Place} place */
const nodeOf = ({ draft, path }) => draft.node?.at(path);

/** @param {any} schema */
function hint(schema) {
	if (schema.default !== undefined) return `default ${JSON.stringify(schema.default)}`;
	const example = schema.examples?.[0];
	return example === undefined ? "" : `for example ${typeof example === "string" ? example : JSON.stringify(example)}`;
}

/** @param {Place} place @returns {Field} */
export function textField(place) {
	const { schema, id, required } = place;
	const { format } = schema;
	const control = format
		? h("input", { id, type: format === "password" ? format : "text", inputMode: { email: "email", uri: "url", url: "url" }[String(format)] ?? "text", spellcheck: false, autocomplete: "off", placeholder: hint(schema) || format })
		: h("textarea", { id, rows: 1, spellcheck: false, placeholder: hint(schema) });
	control.addEventListener("input", () => put(place, control.value === "" && !required ? null : JSON.stringify(control.value)));
	return {
		element: control, control,
		sync() {
			const node = nodeOf(place);
			const text = node?.kind === "string" ? node.value : node && node.kind !== "null" ? node.raw : "";
			if (control.value !== text) control.value = text;
		},
	};
}

/** @param {Place} place @returns {Field} */
export function numberField(place) {
	const { schema, id, draft, path } = place;
	const range = [schema.minimum ?? schema.exclusiveMinimum, schema.maximum ?? schema.exclusiveMaximum];
	const limits = range.some((side) => side !== undefined) ? `${range[0] ?? "…"} to ${range[1] ?? "…"}` : "";
	const control = h("input", { id, type: "text", inputMode: "decimal", autocomplete: "off", class: "number", placeholder: hint(schema) || limits });
	control.addEventListener("input", () => {
		const text = control.value.trim();
		if (text === "") put(place, null);
		else if (tryParse(text)?.kind === "number") put(place, text);
		else {
			draft.invalid.set(pointer(path), `\`${text}\` is not a number`);
			draft.changes.value++;
		}
	});
	control.addEventListener("keydown", (event) => {
		const step = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
		if (!step) return;
		event.preventDefault();
		put(place, String((Number(control.value) || 0) + step));
	});
	return {
		element: control, control,
		sync() {
			if (draft.invalid.has(pointer(path))) return;
			const text = nodeOf(place)?.raw ?? "";
			if (control.value.trim() !== text) control.value = text;
		},
	};
}

/** @param {Place} place @returns {Field} */
export function booleanField(place) {
	const control = h("input", { id: place.id, type: "checkbox", onchange: () => put(place, String(control.checked)) });
	const state = span("faint");
	const clear = h("button", { type: "button", class: "link", onclick: () => put(place, null) }, "unset");
	return {
		element: span("check", control, state, clear), control,
		sync() {
			const node = nodeOf(place);
			control.checked = node?.raw === "true";
			state.textContent = node ? node.raw : place.schema.default === undefined ? "not set" : `not set, default ${place.schema.default}`;
			clear.hidden = !node || place.required;
		},
	};
}

/** @param {Place} place @returns {Field} */
export function choiceField(place) {
	const options = choices(place.schema) ?? [];
	const control = menu({ id: place.id, onchange: () => put(place, control.value === "" ? null : JSON.stringify(options[Number(control.value)].value)) },
		[["", place.required ? "choose…" : "not set"], ...options.map((option, i) => /** @type {[string, string]} */ ([String(i), option.label]))]);
	return {
		element: control, control,
		sync() {
			const node = nodeOf(place);
			const value = node?.value;
			const index = node ? options.findIndex((option) => same(option.value, value)) : -1;
			control.value = index < 0 ? "" : String(index);
		},
	};
}

/** An array of choices. @param {Place} place @returns {Field} */
export function choicesField(place) {
	const options = choices(place.schema.items) ?? [];
	const boxes = options.map((option, i) => {
		const box = h("input", { type: "checkbox", id: `${place.id}-${i}` });
		box.addEventListener("change", () => {
			const now = nodeOf(place)?.value;
			const others = (Array.isArray(now) ? now : []).filter((value) => !same(value, option.value));
			const next = box.checked ? [...others, option.value] : others;
			put(place, next.length || place.required ? JSON.stringify(next) : null);
		});
		return { option, box };
	});
	const element = h("div", { class: "checks", role: "group", id: place.id }, ...boxes.map(({ option, box }) => h("label", { class: "check" }, box, option.label)));
	return {
		element, control: element,
		sync() {
			const now = nodeOf(place)?.value;
			for (const { option, box } of boxes) box.checked = Array.isArray(now) && now.some((value) => same(value, option.value));
		},
	};
}

/** @param {Place} place @returns {Field} */
export function constField(place) {
	const control = h("code", { id: place.id }, JSON.stringify(place.schema.const));
	return { element: control, control, sync() {} };
}

/** A value of any kind, as JSON. @param {Place} place @returns {Field} */
export function rawField(place) {
	const { draft, path } = place;
	const control = h("textarea", { id: place.id, rows: 2, class: "mono", spellcheck: false, placeholder: "JSON" });
	control.addEventListener("input", () => {
		const text = control.value.trim();
		if (text === "") put(place, null);
		else if (tryParse(text)) put(place, text);
		else {
			draft.invalid.set(pointer(path), "this is not JSON");
			draft.changes.value++;
		}
	});
	return {
		element: control, control,
		sync() {
			if (draft.invalid.has(pointer(path))) return;
			const text = nodeOf(place)?.raw ?? "";
			if (control.value.trim() !== text) control.value = text;
		},
	};
}
