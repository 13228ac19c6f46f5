// Messages as a recording has them: one line each, which `couplet replay`, `validate` and `inspect` read.

/** RFC 3339 with six digits, so that times sort as strings. @param {number} t Milliseconds since 1970. */
const time = (t) => new Date(t).toISOString().replace("Z", `${String(Math.floor((t % 1) * 1000)).padStart(3, "0")}Z`);

/** A message as a line, with the target as its session. @param {Entry} entry */
export function recorded({ t, dir, target, text }) {
	const head = JSON.stringify({ time: time(t), direction: dir === "out" ? "client-to-server" : "server-to-client", session: target });
	// The message stays as it was sent; line breaks in JSON are only between its values.
	return `${head.slice(0, -1)},${isJson(text) ? `"message":${text.replaceAll(/[\r\n]+/g, " ")}` : `"raw":${JSON.stringify(text)}`}}`;
}

/** @param {string} text */
function isJson(text) {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}
