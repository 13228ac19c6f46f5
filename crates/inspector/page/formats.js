// Formats and patterns of JSON Schema.

/** @type {Record<string, RegExp>} */
const FORMATS = {
	email: /^[^\s@]+@[^\s@]+$/,
	date: /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/,
	time: /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(Z|[+-]\d\d:\d\d)$/i,
	"date-time": /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(Z|[+-]\d\d:\d\d)$/i,
	uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
	ipv4: /^((25[0-5]|2[0-4]\d|1?\d?\d)(\.|$)){4}$/,
	hostname: /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i,
};

/** Returns whether a string has a format. Unknown formats are annotations and always match. @param {string} format @param {string} value */
export function matchesFormat(format, value) {
	if (format === "uri" || format === "url" || format === "iri") return URL.canParse(value);
	if (format === "date" || format === "date-time") return FORMATS[format].test(value) && isDay(value.slice(0, 10));
	return FORMATS[format]?.test(value) ?? true;
}

/** @param {string} day */
function isDay(day) {
	const date = new Date(`${day}T00:00:00Z`);
	return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

/** Compiles a pattern of a server, unless it could take for ever: a repeated group that repeats inside or has alternatives. @param {string} pattern @returns {RegExp|null} */
export function safePattern(pattern) {
	if (pattern.length > 1000 || /\((?:[^()\\]|\\.)*(?:[+*|]|\{\d+,)(?:[^()\\]|\\.)*\)(?:[+*]|\{\d+,)/.test(pattern)) return null;
	if (/\)[^()]*\)(?:[+*]|\{\d+,)/.test(pattern) || /\\\d/.test(pattern)) return null;
	try {
		return new RegExp(pattern, "u");
	} catch {
		return null;
	}
}
