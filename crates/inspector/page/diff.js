// The difference of two texts, line by line.

const MAX_LINES = 2000;

/** Compares two texts. @param {string} before @param {string} after @returns {DiffLine[]} */
export function diff(before, after) {
	const a = before.split("\n");
	const b = after.split("\n");
	let start = 0;
	while (start < a.length && start < b.length && a[start] === b[start]) start++;
	let end = 0;
	while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
	const same = (/** @type {string[]} */ lines) => lines.map((text) => /** @type {DiffLine} */ ({ kind: "same", text }));
	return [...same(a.slice(0, start)), ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)), ...same(a.slice(a.length - end))];
}

/** The longest common lines of what differs. @param {string[]} a @param {string[]} b @returns {DiffLine[]} */
function middle(a, b) {
	const all = (/** @type {string[]} */ lines, /** @type {DiffLine["kind"]} */ kind) => lines.map((text) => ({ kind, text }));
	if (a.length > MAX_LINES || b.length > MAX_LINES) return [...all(a, "removed"), ...all(b, "added")];
	const width = b.length + 1;
	const common = new Uint16Array((a.length + 1) * width);
	for (let i = a.length - 1; i >= 0; i--) {
		for (let j = b.length - 1; j >= 0; j--) {
			common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
		}
	}
	/** @type {DiffLine[]} */
	const lines = [];
	let i = 0;
	let j = 0;
	while (i < a.length || j < b.length) {
		if (i < a.length && j < b.length && a[i] === b[j]) {
			lines.push({ kind: "same", text: a[i++] });
			j++;
		} else if (i < a.length && (j >= b.length || common[(i + 1) * width + j] >= common[i * width + j + 1])) lines.push({ kind: "removed", text: a[i++] });
		else lines.push({ kind: "added", text: b[j++] });
	}
	return lines;
}
