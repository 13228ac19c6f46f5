// Small panels: login, collection, client, connect, help.

import { message } from "./mcp.js";
import { get, post } from "./api.js";
import { collection, collectionFiles, isJson } from "./collection.js";
import { data } from "./content.js";
import { badge, button, copy, div, download, empty, fill, h, heading, labelled, LINK, menu, para, pre, QUIET, say, section, span, table, ticks } from "./dom.js";
import { KEYS } from "./keys.js";
import { go } from "./router.js";
import { settings } from "./settings.js";
import { gently, Scope } from "./store.js";

/** @param {Promise<any>} promise */
const report = (promise) => promise.catch((error) => say(message(error), "bad"));

/** @type {Panel} */
export const loginPanel = {
	id: "login",
	title: "Login",
	offered: (context) => context.config.mode === "inspect" && context.session.value?.info.value.transport === "http",
	open(context) {
		const main = div("main-inner");
		const session = context.session.value;
		if (!session) return { main };
		const path = `${session.path}/login`;
		const show = async () => {
			try {
				const { steps, authorize_url: address } = await get(path);
				const start = button(address ? `Log in at ${new URL(address).host}` : "Log in", () => report(post(path).then(() => say("continue in the browser's new page"))), { class: "primary" });
				fill(main, heading("Login", start),
					steps.length ? h("ol", { class: "steps" }, ...steps.map((/** @type {any} */ step) => h("li", { class: step.status >= 400 ? "failed" : "" },
						div("heading", h("strong", null, step.title), step.status ? badge(String(step.status), step.status >= 400 ? "bad" : "ok") : null),
						step.url ? para("mono faint", step.url) : null, step.note ? para("", ticks(step.note)) : null, step.sent ? data(step.sent) : null, step.body ? data(step.body) : null))) : empty("No login seen.", "The server has not asked for one."));
			} catch (error) {
				fill(main, para("bad", message(error)), button("try again", show));
			}
		};
		// Each step is a request of the feed, or a change of the state.
		const again = gently(show);
		const observer = (/** @type {Entry} */ entry) => { if (entry.target === session.id && (entry.kind === "http" || entry.kind === "state")) again(); };
		context.events.observers.add(observer);
		show();
		return { main, close: () => context.events.observers.delete(observer) };
	},
};

/** @type {Panel} */
export const collectionPanel = {
	id: "collection",
	title: "Collection",
	count: () => collection.value.length,
	open() {
		const main = div("main-inner");
		const scope = new Scope();
		const change = (/** @type {number} */ at, /** @type {Partial<Saved>|null} */ part) => {
			collection.value = collection.value.flatMap((one, i) => (i !== at ? [one] : part ? [{ ...one, ...part }] : []));
		};
		const card = (/** @type {Saved} */ call, /** @type {number} */ at) => {
			const name = h("input", { type: "text", value: call.name, "aria-label": "Name", onchange: () => change(at, { name: name.value }) });
			const expect = menu({ "aria-label": "Expected outcome", onchange: () => change(at, { expect: /** @type {any} */ (expect.value) }) }, [["ok", "is ok"], ["error", "is an error"]], call.expect);
			const snapshot = h("input", { type: "checkbox", checked: call.snapshot, onchange: () => change(at, { snapshot: snapshot.checked }) });
			const values = Object.entries(call.pointers).map(([path, text]) => {
				const value = h("input", { type: "text", class: "mono", value: text, "aria-label": `Expected value of ${path}`, onchange: () => (isJson(value.value) ? change(at, { pointers: { ...call.pointers, [path]: value.value } }) : say("this is not JSON", "bad")) });
				return div("field-line", h("code", null, path), value, button("✕", () => change(at, { pointers: Object.fromEntries(Object.entries(call.pointers).filter(([one]) => one !== path)) }), { class: "icon", "aria-label": `remove ${path}` }));
			});
			const path = h("input", { type: "text", class: "mono", placeholder: "/content/0/text", "aria-label": "JSON pointer of a new expectation" });
			const add = button("expect", () => { if (path.value.startsWith("/")) change(at, { pointers: { ...call.pointers, [path.value]: '""' } }); });
			return section(call.tool, div("field-line", name, expect, h("label", { class: "check" }, snapshot, "snapshot"), button("remove", () => change(at, null), QUIET)),
				h("pre", { class: "mono faint" }, call.text), ...values, div("field-line", path, add));
		};
		const file = (/** @type {string} */ text, /** @type {number} */ at) => section(at ? `collection-${at + 1}.toml` : "collection.toml",
			div("field-line", button("export", () => download(at ? `collection-${at + 1}.toml` : "collection.toml", text), { class: "primary" }), button("copy", () => copy(text))),
			pre(text));
		const draw = () => fill(main, heading("Collection"),
			...(collection.value.length ? [para("faint", ticks("`couplet test collection.toml` runs these calls and compares their results.")), ...collection.value.map(card), ...collectionFiles(collection.value).map(file)]
				: [empty("No saved calls.", "`save` in a tool adds the call, with its last result as the expectation.")]));
		scope.watch(collection, draw);
		return { main, close: () => scope.close() };
	},
};

