// A form from a JSON Schema, over the text of a draft.

import { button, div, fill, h, LINK, para, span } from "./dom.js";
import { fresh } from "./draft.js";
import { booleanField, choiceField, choicesField, constField, numberField, put, rawField, textField } from "./fields.js";
import { pointer } from "./json.js";
import { branches, choices, fitting, resolve } from "./schema.js";

const MAX_DEPTH = 12;
let forms = 0;

/** A form with its fields. */
export class Form {
	/** @param {Draft} draft */
	constructor(draft) {
		this.draft = draft;
		this.prefix = `form${++forms}`;
		/** Places for messages, by path. @type {Map<string, {row: HTMLElement, message: HTMLElement, control: HTMLElement}>} */
		this.rows = new Map();
		/** @type {Set<string>} */
		this.touched = new Set();
		this.showAll = false;
		this.root = this.make(draft.schema, [], true, 0);
		this.element = div("form", this.root.element);
		this.end = draft.changes.subscribe(() => this.sync());
		this.sync();
	}

	/** The id of the element for a path. @param {Path} path */
	id(path) {
		return `${this.prefix}${pointer(path).replaceAll(/[^\w]/g, "-")}`;
	}

	close() {
		this.end();
	}

	sync() {
		this.element.classList.toggle("stale", !this.draft.node);
		if (this.draft.node) this.root.sync();
		this.mark();
	}

	/** Shows the problems of fields that were touched, or of all. */
	mark() {
		const problems = new Map(this.draft.problems().map((problem) => [problem.path, problem.message]));
		for (const [path, { row, message, control }] of this.rows) {
			const text = this.showAll || this.touched.has(path) ? problems.get(path) ?? "" : "";
			row.classList.toggle("wrong", text !== "");
			if (text) control.setAttribute("aria-invalid", "true");
			else control.removeAttribute("aria-invalid");
			if (message.textContent !== text) fill(message, text);
		}
	}

	/** Makes the field of a schema. @param {any} schema @param {Path} path @param {boolean} required @param {number} depth @param {boolean} [nullable] @returns {Field} */
	make(schema, path, required, depth, nullable = false) {
		const root = this.draft.schema;
		const resolved = resolve(schema, root);
		const place = { draft: this.draft, path, required, schema: resolved, id: this.id(path), nullable };
		if (depth > MAX_DEPTH) return rawField(place);
		if ("const" in resolved) return constField(place);
		if (choices(resolved)) return choiceField(place);
		const types = [resolved.type ?? []].flat().filter((type) => type !== "null");
		const options = branches(resolved) ?? (types.length > 1 ? types.map((type) => ({ ...resolved, type })) : null);
		if (options && !resolved.properties) return this.union(options, resolved, path, required, depth);
		const hasNull = [resolved.type ?? []].flat().includes("null");
		if (hasNull) place.nullable = true;
		switch (types[0] ?? (resolved.properties ? "object" : resolved.items ? "array" : "")) {
			case "string": return textField(place);
			case "number": case "integer": return numberField(place);
			case "boolean": return booleanField(place);
			case "object": return this.object(resolved, path, required, depth);
			case "array": return choices(resolve(resolved.items, root)) ? choicesField({ ...place, schema: { ...resolved, items: resolve(resolved.items, root) } }) : this.array(resolved, path, required, depth);
			default: return rawField(place);
		}
	}

	/** A row: label, field, description, message. @param {string} name @param {any} schema @param {Path} path @param {boolean} required @param {number} depth */
	row(name, schema, path, required, depth) {
		const resolved = resolve(schema, this.draft.schema);
		const field = this.make(schema, path, required, depth);
		const key = pointer(path);
		const message = h("div", { class: "message", id: `${field.control.id}-m`, role: "status" });
		const about = resolved.description ? h("div", { class: "about", id: `${field.control.id}-d` }, resolved.description) : null;
		const label = h("label", { for: field.control.id, title: typeName(resolved) }, name, required ? h("span", { class: "required", "aria-hidden": "true" }, "*") : null);
		if (resolved.title && resolved.title !== name) label.append(span("faint", ` ${resolved.title}`));
		const describedBy = [about?.id, message.id].filter(Boolean).join(" ");
		field.control.setAttribute("aria-describedby", describedBy);
		if (required) field.control.setAttribute("aria-required", "true");
		if (field.control.matches("div, code, fieldset")) {
			field.control.setAttribute("aria-label", name);
			field.control.removeAttribute("aria-required");
			if (!field.control.hasAttribute("role")) field.control.setAttribute("role", "group");
		}
		const row = div("row", label, div("field", field.element, about, message));
		row.addEventListener("focusout", () => {
			this.touched.add(key);
			this.mark();
		});
		this.rows.set(key, { row, message, control: field.control });
		return { element: row, sync: field.sync };
	}

	/** @param {any} schema @param {Path} path @param {boolean} required @param {number} depth @returns {Field} */
	object(schema, path, required, depth) {
		const names = Object.keys(schema.properties ?? {});
		const body = h("div", { class: depth ? "nested" : "rows", id: this.id(path) });
		const add = button("add", () => this.draft.set(path, fresh(schema, this.draft.schema)), LINK);
		const clear = button("remove", () => this.draft.remove(path), LINK);
		/** @type {{element: HTMLElement, sync: () => void}[]|null} */
		let rows = null;
		const extras = this.extras(schema, path, depth);
		const sync = () => {
			const present = depth === 0 || !!this.draft.node?.at(path);
			if (!present && !required) {
				rows = null;
				fill(body, span("faint", "not set "), add);
				return;
			}
			if (!rows) {
				rows = names.map((name) => this.row(name, schema.properties[name], [...path, name], !!schema.required?.includes(name), depth + 1));
				const none = depth === 0 && !names.length && !extras ? para("faint", "No arguments.") : null;
				fill(body, none, ...rows.map((row) => row.element), extras?.element, depth && !required && typeof path.at(-1) !== "number" ? clear : null);
			}
			for (const row of rows) row.sync();
			extras?.sync();
		};
		return { element: body, control: body, sync };
	}

