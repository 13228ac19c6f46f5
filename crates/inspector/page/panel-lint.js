// Lint: findings about the server's definitions, each with its place.

import { message } from "./mcp.js";
import { post } from "./api.js";
import { badge, button, div, empty, fill, heading, para, span, table, ticks } from "./dom.js";
import { tryParse } from "./json.js";
import { go } from "./router.js";
import { Scope } from "./store.js";

const KINDS = /** @type {Record<string, string>} */ ({ error: "bad", warning: "warn", note: "" });
/** The panel of each kind, and the part of its address before the name. */
const PLACES = /** @type {Record<string, string[]>} */ ({ tool: ["tools"], resource: ["resources"], template: ["resources", "template"], prompt: ["prompts"], skill: ["skills"] });
/** The member of a list's result, the kind of what it lists, and the member that names it. */
const LISTS = /** @type {Record<string, [string, string, string]>} */ ({
	"tools/list": ["tools", "tool", "name"], "prompts/list": ["prompts", "prompt", "name"], "resources/list": ["resources", "resource", "uri"], "resources/templates/list": ["resourceTemplates", "template", "uriTemplate"],
});

/** The findings that concern a message: what it names, or what it lists. @param {any[]} findings @param {Entry} entry */
export function concerning(findings, entry) {
	const [member, kind, name] = (entry.what === "answer" && !entry.cut && LISTS[entry.method]) || [];
	if (!member || !name) return findings.filter((one) => one.name && one.name === (entry.name || entry.pair?.name));
	const items = tryParse(entry.text)?.at(["result", member])?.value;
	const listed = new Set(Array.isArray(items) ? items.map((one) => one?.[name]) : []);
	return findings.filter((one) => one.kind === kind && listed.has(one.name));
}

/** @type {Panel} */
export const lintPanel = {
	id: "lint",
	title: "Lint",
	offered: (context) => !!context.config.features.lint,
	count: (session) => {
		const found = session.lint.value?.filter((one) => one.severity !== "note").length;
		return found ? `${found} !` : null;
	},
	open(context) {
		const main = div("main-inner");
		const session = context.session.value;
		if (!session) return { main };
		const scope = new Scope();
		const run = async () => {
			fill(main, para("faint", "checking…"));
			try {
				session.lint.value = (await post(`${session.path}/lint`)).findings;
			} catch (error) {
				fill(main, para("bad", message(error)), button("try again", run));
			}
		};
		scope.add(session.lint.subscribe(() => fill(main, ...report(session, run))));
		if (!session.live) fill(main, empty("A recording cannot be checked.", "Connect to the server itself."));
		else if (session.lint.value) fill(main, ...report(session, run));
		else run();
		return { main, close: () => scope.close(), primary: run };
	},
};

/** @param {Session} session @param {() => void} run */
function report(session, run) {
	const order = ["error", "warning", "note"];
	const found = [...(session.lint.value ?? [])].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
	const counts = order.map((one) => [one, found.filter((finding) => finding.severity === one).length]);
	return [
		heading("Lint", ...counts.map(([one, count]) => (count ? badge(`${count} ${one}${Number(count) > 1 ? "s" : ""}`, KINDS[one]) : null)), button("check again", run)),
		found.length ? table(found.map((one) => [badge(one.severity, KINDS[one.severity]), div("", ticks(one.message), one.why ? div("faint", ticks(one.why)) : null, one.fix ? div("faint", "fix: ", ticks(one.fix)) : null),
			div("", place(one), one.path ? div("mono faint", one.path) : null), span("mono faint", one.rule)]), ["severity", "finding", "where", "rule"]) : para("ok", "✓ Nothing was found."),
	];
}

/** @param {any} finding */
function place(finding) {
	const panel = /** @type {[string, ...string[]]|undefined} */ (PLACES[finding.kind]);
	if (!finding.name) return finding.kind ?? "server";
	return panel ? button(finding.name, () => go(...panel, finding.name), { class: "link mono" }) : `${finding.kind} ${finding.name}`;
}