/** @type {Panel} */
export const clientPanel = {
	id: "client",
	title: "Client",
	open() {
		const main = div("main-inner");
		const scope = new Scope();
		const draw = () => {
			const uri = h("input", { type: "text", placeholder: "file:///path", "aria-label": "URI of a new root" });
			const name = h("input", { type: "text", placeholder: "name", "aria-label": "Name of a new root" });
			const add = button("add", () => (uri.value.startsWith("file://") ? (settings.roots.value = [...settings.roots.value, { uri: uri.value, ...(name.value ? { name: name.value } : {}) }]) : say("the URI of a root begins with file://", "bad")));
			const mode = menu({ id: "sampling", onchange: () => { settings.sampling.value = mode.value; } }, [["ask", "ask me"], ["canned", "give the canned answer"]], settings.sampling.value);
			const canned = h("textarea", { id: "canned", rows: 3, value: settings.canned.value, onchange: () => { settings.canned.value = canned.value; } });
			const model = h("input", { id: "model", type: "text", value: settings.model.value, onchange: () => { settings.model.value = model.value; } });
			fill(main, heading("Client"), para("faint", "What this page answers when a server asks. Elicitation is asked in its call."),
				section("roots", ...settings.roots.value.map((root, at) => div("field-line", h("code", null, root.uri), root.name ?? "", button("✕", () => { settings.roots.value = settings.roots.value.filter((_, i) => i !== at); }, { class: "icon", "aria-label": `remove ${root.uri}` }))), div("field-line", uri, name, add)),
				section("sampling", labelled("when asked", mode), labelled("canned answer", canned), labelled("model name", model)));
		};
		scope.watch(settings.roots, draw);
		return { main, close: () => scope.close() };
	},
};

/** @type {Panel} */
export const connectPanel = {
	id: "connect",
	title: "Connect",
	offered: (context) => context.config.mode === "inspect",
	open(context) {
		const target = h("input", { id: "connect-to", type: "text", class: "mono", placeholder: "https://example.com/mcp, or: npx -y server-name", spellcheck: false });
		const revision = menu({ id: "connect-in" }, ["auto", ...context.config.revisions]);
		const connect = (/** @type {string} */ to) => report(context.add(to, revision.value).then(() => go("overview")));
		const known = div("", para("faint", "reading the hosts' configuration…"));
		const form = h("form", null, labelled("URL or command", target), labelled("revision", revision), h("button", { class: "primary" }, "Connect"));
		form.addEventListener("submit", (event) => {
			event.preventDefault();
			if (target.value.trim()) connect(target.value.trim());
		});
		if (context.config.features.known) {
			get("api/known").then(({ servers }) => fill(known, servers.length ? table(servers.map((/** @type {any} */ one) => [button(one.name, () => connect(`${one.host}:${one.name}`), LINK), one.host, span("mono", one.target), span("mono faint", one.file)]))
				: para("faint", "No host on this machine has a server.")), (error) => fill(known, para("bad", message(error))));
		} else fill(known);
		return { main: div("main-inner", heading("Connect"), form, section("servers of hosts on this machine", known)) };
	},
};

/** @type {Panel} */
export const helpPanel = {
	id: "help",
	title: "Help",
	open: (context) => ({
		main: div("main-inner", heading("Help"), section("keys", table(KEYS.map(([key, about]) => [h("kbd", null, key), about]))),
			section("filter of the timeline", para("", h("code", null, "method:tools/call dur:>5ms size:>1kb status:error -method:ping name:echo dir:in \"a text\"")), para("faint", "Words of one key are alternatives, the others must all match; * stands for anything, - excludes.")),
			section("hints of tools", para("faint", "R read-only, D destructive, I idempotent, O open world, T task, V view. Hints come from the server: they are not a promise.")), para("faint", `Couplet inspector ${context.config.version}`)),
	}),
};
