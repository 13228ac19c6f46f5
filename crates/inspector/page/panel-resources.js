// Resources as a tree, templates with completions, subscriptions with what changed.

import { Call } from "./call.js";
import { bytes, resourceContents } from "./content.js";
import { copyMenu } from "./copyas.js";
import { diff } from "./diff.js";
import { badge, button, div, empty, fill, h, heading, para, section, span } from "./dom.js";
import { clock, line, size } from "./format.js";
import { folders } from "./folders.js";
import { listPanel } from "./lists.js";
import { followCall, loadState, messagesOf } from "./parts.js";
import { callState, failure } from "./result.js";
import { go } from "./router.js";
import { gently } from "./store.js";
import { suggestRows } from "./suggest.js";
import { expand, variables } from "./uritemplate.js";

/** The folders that are closed, by the beginning of their URIs. @type {Set<string>} */
const closed = new Set();

/** The rows of the list: templates, then resources under their directories. @param {Session} session */
function rows(session) {
	/** @type {Item[]} */
	const items = [];
	const templates = session.templates.value.items;
	if (templates.length) items.push({ key: "", label: `Templates ${templates.length}`, group: true });
	for (const template of templates) items.push({ key: `template ${template.uriTemplate}`, label: template.title ?? template.name, title: template.uriTemplate, find: template.uriTemplate, depth: 1, badges: [["{}", "info", template.uriTemplate]] });
	for (const { depth, label, prefix, thing } of folders(session.resources.value.items, (resource) => resource.uri, closed)) {
		if (thing) items.push({ key: thing.uri, label: thing.title ?? thing.name ?? label, title: `${thing.uri} ${line(thing.description)}`, find: thing.uri, depth, badges: session.subscribed.value.includes(thing.uri) ? [["●", "ok", "subscribed"]] : [] });
		else items.push({ key: prefix, label: `${closed.has(prefix) ? "▸" : "▾"} ${label}`, group: true, depth });
	}
	return items;
}

/** @type {Panel} */
export const resourcesPanel = {
	id: "resources",
	title: "Resources",
	count: (session) => session.resources.value.items.length + session.templates.value.items.length,
	open: (context) => listPanel(context, /** @type {ListPanel<string|Template>} */ ({
		id: "resources",
		place: (key) => (key.startsWith("template ") ? ["template", key.slice(9)] : [key]),
		watch: (session) => [session.resources, session.templates, session.subscribed],
		items: rows,
		toggle: (key) => { if (!closed.delete(key)) closed.add(key); },
		none: (session) => loadState(session, "resources", "resources"),
		find: (session, [first, ...rest]) => {
			const template = first === "template" ? session.templates.value.items.find((one) => one.uriTemplate === rest[0]) : undefined;
			const uri = [first, ...rest].join("/");
			return template ? { key: `template ${rest[0]}`, thing: template } : { key: uri, thing: uri || undefined };
		},
		hint: ["Select a resource.", "Its contents are read when it opens. Templates ask for their variables first."],
		show: (place, thing) => (typeof thing === "string" ? showResource(place, thing) : showTemplate(place, thing)),
	})),
};

/** @param {Detail} place @param {Template} template */
function showTemplate({ session, main }, template) {
	/** @type {Record<string, string>} */
	const values = {};
	const uri = para("mono");
	const draw = () => fill(uri, expand(template.uriTemplate, values));
	const open = () => go("resources", expand(template.uriTemplate, values));
	draw();
	fill(main, div("heading", h("h2", { class: "mono" }, template.uriTemplate), span("faint", template.title ?? template.name), template.mimeType ? badge(template.mimeType) : null),
		template.description ? para("description", template.description) : null,
		suggestRows(session, { type: "ref/resource", uri: template.uriTemplate }, variables(template.uriTemplate).map((name) => ({ name, required: true })), values, draw),
		section("address", uri), div("actions", button("Read", open, { class: "primary", title: "Ctrl+↵" })));
	return open;
}

/** The text of contents, for comparison. @param {any[]} contents */
const asText = (contents) => contents.map((one) => (typeof one.text === "string" ? one.text : `${one.mimeType ?? "binary"}, ${bytes(String(one.blob ?? ""))?.length ?? 0} bytes`)).join("\n");

const MAX_CHANGES = 50;

/** @param {Detail} place @param {string} uri */
function showResource({ context, session, main, side, scope }, uri) {
	const resource = session.resources.value.items.find((one) => one.uri === uri);
	const live = h("div", { "aria-live": "polite" });
	const body = div("");
	const state = span("");
	const changes = div("");
	/** @type {string|null} */
	let last = null;
	const read = () => {
		if (!session.live) return fill(body, empty("A recording cannot be read from.", "Its messages are in the timeline."));
		body.classList.add("stale");
		const call = new Call(session, "resources/read", { uri });
		scope.add(followCall(call, uri, live, () => {
			body.classList.remove("stale");
			fill(state, callState(call));
			const contents = call.answer?.result?.contents;
			fill(body, ...(Array.isArray(contents) ? contents.map(resourceContents) : [failure(call)]), messagesOf(context, call));
			if (!Array.isArray(contents)) return;
			const text = asText(contents);
			if (last !== null && last !== text) changes.prepend(change(last, text));
			while (changes.childElementCount > MAX_CHANGES) changes.lastElementChild?.remove();
			last = text;
		}));
		return call.done;
	};
	const again = gently(read);
	const subscribe = button("", () => {
		const on = session.subscribed.value.includes(uri);
		session.subscribed.value = on ? session.subscribed.value.filter((one) => one !== uri) : [...session.subscribed.value, uri];
	});
	scope.watch(session.subscribed, (all) => {
		subscribe.textContent = all.includes(uri) ? "unsubscribe" : "subscribe";
		subscribe.setAttribute("aria-pressed", String(all.includes(uri)));
		if (!changes.childElementCount) fill(side, heading("Changes"), changes, all.includes(uri) ? para("faint", "Subscribed: differences appear here as the server reports them.") : empty("No subscription.", "Subscribe to see what changes, while it changes."));
	});
	scope.add(session.updated.subscribe((event) => { if (event.uri === uri || event.uri.startsWith(`${uri}/`)) again(); }));
	fill(main, div("heading", h("h2", { class: "mono" }, uri), resource?.title ?? resource?.name ?? null, resource?.mimeType ? badge(resource.mimeType) : null, resource?.size ? span("faint", size(resource.size)) : null, state),
		resource?.description ? para("description", resource.description) : null,
		div("actions", button("Read again", read, { class: "primary", title: "Ctrl+↵" }), session.capabilities.resources?.subscribe ? subscribe : null, copyMenu(session, () => ({ method: "resources/read", params: { uri }, text: "{}" }))),
		live, body);
	read();
	return read;
}

/** @param {string} before @param {string} after */
function change(before, after) {
	const lines = diff(before.slice(0, 200_000), after.slice(0, 200_000));
	const near = lines.map((_, i) => lines.slice(Math.max(0, i - 2), i + 3).some((other) => other.kind !== "same"));
	return section(clock(Date.now()), div("diff", ...lines.filter((_, i) => near[i]).slice(0, 400).map((one) => h("div", { class: one.kind }, `${{ same: " ", added: "+", removed: "-" }[one.kind]} ${one.text}`))));
}
