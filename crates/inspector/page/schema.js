// JSON Schema (2020-12, as far as tools use it): references, kinds of fields, and the validation before sending.

import { pointer } from "./json.js";
import { matchesFormat, safePattern } from "./formats.js";

/** Follows `$ref` and merges `allOf`, as far as this is possible without a value. @param {any} schema @param {Schema} root @param {number} [depth] @returns {any} */
export function resolve(schema, root, depth = 0) {
	if (schema === true || schema === undefined || schema === null) return {};
	if (schema === false) return { not: {} };
	if (depth > 32 || typeof schema !== "object") return {};
	if (typeof schema.$ref === "string") {
		const { $ref, ...rest } = schema;
		return merge(resolve(lookup($ref, root), root, depth + 1), rest);
	}
	if (Array.isArray(schema.allOf)) {
		const { allOf, ...rest } = schema;
		return allOf.reduce((/** @type {any} */ all, /** @type {any} */ part) => merge(all, resolve(part, root, depth + 1)), rest);
	}
	return schema;
}

/** @param {any} a @param {any} b */
function merge(a, b) {
	return {
		...a,
		...b,
		...(a.properties || b.properties ? { properties: { ...a.properties, ...b.properties } } : {}),
		...(a.required || b.required ? { required: [...new Set([...(a.required ?? []), ...(b.required ?? [])])] } : {}),
	};
}

