// URI templates (RFC 6570).

const OPERATOR = /\{([+#./;?&]?)([^{}]*)\}/g;

/** The names of a template's variables. @param {string} template */
export function variables(template) {
	return [...new Set([...template.matchAll(OPERATOR)].flatMap((match) => match[2].split(",").map(bare)).filter(Boolean))];
}

/** @param {string} name */
const bare = (name) => name.replace(/(\*|:\d+)$/, "").trim();

/** @param {string} text */
const strict = (text) => encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

/** Fills a template. @param {string} template @param {Record<string, string>} values */
export function expand(template, values) {
	return template.replaceAll(OPERATOR, (_, operator, list) => {
		const loose = operator === "+" || operator === "#";
		const named = operator === ";" || operator === "?" || operator === "&";
		const separator = { "": ",", "+": ",", "#": ",", "?": "&", "&": "&" }[/** @type {string} */ (operator)] ?? operator;
		const parts = list.split(",").flatMap((/** @type {string} */ spec) => {
			const name = bare(spec);
			const value = values[name];
			if (value === undefined || value === "") return [];
			const cut = value.slice(0, Number(/:(\d+)$/.exec(spec)?.[1] ?? value.length));
			// `{path*}` takes a list: its parts are separated as the operator says.
			const text = loose ? encodeURI(cut) : spec.endsWith("*") ? cut.split("/").map(strict).join("/") : strict(cut);
			return [named ? `${name}=${text}` : text];
		});
		return parts.length ? (operator === "+" ? "" : operator) + parts.join(separator) : "";
	});
}
