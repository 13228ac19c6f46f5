// The filter of the timeline: `method:tools/call dur:>5ms status:error text`.

export const KEYS = ["method", "name", "status", "dir", "dur", "size", "kind", "id", "rev", "target", "text"];

/** Splits a filter into words. Quotes keep spaces. @param {string} text @returns {{key: string, value: string, not: boolean}[]} */
export function words(text) {
	const found = [];
	for (const match of text.matchAll(/(-)?(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/gi)) {
		const [, not, key, quoted, bare] = match;
		const value = quoted ?? bare ?? "";
		const known = key && KEYS.includes(key.toLowerCase());
		if (known) found.push({ key: key.toLowerCase(), value, not: !!not });
		else if (value || key) found.push({ key: "text", value: key ? `${key}:${value}` : value, not: !!not });
	}
	return found;
}

const UNITS = { us: 0.001, µs: 0.001, ms: 1, s: 1000, m: 60_000, b: 1, kb: 1024, mb: 1024 * 1024 };

/** Parses `>5ms`, `<=1kb` or `3` as a comparison. @param {string} text @returns {((value: number|null) => boolean)|null} */
export function comparison(text) {
	const match = /^(<=|>=|<|>|=)?(\d+(?:\.\d+)?)([a-zµ]*)$/i.exec(text);
	if (!match) return null;
	const unit = match[3] ? UNITS[/** @type {keyof UNITS} */ (match[3].toLowerCase())] : 1;
	if (unit === undefined) return null;
	const limit = Number(match[2]) * unit;
	const compare = {
		"<": (/** @type {number} */ v) => v < limit,
		"<=": (/** @type {number} */ v) => v <= limit,
		">": (/** @type {number} */ v) => v > limit,
		">=": (/** @type {number} */ v) => v >= limit,
		"=": (/** @type {number} */ v) => v === limit,
	}[match[1] ?? ">="];
	return (value) => value !== null && value !== undefined && !!compare?.(value);
}

/** @param {string} pattern @returns {(value: string|null|undefined) => boolean} */
function glob(pattern) {
	if (!pattern.includes("*")) {
		const part = pattern.toLowerCase();
		return (value) => !!value && value.toLowerCase().includes(part);
	}
	const escaped = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
	const regex = new RegExp(`^${escaped.join(".*")}$`, "i");
	return (value) => !!value && regex.test(value);
}

/** @param {string} key @param {string} value @returns {Test|null} */
function test(key, value) {
	if (key === "dur" || key === "size") {
		const compare = comparison(value);
		if (!compare) return null;
		return (entry) => compare(key === "dur" ? entry.duration : entry.size);
	}
	const matches = glob(value);
	switch (key) {
		case "method": case "name": case "status": case "dir": return (entry) => matches(entry[key]);
		case "kind": return (entry) => matches(entry.kind) || matches(entry.what);
		case "id": return (entry) => entry.id === value || entry.id === JSON.stringify(value);
		case "rev": return (entry) => matches(entry.revision);
		case "target": return (entry) => entry.target === value;
		default: return (entry) => matches(entry.method) || matches(entry.text);
	}
}

/** Makes a test of timeline entries from a filter. Words of one key are alternatives, other words must all match. @param {string} text @returns {{test: Test, problems: string[]}} */
export function filter(text) {
	/** @type {Map<string, Test[]>} */
	const groups = new Map();
	const problems = [];
	for (const [index, { key, value, not }] of words(text).entries()) {
		const made = test(key, value);
		if (!made) {
			problems.push(`\`${key}:${value}\` is not a comparison such as \`${key}:>5${key === "dur" ? "ms" : "kb"}\``);
			continue;
		}
		const any = !not && key !== "text" && key !== "dur" && key !== "size";
		const group = any ? key : `${key} ${index}`;
		groups.set(group, [...(groups.get(group) ?? []), not ? (entry) => !made(entry) : made]);
	}
	const all = [...groups.values()];
	return { test: (entry) => all.every((any) => any.some((one) => one(entry))), problems };
}