/** @param {string} ref @param {Schema} root @returns {any} */
function lookup(ref, root) {
	if (ref === "#") return root;
	if (!ref.startsWith("#/")) return {};
	let node = root;
	for (const part of ref.split("/").slice(1)) {
		node = node?.[decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")];
	}
	return node ?? {};
}

/** @param {any} value */
export function typeOf(value) {
	if (value === null) return "null";
	if (Array.isArray(value)) return "array";
	return typeof value;
}

/** @param {any} value @param {string} type */
function hasType(value, type) {
	if (type === "integer") return typeof value === "number" && Number.isInteger(value);
	return typeOf(value) === type;
}

/** @param {any} a @param {any} b @returns {boolean} */
export function same(a, b) {
	if (a === b) return true;
	if (!a || !b || typeof a !== "object" || typeof b !== "object" || Array.isArray(a) !== Array.isArray(b)) return false;
	const keys = Object.keys(a);
	return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

/** The branches of a union that are not only constants. @param {any} schema @returns {Schema[]|null} */
export const branches = (schema) => schema.oneOf ?? schema.anyOf ?? null;

/** The choices of an enumeration with their labels, in every form that the specification has had. @param {any} schema @returns {{value: any, label: string}[]|null} */
export function choices(schema) {
	if (Array.isArray(schema.enum)) {
		return schema.enum.map((/** @type {any} */ value, /** @type {number} */ i) => ({ value, label: String(schema.enumNames?.[i] ?? label(value)) }));
	}
	const options = branches(schema);
	if (!options?.length || !options.every((one) => one && typeof one === "object" && "const" in one)) return null;
	return options.map((one) => ({ value: one.const, label: String(one.title ?? one.description ?? label(one.const)) }));
}

/** @param {any} value */
const label = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** Validates a value. @param {any} schema @param {any} value @returns {Problem[]} */
export function validate(schema, value) {
	/** @type {Problem[]} */
	const problems = [];
	check(schema, value, [], { root: schema, problems, depth: 0 });
	return problems;
}

const IGNORED = ["unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "dependentSchemas"];
const MAPS = ["properties", "patternProperties", "$defs", "definitions"];
const VALUES = ["const", "enum", "default", "examples", "required"];

/** The parts of a schema that `validate` does not check. @param {any} schema @returns {string[]} */
export function unchecked(schema) {
	/** @type {Set<string>} */
	const found = new Set();
	const walk = (/** @type {any} */ one, /** @type {number} */ depth) => {
		if (!one || typeof one !== "object" || depth > 64 || found.size > 20) return;
		for (const name of IGNORED) if (Object.hasOwn(one, name)) found.add(name);
		if (typeof one.$ref === "string" && one.$ref !== "#" && !one.$ref.startsWith("#/")) found.add(`$ref ${one.$ref}`);
		for (const pattern of [one.pattern, ...Object.keys(one.patternProperties ?? {})]) {
			if (typeof pattern === "string" && !safePattern(pattern)) found.add(`pattern ${pattern}`);
		}
		for (const [name, part] of Object.entries(one)) {
			if (VALUES.includes(name)) continue;
			for (const inner of MAPS.includes(name) || Array.isArray(part) ? Object.values(part ?? {}) : [part]) walk(inner, depth + 1);
		}
	};
	walk(schema, 0);
	return [...found];
}

/** @param {any} schema @param {any} value @param {Path} path @param {Run} run */
function check(schema, value, path, run) {
	if (schema === true || schema === undefined || run.depth > 64 || run.problems.length > 200) return;
	const say = (/** @type {string} */ message) => { run.problems.push({ path: pointer(path), message }); };
	if (schema === false) return say("no value is allowed here");
	if (!schema || typeof schema !== "object") return;
	const inner = { ...run, depth: run.depth + 1 };
	if (typeof schema.$ref === "string") check(lookup(schema.$ref, run.root), value, path, inner);
	const types = schema.type === undefined ? null : [schema.type].flat();
	if (types && !types.some((type) => hasType(value, type))) return say(`must be ${types.map(article).join(" or ")}, not ${article(typeOf(value))}`);
	if (schema.enum && !schema.enum.some((/** @type {any} */ one) => same(one, value))) say(`must be one of ${schema.enum.map((/** @type {any} */ v) => JSON.stringify(v)).join(", ")}`);
	if ("const" in schema && !same(schema.const, value)) say(`must be ${JSON.stringify(schema.const)}`);
	if (typeof value === "string") string(schema, value, say);
	if (typeof value === "number") number(schema, value, say);
	if (Array.isArray(value)) array(schema, value, path, inner, say);
	else if (value && typeof value === "object") object(schema, value, path, inner, say);
	combined(schema, value, path, inner, say);
}

/** @param {string} type */
const article = (type) => (type === "null" ? "null" : /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`);

/** @param {any} schema @param {string} value @param {Say} say */
function string(schema, value, say) {
	const length = [...value].length;
	if (length < schema.minLength) say(`must have at least ${schema.minLength} characters`);
	if (length > schema.maxLength) say(`must have at most ${schema.maxLength} characters`);
	if (typeof schema.pattern === "string") {
		const regex = safePattern(schema.pattern);
		if (regex && value.length <= 10_000 && !regex.test(value)) say(`must match ${schema.pattern}`);
	}
	if (typeof schema.format === "string" && !matchesFormat(schema.format, value)) say(`must be a valid ${schema.format}`);
}

/** @param {any} schema @param {number} value @param {Say} say */
function number(schema, value, say) {
	if (value < schema.minimum) say(`must be at least ${schema.minimum}`);
	if (value > schema.maximum) say(`must be at most ${schema.maximum}`);
	if (value <= schema.exclusiveMinimum) say(`must be greater than ${schema.exclusiveMinimum}`);
	if (value >= schema.exclusiveMaximum) say(`must be less than ${schema.exclusiveMaximum}`);
	const times = value / schema.multipleOf;
	if (schema.multipleOf > 0 && Math.abs(times - Math.round(times)) > 1e-9 * Math.abs(times)) say(`must be a multiple of ${schema.multipleOf}`);
}

/** @param {any} schema @param {any[]} value @param {Path} path @param {Run} run @param {Say} say */
function array(schema, value, path, run, say) {
	if (value.length < schema.minItems) say(`must have at least ${schema.minItems} items`);
	if (value.length > schema.maxItems) say(`must have at most ${schema.maxItems} items`);
	if (schema.uniqueItems && value.some((item, i) => value.slice(0, i).some((other) => same(item, other)))) say("must not have equal items");
	const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : Array.isArray(schema.items) ? schema.items : [];
	const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
	value.forEach((item, i) => check(i < prefix.length ? prefix[i] : rest, item, [...path, i], run));
	if (schema.contains === undefined) return;
	const found = value.filter((item) => passes(schema.contains, item, run)).length;
	const least = schema.minContains ?? 1;
	if (found < least) say(least === 1 ? "must contain an item of the required kind" : `must contain at least ${least} items of the required kind`);
	if (found > schema.maxContains) say(`must contain at most ${schema.maxContains} items of the required kind`);
}

/** @param {any} schema @param {any} value @param {Path} path @param {Run} run @param {Say} say */
function object(schema, value, path, run, say) {
	const names = Object.keys(value);
	for (const name of schema.required ?? []) {
		if (!Object.hasOwn(value, name)) run.problems.push({ path: pointer([...path, name]), message: "is required" });
	}
	if (names.length < schema.minProperties) say(`must have at least ${schema.minProperties} members`);
	if (names.length > schema.maxProperties) say(`must have at most ${schema.maxProperties} members`);
	for (const [name, others] of Object.entries(schema.dependentRequired ?? {})) {
		for (const other of names.includes(name) ? others : []) {
			if (!names.includes(other)) run.problems.push({ path: pointer([...path, other]), message: `is required with \`${name}\`` });
		}
	}
	const patterns = Object.entries(schema.patternProperties ?? {}).map(([pattern, one]) => ({ regex: safePattern(pattern), one }));
	for (const name of names) {
		const matching = patterns.filter(({ regex }) => regex?.test(name));
		const declared = Object.hasOwn(schema.properties ?? {}, name);
		if (declared) check(schema.properties[name], value[name], [...path, name], run);
		for (const { one } of matching) check(one, value[name], [...path, name], run);
		if (declared || matching.length) continue;
		if (schema.additionalProperties === false) run.problems.push({ path: pointer([...path, name]), message: "is not a known member" });
		else check(schema.additionalProperties, value[name], [...path, name], run);
	}
	if (schema.propertyNames !== undefined) {
		for (const name of names) if (!passes(schema.propertyNames, name, run)) say(`\`${name}\` is not an allowed name`);
	}
}