	/** Members beyond the declared ones. @param {any} schema @param {Path} path @param {number} depth */
	extras(schema, path, depth) {
		const value = schema.additionalProperties;
		const declared = schema.properties ?? {};
		if (!value || (value === true && Object.keys(declared).length)) return null;
		const list = div("rows");
		const name = h("input", { type: "text", placeholder: "name", "aria-label": "name of a new member", class: "short" });
		const add = button("add member", () => {
			if (name.value) this.draft.set([...path, name.value], fresh(value, this.draft.schema));
			name.value = "";
		}, LINK);
		/** @type {string} */
		let shown = "";
		/** @type {{sync: () => void}[]} */
		let rows = [];
		return {
			element: div("", list, div("check", name, add)),
			sync: () => {
				const names = (this.draft.node?.at(path)?.names ?? []).filter((one) => !Object.hasOwn(declared, one));
				if (names.join("\0") !== shown) {
					shown = names.join("\0");
					const made = names.map((one) => this.row(one, value, [...path, one], false, depth + 1));
					rows = made;
					fill(list, ...made.map((row) => row.element));
				}
				for (const row of rows) row.sync();
			},
		};
	}

	/** @param {any} schema @param {Path} path @param {boolean} required @param {number} depth @returns {Field} */
	array(schema, path, required, depth) {
		const list = div("items");
		const body = h("div", { class: "nested", id: this.id(path) }, list);
		const itemSchema = (/** @type {number} */ i) => schema.prefixItems?.[i] ?? schema.items ?? {};
		const count = () => this.draft.node?.at(path)?.items.length ?? 0;
		const add = button("add item", () => {
			const item = fresh(itemSchema(count()), this.draft.schema);
			if (this.draft.node?.at(path)?.kind === "array") this.draft.set([...path, count()], item);
			else this.draft.set(path, `[${item}]`);
			/** @type {HTMLElement|null|undefined} */ (list.lastElementChild?.querySelector("input, textarea, select"))?.focus();
		}, LINK);
		body.append(add);
		/** @type {{sync: () => void}[]} */
		let fields = [];
		const sync = () => {
			const length = count();
			if (length !== fields.length) {
				for (const key of [...this.rows.keys()]) if (key.startsWith(`${pointer(path)}/`)) this.rows.delete(key);
				const made = Array.from({ length }, (_, i) => this.row(String(i), itemSchema(i), [...path, i], true, depth + 1));
				fields = made;
				fill(list, ...made.map((row, i) => div("item", row.element,
					button("✕", () => this.removeItem(path, i, required), { class: "icon", "aria-label": `remove item ${i}` }))));
			}
			for (const field of fields) field.sync();
		};
		return { element: body, control: body, sync };
	}

	/** @param {Path} path @param {number} index @param {boolean} required */
	removeItem(path, index, required) {
		this.draft.remove([...path, index]);
		if (!required && path.length && this.draft.node?.at(path)?.items.length === 0) this.draft.remove(path);
	}

	/** @param {any[]} options @param {any} schema @param {Path} path @param {boolean} required @param {number} depth @returns {Field} */
	union(options, schema, path, required, depth) {
		const root = this.draft.schema;
		const real = options.filter((option) => resolve(option, root).type !== "null");
		if (real.length === 1) return this.make({ ...schema, anyOf: undefined, oneOf: undefined, ...resolve(real[0], root) }, path, required, depth, real.length < options.length);
		const id = this.id(path);
		const select = h("select", { id, class: "alternative" },
			required ? null : h("option", { value: "" }, "not set"),
			...options.map((option, i) => h("option", { value: String(i) }, optionName(resolve(option, root), i))));
		const body = div("nested");
		let shown = -2;
		/** @type {Field|null} */
		let field = null;
		select.addEventListener("change", () => {
			shown = -2;
			const place = { draft: this.draft, path, required, schema, id, nullable: false };
			put(place, select.value === "" ? null : fresh(options[Number(select.value)], root));
		});
		const sync = () => {
			const node = this.draft.node?.at(path);
			const index = node ? fitting(options, node.value, root) : required ? 0 : -1;
			// While the value fits the shown alternative no worse, the user's choice stays.
			const keep = shown >= 0 && node && document.activeElement && body.contains(document.activeElement);
			if (index !== shown && !keep) {
				shown = index;
				field = index < 0 ? null : this.make(options[index], path, true, depth + 1);
				fill(body, field?.element);
			}
			select.value = shown < 0 ? "" : String(shown);
			field?.sync();
		};
		return { element: div("", select, body), control: select, sync };
	}
}

/** @param {any} schema @param {number} index */
function optionName(schema, index) {
	const fixed = Object.entries(schema.properties ?? {}).find(([, property]) => "const" in Object(property));
	return String(schema.title ?? (fixed ? `${fixed[0]}: ${/** @type {any} */ (fixed[1]).const}` : schema.type ?? schema.description ?? `alternative ${index + 1}`));
}

/** @param {any} schema */
function typeName(schema) {
	const type = [schema.type ?? []].flat().join(" or ") || (choices(schema) ? "choice" : branches(schema) ? "alternatives" : "any value");
	return schema.format ? `${type}, ${schema.format}` : type;
}
