// The answer of a call, by its kind.

import { appView } from "./appview.js";
import { badge, button, copy, div, h, para, pre, QUIET, section, span } from "./dom.js";
import { contentBlock, data } from "./content.js";
import { duration, size } from "./format.js";
import { parse, tryParse } from "./json.js";
import { McpError } from "./mcp.js";
import { href } from "./router.js";
import { unchecked, validate } from "./schema.js";
import { tree } from "./tree.js";

/** Shows the result of a finished call of a tool. @param {Context} context @param {Call} call @param {Tool|undefined} tool @returns {HTMLElement} */
export function callResult(context, call, tool) {
	if (call.state !== "done" || !call.answer) return failure(call);
	const { result, text } = call.answer;
	if (call.task) return taskLink(call.task.id);
	const view = tool && appView(context, call.session, tool, call.params.arguments, result);
	return div("result", ...toolResult(result, text, tool), view);
}

/** The state of a call in a line. @param {Call} call */
export function callState(call) {
	if (call.state === "running") return span("faint", call.question ? "waiting" : "running");
	const isError = call.state !== "done" || call.answer?.result?.isError === true;
	const word = call.state === "cancelled" ? "cancelled" : isError ? "error" : call.task ? "task" : "ok";
	return span("result-state", span("faint", `${duration(call.ms)}${call.text ? `, ${size(call.text.length)}` : ""} `),
		badge(word, call.state === "cancelled" ? "warn" : isError ? "bad" : "ok"));
}

/** @param {string} id */
export function taskLink(id) {
	return div("result", para("", "The server runs this as a task: ", h("a", { href: href("tasks", id) }, id), "."));
}

/** @param {Call} call */
export function failure(call) {
	const error = call.error;
	const node = error instanceof McpError && error.text ? tryParse(error.text) : undefined;
	const details = node?.at(["error", "data"]);
	return div("result",
		h("p", { class: call.state === "cancelled" ? "warn" : "bad" }, call.state === "cancelled" ? "The call was cancelled." : call.problem),
		details ? section("data", tree(details)) : null,
		node ? section("answer", tree(node, { open: 1 })) : error instanceof McpError && error.text ? pre(error.text.slice(0, 4000)) : null);
}

/**
 * The parts of a tool's result.
 * @param {any} result
 * @param {string} text The answer as it was sent.
 * @param {Tool|undefined} tool
 * @param {string[]} [path] Where the result is in the answer.
 * @returns {(HTMLElement|null)[]}
 */
export function toolResult(result, text, tool, path = ["result"]) {
	const node = parse(text).at(path);
	const blocks = Array.isArray(result.content) ? result.content : [];
	const parts = blocks.map((/** @type {any} */ block, /** @type {number} */ i) => contentBlock(block, node?.at(["content", i])));
	const structured = node?.get("structuredContent");
	const nothing = !blocks.length && !structured ? para("faint", "The result has no content.") : null;
	return [
		result.isError ? para("bad", "The tool reports an error.") : null,
		...parts, nothing,
		structured ? structuredPart(structured, tool) : null,
		tool?.outputSchema && !structured && !result.isError ? para("warn", "The tool has an output schema, but the result has no structured content.") : null,
		others(result, node),
	];
}

/** Structured content with the verdict of its schema. @param {JsonNode} node @param {Tool|undefined} tool */
function structuredPart(node, tool) {
	const problems = tool?.outputSchema ? validate(tool.outputSchema, node.value) : null;
	const open = problems && !problems.length ? unchecked(tool?.outputSchema) : [];
	const verdict = !problems ? span("faint", "no output schema")
		: problems.length ? badge(`${problems.length} problem${problems.length > 1 ? "s" : ""}`, "bad")
			: open.length ? badge("schema partly checked", "warn", `not checked: ${open.join(", ")}`) : badge("✓ schema", "ok");
	const notes = new Map((problems ?? []).map((problem) => [problem.path, problem.message]));
	const marks = new Map([...notes.keys()].map((path) => [path, "wrong"]));
	return section(span("result-state", "structured", verdict),
		problems?.length ? h("ul", { class: "bad" }, ...problems.slice(0, 20).map((problem) => h("li", null, `${problem.path || "/"} ${problem.message}`))) : null,
		tree(node, { open: 3, marks, notes }));
}

/** Members of a result that have no place of their own. @param {any} result @param {JsonNode|undefined} node */
function others(result, node) {
	const known = ["content", "structuredContent", "isError", "resultType"];
	const rest = Object.entries(result).filter(([name]) => !known.includes(name));
	if (!rest.length) return null;
	return h("details", { class: "others" }, h("summary", null, `other members: ${rest.map(([name]) => name).join(", ")}`),
		...rest.map(([name, value]) => section(name, node?.get(name) ? tree(/** @type {any} */ (node.get(name)), { open: 1 }) : data(value))),
		button("copy result", () => copy(node?.raw ?? ""), QUIET));
}
