// One message of the timeline: tree, raw text, findings, neighbours.

import { message } from "./mcp.js";
import { getText, post } from "./api.js";
import { asCouplet, copyMenu } from "./copyas.js";
import { badge, button, copy, div, empty, facts, fill, h, heading, para, pre, QUIET, section, span, ticks } from "./dom.js";
import { clock, duration, size } from "./format.js";
import { pretty, Raw, tryParse } from "./json.js";
import { concerning } from "./panel-lint.js";
import { go, href, route } from "./router.js";
import { Scope } from "./store.js";
import { tree } from "./tree.js";
import { longText } from "./visible.js";

/** @type {Panel} */
export const messagesPanel = {
	id: "messages",
	title: "Messages",
	open(context) {
		const main = div("main-inner");
		const side = div("side-inner");
		const scope = new Scope();
		let shown = "";
		const show = () => {
			const [text] = route.value.rest;
			const entry = text ? context.events.find(Number(text)) : undefined;
			const key = `${text} ${entry?.pair?.seq ?? ""} ${!!entry}`;
			if (key === shown) return;
			shown = key;
			if (entry) showMessage(context, entry, main, side);
			else {
				fill(main, text ? empty(`Message ${text} is not in the timeline.`, "It may have been dropped: the timeline holds the last 50,000.") : empty("Select a message of the timeline.", "j and k step through the messages."));
				fill(side);
			}
		};
		scope.add(context.events.changes.subscribe(show));
		show();
		return { main, side, route: show, close: () => scope.close() };
	},
};

/** Goes to the message before or after. @param {Context} context @param {number} step */
export function stepMessage(context, step) {
	const entries = context.events.entries;
	const now = context.events.find(Number(route.value.rest[0]));
	const here = context.session.value?.id;
	for (let i = (now ? entries.indexOf(now) : step > 0 ? -1 : entries.length) + step; i >= 0 && i < entries.length; i += step) {
		if (entries[i].target === (now?.target ?? here)) return go("messages", String(entries[i].seq));
	}
}

/** @param {Context} context @param {Entry} entry @param {HTMLElement} main @param {HTMLElement} side */
function showMessage(context, entry, main, side) {
	const session = context.sessions.value.find((one) => one.id === entry.target);
	const direction = entry.kind !== "message" ? entry.kind : entry.dir === "out" ? "client → server" : "server → client";
	const body = div("");
	const revision = entry.revision || session?.info.value.revision;
	const isRequest = entry.what === "request" && entry.dir === "out" && !entry.cut;
	const replays = isRequest && session?.live && /^(tools\/call|resources\/read|prompts\/get)$/.test(entry.method);
	fill(main,
		div("heading", h("h2", { class: "mono" }, entry.method || "answer"), span("faint", entry.name.slice(0, 80)), badge(entry.what === "other" ? entry.kind : entry.what, "info"),
			entry.status ? badge(entry.status, { ok: "ok", error: "bad", cancelled: "warn" }[entry.status] ?? "") : null),
		facts({ direction, time: clock(entry.t), id: entry.id, duration: duration(entry.duration), size: size(entry.size), target: session?.info.value.name ?? entry.target, revision }),
		div("actions",
			button("← previous", () => stepMessage(context, -1), { title: "k" }), button("next →", () => stepMessage(context, 1), { title: "j" }),
			entry.pair ? h("a", { class: "button", href: href("messages", String(entry.pair.seq)) }, entry.what === "request" ? "answer" : "request") : null,
			replays && session ? button("edit and send again", () => again(session, entry)) : null,
			isRequest && session ? copyMenu(session, () => asRequest(entry, session)) : null,
			button("copy raw", () => copy(entry.text), QUIET)),
		body);
	fill(side, heading("Findings"), findings(context, entry, session));
	const draw = (/** @type {string} */ text) => {
		const node = tryParse(text);
		const raw = h("details", null, h("summary", null, "raw text"), longText(text, "text mono"));
		const spread = node ? button("copy formatted", () => copy(pretty(node)), QUIET) : null;
		fill(body, node ? tree(node, { open: 4 }) : longText(text, "text mono"), node ? raw : null, spread);
	};
	draw(entry.text);
	if (!entry.cut) return;
	const whole = button(`read the whole message (${size(entry.size)})`, async () => {
		try {
			draw(await getText(`api/messages/${entry.seq}`));
		} catch (error) {
			fill(body, para("bad", message(error)));
		}
	});
	body.prepend(para("warn", "The message is longer than 1 MB: this is its beginning. "), whole);
}

/** @param {Entry} entry @param {Session} [session] @returns {Asked} */
function asRequest(entry, session) {
	const node = tryParse(entry.text);
	const { _meta, ...rest } = node?.get("params")?.value ?? {};
	const text = node?.at(["params", "arguments"])?.raw ?? "{}";
	const params = rest.arguments === undefined ? rest : { ...rest, arguments: new Raw(text) };
	return { method: entry.method, params, text, schema: session?.tool(rest.name)?.inputSchema, result: tryParse(entry.pair?.text ?? "")?.get("result")?.value };
}

/** Takes the arguments of a message into the form. @param {Session} session @param {Entry} entry */
function again(session, entry) {
	const { params, text } = asRequest(entry);
	if (entry.method === "tools/call") {
		const node = tryParse(text);
		session.draft(params.name, node ? pretty(node) : text);
		go("tools", params.name);
	} else if (entry.method === "prompts/get") {
		session.draft(`prompt ${params.name}`, text);
		go("prompts", params.name);
	} else go("resources", params.uri);
}

/** The validator's findings, and the lint rules that concern the message. @param {Context} context @param {Entry} entry @param {Session|undefined} session */
function findings(context, entry, session) {
	const box = h("div", { class: "findings", "aria-live": "polite" });
	if (entry.kind !== "message") return box;
	const lint = concerning(session?.lint.value ?? [], entry).slice(0, 50);
	const related = lint.length ? section("lint", h("ul", null, ...lint.map((finding) => h("li", null, badge(finding.severity, finding.severity === "error" ? "bad" : "warn"), ` ${finding.name}: ${finding.message}`)))) : null;
	if (!context.config.features.validate) {
		fill(box, para("faint", ticks("The validator needs `couplet inspect`.")), related);
		return box;
	}
	fill(box, para("faint", "validating…"));
	const revision = entry.revision || session?.info.value.revision;
	const command = entry.what === "request" && entry.dir === "out" && session && !entry.cut ? asCouplet(session.info.value, asRequest(entry)) : "";
	const answers = entry.what === "answer" ? entry.method || undefined : undefined;
	post("api/validate", { revision, dir: entry.dir, answers, ...(entry.cut ? { seq: entry.seq } : { text: entry.text }) }).then(({ findings: found }) => {
		fill(box, found.length ? h("ul", { class: "finding-list" }, ...found.map((/** @type {any} */ one) => h("li", null, badge(one.severity, one.severity === "error" ? "bad" : "warn"), " ", h("code", null, one.path || "/"), " ", one.message)))
			: para("ok", `✓ valid in ${revision ?? "its revision"}`), related,
			command ? section("as a command", pre(command)) : null);
	}, (error) => fill(box, para("bad", message(error)), related));
	return box;
}
