// Numbers and times for people.

/** @param {number|null|undefined} ms */
export function duration(ms) {
	if (ms === null || ms === undefined) return "";
	if (ms < 1) return `${Math.round(ms * 1000)} µs`;
	if (ms < 10) return `${ms.toFixed(1)} ms`;
	if (ms < 1000) return `${Math.round(ms)} ms`;
	if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
	return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** @param {number} bytes */
export function size(bytes) {
	if (bytes < 1024) return `${bytes} B`;
	if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(bytes < 10_240 ? 1 : 0)} KB`;
	return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

/** @param {number} value @param {number} digits */
const pad = (value, digits) => String(value).padStart(digits, "0");

/** The time of day with milliseconds. @param {number} t */
export function clock(t) {
	const date = new Date(t);
	return `${pad(date.getHours(), 2)}:${pad(date.getMinutes(), 2)}:${pad(date.getSeconds(), 2)}.${pad(date.getMilliseconds(), 3)}`;
}

/** @param {number} t */
export const shortClock = (t) => clock(t).slice(0, 8);

/** One line of a text. @param {string|undefined} text @param {number} [length] */
export function line(text, length = 160) {
	const first = (text ?? "").trim().split("\n", 1)[0] ?? "";
	return first.length > length ? `${first.slice(0, length - 1)}…` : first;
}
