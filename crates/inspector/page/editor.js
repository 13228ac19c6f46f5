// A form and its JSON text, side by side.

import { div, fill, h } from "./dom.js";
import { Form } from "./form.js";

/** Creates the editor of a draft. @param {Draft} draft @param {string} label */
export function editor(draft, label) {
	const form = new Form(draft);
	const area = h("textarea", { class: "json-text mono", spellcheck: false, "aria-label": `${label} as JSON`, value: draft.text, oninput: () => draft.replace(area.value) });
	const verdict = h("div", { class: "verdict", role: "status" });
	const sync = () => {
		if (area.value !== draft.text) area.value = draft.text;
		area.rows = Math.min(24, Math.max(4, draft.text.split("\n").length + 1));
		const problems = draft.problems();
		area.classList.toggle("wrong", !draft.node);
		const first = problems[0];
		const more = problems.length > 1 ? `, and ${problems.length - 1} more` : "";
		verdict.className = `verdict ${first ? (form.showAll || !draft.node ? "bad" : "faint") : "ok"}`;
		fill(verdict, first ? `${first.path ? `${first.path} ` : ""}${first.message}${more}` : "valid");
	};
	const end = draft.changes.subscribe(sync);
	sync();
	const element = div("editor",
		div("editor-form", form.element),
		div("editor-json", area, verdict));
	return {
		element,
		/** Shows every problem and returns whether there is none. */
		check() {
			form.showAll = true;
			form.mark();
			sync();
			const ok = draft.problems().length === 0;
			if (!ok) /** @type {HTMLElement} */ (element.querySelector("[aria-invalid]") ?? area).focus();
			return ok;
		},
		close() {
			end();
			form.close();
		},
	};
}
