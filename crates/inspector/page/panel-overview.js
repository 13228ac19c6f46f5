// The overview: identity, revision, capabilities, instructions, latency.

import { message } from "./mcp.js";
import { badge, button, div, empty, facts, fill, h, heading, para, pre, say, section, span } from "./dom.js";
import { data } from "./content.js";
import { duration } from "./format.js";
import { markdown } from "./markdown.js";
import { href } from "./router.js";
import { sentence } from "./shell.js";
import { Scope } from "./store.js";

/** @type {Panel} */
export const overviewPanel = {
	id: "overview",
	title: "Overview",
	open(context) {
		const main = div("main-inner");
		const scope = new Scope();
		const session = context.session.value;
		if (!session) {
			fill(main, empty("No target.", h("a", { href: href("connect") }, "Connect"), " to a server by its URL or command."));
			return { main };
		}
		const draw = () => fill(main, ...overview(context, session));
		const { info, discovered, tools, resources, templates, prompts, skills } = session;
		for (const signal of [info, discovered, tools, resources, templates, prompts, skills]) scope.add(/** @type {any} */ (signal).subscribe(draw));
		draw();
		return { main, close: () => scope.close() };
	},
};

/** @param {Context} context @param {Session} session */
function overview(context, session) {
	const target = session.info.value;
	const { server } = target;
	const found = session.discovered.value;
	const isInspect = context.config.mode === "inspect";
	const failed = target.state === "failed" || target.state === "ended" || target.state === "login";
	const first = session.live ? undefined : context.events.entries.find((entry) => entry.target === session.id && entry.kind === "message");
	const errors = session.logs.filter((line) => line.level === "stderr").slice(-8);
	return [
		heading(server?.title ?? server?.name ?? target.name, badge(target.state, target.state === "connected" ? "ok" : failed ? "bad" : "warn")),
		facts({
			state: sentence(target), server: server && `${server.name} ${server.version}`, target: h("code", null, target.target), kind: target.kind, transport: target.transport,
			revision: target.revision && `${target.revision}${target.asked === "auto" ? ", negotiated" : ", as chosen"}`,
			supports: isInspect ? "" : (found?.supportedVersions ?? []).join(", "), latency: duration(target.latency_ms),
			offers: span("links", ...["tools", "resources", "templates", "prompts", "skills"].map((name) => {
				const count = session[/** @type {ListName} */ (name)].value.items.length;
				return count ? h("a", { href: href(name === "templates" ? "resources" : name) }, count === 1 ? `1 ${name.slice(0, -1)}` : `${count} ${name}`) : null;
			})),
		}),
		isInspect && session.live ? div("actions", button("reconnect", () => { context.reconnect(session, target.asked).catch((error) => say(message(error), "bad")); }),
			target.state === "login" ? h("a", { class: "button primary", href: href("login") }, "log in") : null,
			button("disconnect and remove", () => { context.remove(session).catch((error) => say(message(error), "bad")); })) : null,
		first ? para("", h("a", { href: href("messages", String(first.seq)) }, "Step through the messages"), ", with j and k.") : null,
		failed && errors.length ? section("last words", pre(errors.map((line) => line.text).join("\n"))) : null,
		session.instructions ? section("instructions", markdown(session.instructions)) : null,
		section("capabilities", Object.keys(session.capabilities).length ? data(session.capabilities) : para("faint", "None are known.")),
	];
}
