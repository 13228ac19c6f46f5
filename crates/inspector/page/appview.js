// Views of MCP Apps: HTML of a server, in a frame of another origin.

import { message } from "./mcp.js";
import { badge, button, div, fill, h, para, QUIET, section, span, ticks } from "./dom.js";
import { bytes } from "./content.js";
import { Raw } from "./json.js";

/** @param {Tool} tool @returns {string} */
export const viewOf = (tool) => String(tool._meta?.ui?.resourceUri ?? tool._meta?.["ui/resourceUri"] ?? "");

/** Creates the view of a tool's result, if the tool has one. @param {Context} context @param {Session} session @param {Tool} tool @param {any} args @param {any} result */
export function appView(context, session, tool, args, result) {
	const uri = viewOf(tool);
	if (!uri.startsWith("ui://")) return null;
	const frames = context.config.frames;
	const log = h("div", { class: "app-log mono faint", role: "log" });
	const body = div("");
	const box = section(span("", "view ", h("code", null, uri)), body, log);
	if (!frames) fill(body, para("faint", ticks("Views are shown by `couplet inspect`, which has a second origin for them.")));
	else open(session, uri, frames, args instanceof Raw ? JSON.parse(args.text) : args ?? {}, result, body, (text) => {
		log.prepend(div("", text));
		while (log.childElementCount > 20) log.lastElementChild?.remove();
	});
	return box;
}

/** The origins that a view may show in frames, and may go to itself. The sandbox has them in its policy. @param {any} list */
const framed = (list) => (Array.isArray(list) ? list : []).filter((one) => /^https?:\/\/(\*\.)?[\w.-]+(:\d+)?$/.test(one)).join(",");

/** @param {Session} session @param {string} uri @param {string} frames @param {any} args @param {any} result @param {HTMLElement} body @param {(text: string) => void} note */
async function open(session, uri, frames, args, result, body, note) {
	try {
		const answer = await session.client.request("resources/read", { uri });
		const contents = answer.result.contents?.[0] ?? {};
		const html = typeof contents.text === "string" ? contents.text : new TextDecoder().decode(bytes(String(contents.blob ?? "")) ?? new Uint8Array());
		const frame = h("iframe", { class: "app-frame", title: `view ${uri}`, referrerPolicy: "no-referrer" });
		frame.setAttribute("sandbox", "allow-scripts allow-same-origin");
		new Bridge(session, frame, frames, { html, ui: contents._meta?.ui ?? {}, args, result }, note);
		frame.src = `${frames}?${framed(contents._meta?.ui?.csp?.frameDomains)}`;
		fill(body, div("badges", badge(String(contents.mimeType ?? "no type")), badge(`${html.length} characters`), button("reload", () => open(session, uri, frames, args, result, body, note), QUIET)), frame);
	} catch (error) {
		fill(body, para("bad", `The view cannot be read: ${message(error)}`));
	}
}

/** The host side of the messages with a view. What it says is not trusted. */
class Bridge {
	/** @param {Session} session @param {HTMLIFrameElement} frame @param {string} frames @param {{html: string, ui: any, args: any, result: any}} view @param {(text: string) => void} note */
	constructor(session, frame, frames, view, note) {
		this.session = session;
		this.frame = frame;
		this.origin = new URL(frames, location.href).origin;
		this.view = view;
		this.note = note;
		const receive = (/** @type {MessageEvent} */ event) => {
			if (!frame.isConnected) removeEventListener("message", receive);
			else if (event.source === frame.contentWindow && event.origin === this.origin && event.data?.jsonrpc === "2.0") this.receive(event.data);
		};
		addEventListener("message", receive);
	}

	/** @param {any} message */
	send(message) {
		this.frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, this.origin);
	}

	/** @param {any} got */
	async receive(got) {
		const { id, method, params } = got;
		if (method === "ui/notifications/sandbox-proxy-ready") {
			const { html, ui } = this.view;
			this.send({ method: "ui/notifications/sandbox-resource-ready", params: { html, csp: ui.csp ?? {}, permissions: ui.permissions } });
		} else if (method === "ui/notifications/initialized") {
			this.note("the view is initialized");
			this.send({ method: "ui/notifications/tool-input", params: { arguments: this.view.args } });
			this.send({ method: "ui/notifications/tool-result", params: this.view.result });
		} else if (method === "ui/notifications/size-changed") {
			const height = Number(params?.height);
			if (height > 0) this.frame.style.height = `${Math.min(Math.ceil(height), 900)}px`;
		} else if (method === "notifications/message") this.note(`${params?.level}: ${JSON.stringify(params?.data)}`);
		else if (id !== undefined && typeof method === "string") {
			try {
				this.send({ id, result: await this.answer(method, params ?? {}) });
			} catch (error) {
				this.send({ id, error: { code: -32000, message: message(error) } });
			}
		}
	}

	/** @param {string} method @param {any} params @returns {Promise<any>} */
	async answer(method, params) {
		switch (method) {
			case "ui/initialize": return {
				protocolVersion: "2026-01-26",
				hostInfo: { name: "couplet-inspector", version: "1" },
				hostCapabilities: { openLinks: {}, serverTools: {}, serverResources: {}, logging: {} },
				hostContext: { displayMode: "inline", availableDisplayModes: ["inline"], theme: document.documentElement.dataset.theme ?? "light" },
			};
			case "ping": return {};
			case "tools/call": return this.callTool(params);
			case "resources/read": return (await this.session.client.request("resources/read", { uri: String(params.uri) })).result;
			case "ui/request-display-mode": return { mode: "inline" };
			case "ui/message": case "ui/update-model-context":
				this.note(`${method}: ${JSON.stringify(params).slice(0, 500)}`);
				return {};
			case "ui/open-link": return this.openLink(String(params.url));
			default: throw new Error(`there is no method \`${method}\``);
		}
	}

	/** @param {any} params */
	async callTool(params) {
		const tool = this.session.tool(params.name);
		const visibility = tool?._meta?.ui?.visibility;
		if (!tool || (Array.isArray(visibility) && !visibility.includes("app"))) throw new Error(`the tool \`${params.name}\` is not for views`);
		this.note(`the view calls ${tool.name}`);
		return (await this.session.client.request("tools/call", { name: tool.name, arguments: params.arguments ?? {} })).result;
	}

	/** @param {string} url */
	openLink(url) {
		if (!/^https?:\/\/[^@\s]+$/.test(url)) throw new Error("`url` must be an absolute `http` or `https` URL");
		if (!confirm(`The view wants to open\n\n${url}\n\nOpen it?`)) throw new Error("the user refused");
		window.open(url, "_blank", "noopener,noreferrer");
		return {};
	}
}