/** @param {any} schema @param {any} value @param {Path} path @param {Run} run @param {Say} say */
function combined(schema, value, path, run, say) {
	for (const part of schema.allOf ?? []) check(part, value, path, run);
	if (Array.isArray(schema.anyOf) && !schema.anyOf.some((/** @type {any} */ one) => passes(one, value, run))) nearest(schema.anyOf, value, path, run, say);
	if (Array.isArray(schema.oneOf)) {
		const matching = schema.oneOf.filter((/** @type {any} */ one) => passes(one, value, run)).length;
		if (matching === 0) nearest(schema.oneOf, value, path, run, say);
		if (matching > 1) say(`must match exactly one of the alternatives, not ${matching}`);
	}
	if (schema.not !== undefined && passes(schema.not, value, run)) say("must not be of the excluded kind");
	if (schema.if !== undefined) check(passes(schema.if, value, run) ? schema.then : schema.else, value, path, run);
}

/** Reports the problems of the alternative that fits best. @param {Schema[]} options @param {any} value @param {Path} path @param {Run} run @param {Say} say */
function nearest(options, value, path, run, say) {
	const tried = options.map((one) => {
		/** @type {Problem[]} */
		const problems = [];
		check(one, value, path, { ...run, problems });
		return problems;
	});
	const inside = tried.filter((problems) => problems.every((problem) => problem.path.length > pointer(path).length));
	const best = inside.sort((a, b) => a.length - b.length)[0];
	if (best) run.problems.push(...best);
	else say("matches none of the alternatives");
}

/** @param {any} schema @param {any} value @param {Run} run */
function passes(schema, value, run) {
	/** @type {Problem[]} */
	const problems = [];
	check(schema, value, [], { ...run, problems });
	return problems.length === 0;
}

/** Returns the index of the alternative that fits a value, or the first. @param {Schema[]} options @param {any} value @param {Schema} root */
export function fitting(options, value, root) {
	const run = { root, problems: [], depth: 0 };
	const exact = options.findIndex((one) => passes(one, value, run));
	if (exact >= 0) return exact;
	const near = options.findIndex((one) => {
		const schema = resolve(one, root);
		if (schema.type !== undefined && ![schema.type].flat().some((/** @type {string} */ type) => hasType(value, type))) return false;
		const fixed = Object.entries(schema.properties ?? {}).filter(([, property]) => "const" in Object(property));
		return fixed.every(([name, property]) => same(value?.[name], /** @type {any} */ (property).const));
	});
	return Math.max(near, 0);
}
