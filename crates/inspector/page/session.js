// One target: its state, its lists, its tasks and its logs.

import { post } from "./api.js";
import { McpClient, McpError, message, TASKS } from "./mcp.js";
import { gently, Scope, Signal, stored } from "./store.js";
import { settings } from "./settings.js";
import { Tasks } from "./tasks.js";

/** A list of a server. @template T @typedef {{state: "idle"|"loading"|"ready"|"failed", items: T[], error: string}} Loaded */

/** @template T @returns {Signal<Loaded<T>>} */
const list = () => new Signal(/** @type {Loaded<T>} */ ({ state: "idle", items: [], error: "" }));

const LISTS = /** @type {const} */ ({
	tools: ["tools/list", "tools", "tools"],
	resources: ["resources/list", "resources", "resources"],
	templates: ["resources/templates/list", "resourceTemplates", "resources"],
	prompts: ["prompts/list", "prompts", "prompts"],
	skills: ["skills/list", "skills", "skills"],
});

/** @typedef {keyof typeof LISTS} ListName */
const MAX_LOGS = 10_000;
const MAX_RESULTS = 20;
const MAX_RESULT = 50_000;

/** A target and what is known about it. */
export class Session {
	/** @param {Target} target @param {Config} config @param {Events} events */
	constructor(target, config, events) {
		this.id = target.id;
		this.config = config;
		this.info = new Signal(target);
		/** @type {Signal<Loaded<Tool>>} */
		this.tools = list();
		/** How tools run as tasks, as their server has listed it: the page's own revision has no such member. @type {Map<string, string>} */
		this.taskSupport = new Map();
		/** @type {Signal<Loaded<Resource>>} */
		this.resources = list();
		/** @type {Signal<Loaded<Template>>} */
		this.templates = list();
		/** @type {Signal<Loaded<Prompt>>} */
		this.prompts = list();
		/** @type {Signal<Loaded<any>>} */
		this.skills = list();
		/** @type {Signal<any>} */
		this.discovered = new Signal(null);
		/** @type {Signal<any[]|null>} */
		this.lint = new Signal(/** @type {any[]|null} */ (null));
		/** @type {LogLine[]} */
		this.logs = [];
		this.logCount = new Signal(0);
		/** Calls per tool: what was sent and what came. */
		this.history = stored(`history.${target.target}`, /** @type {Record<string, any[]>} */ ({}));
		/** Texts of unfinished arguments. */
		this.drafts = stored(`drafts.${target.target}`, /** @type {Record<string, string>} */ ({}));
		/** URIs with a subscription. */
		this.subscribed = stored(`subscribed.${target.target}`, /** @type {string[]} */ ([]));
		/** The last result of each tool. */
		this.results = stored(`results.${target.target}`, /** @type {Record<string, Past>} */ ({}));
		/** Changes when a resource was updated. */
		this.updated = new Signal({ uri: "", n: 0 });
		this.live = target.kind !== "recording" && target.kind !== "tap";
		const url = config.mode === "endpoint" ? config.mcp ?? "../" : `mcp/${encodeURIComponent(target.id)}`;
		this.client = new McpClient(url, {
			version: config.version,
			logLevel: () => settings.logLevel.value || null,
			onMessage: config.features.feed ? undefined : (dir, text) => events.own(target.id, dir, text),
		});
		this.tasks = new Tasks(this);
		/** Reads lists that have changed. */
		this.again = {
			tools: gently(() => this.load("tools")),
			prompts: gently(() => this.load("prompts")),
			resources: gently(() => Promise.all([this.load("resources"), this.load("templates")])),
		};
		this.scope = new Scope();
		/** @type {AbortController|null} */
		this.listening = null;
		const observer = this.observe.bind(this);
		events.observers.add(observer);
		this.scope.add(() => events.observers.delete(observer), () => this.listening?.abort());
		this.scope.add(this.subscribed.subscribe(() => this.listen()));
		if (target.state === "connected") this.connected();
	}

	/** The address of the target in the API. */
	get path() {
		return `api/targets/${encodeURIComponent(this.id)}`;
	}

	get capabilities() {
		return this.discovered.value?.capabilities ?? this.info.value.capabilities ?? {};
	}

	get instructions() {
		return this.discovered.value?.instructions ?? this.info.value.instructions ?? "";
	}

	/** @param {string} name */
	tool(name) {
		return this.tools.value.items.find((tool) => tool.name === name);
	}

	/** How a tool runs as a task: `required`, `optional`, or not at all. @param {Tool} tool @returns {string|undefined} */
	supports(tool) {
		return tool.execution?.taskSupport ?? this.taskSupport.get(tool.name);
	}

	/** Whether a call of a tool may become a task: 2025-11-25 says so for each tool, the extension for the server. @param {Tool} tool */
	canBeTask(tool) {
		const { tasks, extensions } = this.info.value.capabilities ?? {};
		if (tasks && !extensions?.[TASKS]) return ["required", "optional"].includes(this.supports(tool) ?? "");
		return !!this.extension(TASKS);
	}

	/** @param {string} id */
	extension(id) {
		return this.capabilities.extensions?.[id];
	}

	/** Takes a new state of the target. @param {Target} target */
	update(target) {
		const before = this.info.value;
		this.info.value = target;
		const again = before.state !== "connected" || before.revision !== target.revision;
		if (target.state === "connected" && again) this.connected();
	}

	/** Reads everything again after a connection. */
	async connected() {
		if (!this.live) return;
		const isEndpoint = this.config.mode === "endpoint";
		if (!isEndpoint) this.discovered.value = null;
		const discovered = this.client.request("server/discover", {}).then(({ result }) => result, () => null).then((found) => { this.discovered.value = found; });
		// The inspector knows the capabilities already.
		if (isEndpoint) {
			await discovered;
			this.endpointInfo();
		}
		// A server without log messages refuses, which the panel of the logs shows.
		if (settings.logLevel.value) await this.askLevel().catch(() => {});
		await Promise.all([discovered, .../** @type {ListName[]} */ (Object.keys(LISTS)).map((name) => this.load(name))]);
		this.listen();
		this.tasks.restore();
	}

	/** Asks the server for log messages of the chosen level. Beside an endpoint, each request of the page does so. */
	async askLevel() {
		if (this.live && this.config.features.feed) await post(`${this.path}/logs`, { level: settings.logLevel.value || null });
	}

	/** In endpoint mode the page is the only one that knows the server. */
	endpointInfo() {
		const found = this.discovered.value;
		const server = found?._meta?.["io.modelcontextprotocol/serverInfo"] ?? null;
		const state = found ? "connected" : "failed";
		const detail = found ? "connected" : "the endpoint did not answer: it may need a bearer token";
		this.info.value = { ...this.info.value, state, detail, server, name: server?.title ?? server?.name ?? this.info.value.name };
	}

	/** Whether the server offers a list. @param {ListName} name */
	offers(name) {
		if (name === "skills") return !!this.extension("io.modelcontextprotocol/skills");
		return !!this.capabilities[LISTS[name][2]];
	}

	/** Reads a list. @param {ListName} name */
	async load(name) {
		if (!this.live) return;
		const signal = /** @type {Signal<Loaded<any>>} */ (this[name]);
		const [method, member] = LISTS[name];
		if (!this.offers(name)) {
			signal.value = { state: "ready", items: [], error: "" };
			return;
		}
		const before = signal.value.items;
		signal.value = { state: "loading", items: before, error: "" };
		try {
			const items = await this.client.list(method, member, (page) => {
				if (page.length > before.length) signal.value = { state: "loading", items: page, error: "" };
			});
			signal.value = { state: "ready", items, error: "" };
		} catch (error) {
			signal.value = { state: "failed", items: before, error: message(error) };
		}
	}

	/** Opens the stream of changes, with the subscriptions of now. */
	async listen() {
		if (!this.live) return;
		this.listening?.abort();
		const controller = new AbortController();
		this.listening = controller;
		const { tools, prompts, resources } = this.capabilities;
		const filter = {
			...(tools?.listChanged ? { toolsListChanged: true } : {}),
			...(prompts?.listChanged ? { promptsListChanged: true } : {}),
			...(resources?.listChanged ? { resourcesListChanged: true } : {}),
			...(this.subscribed.value.length ? { resourceSubscriptions: this.subscribed.value } : {}),
		};
		for (let wait = 500; Object.keys(filter).length && !controller.signal.aborted; wait = Math.min(wait * 2, 30_000)) {
			try {
				await this.client.listen(filter, (notification) => {
					wait = 500;
					this.changed(notification);
				}, controller.signal);
			} catch (error) {
				if (error instanceof McpError && error.code !== null) return;
			}
			await new Promise((done) => { setTimeout(done, wait); });
		}
	}

	/** @param {any} notification */
	changed(notification) {
		switch (notification.method) {
			case "notifications/tools/list_changed": return this.again.tools();
			case "notifications/prompts/list_changed": return this.again.prompts();
			case "notifications/resources/list_changed": return this.again.resources();
			case "notifications/resources/updated":
				this.updated.value = { uri: String(notification.params?.uri ?? ""), n: this.updated.value.n + 1 };
		}
	}

	/** Takes what concerns the panels out of the timeline. @param {Entry} entry @param {any} message */
	observe(entry, message) {
		if (entry.target !== this.id) return;
		if (entry.kind === "stderr") this.log({ t: entry.t, seq: entry.seq, level: "stderr", logger: "", text: entry.text });
		if (entry.method === "notifications/message" && entry.what === "notice") {
			const { level, logger, data } = message.params ?? {};
			const text = typeof data === "string" ? data : JSON.stringify(data);
			this.log({ t: entry.t, seq: entry.seq, level: String(level ?? "info"), logger: String(logger ?? ""), text: text ?? "", data });
		}
		if (entry.what !== "answer") return;
		if (!this.live) this.learn(entry, message);
		else if (entry.method === "tools/list") this.learnSupport(message.result?.tools);
	}

	/** Learns how tools run as tasks from a list on the wire. @param {any} tools */
	learnSupport(tools) {
		if (!Array.isArray(tools)) return;
		let isNew = false;
		for (const tool of tools) {
			const support = tool?.execution?.taskSupport;
			if (this.taskSupport.get(tool?.name) === support) continue;
			isNew = true;
			if (typeof support === "string") this.taskSupport.set(tool.name, support);
			else this.taskSupport.delete(tool.name);
		}
		if (isNew) this.tools.notify();
	}

	/** @param {LogLine} line */
	log(line) {
		this.logs.push(line);
		if (this.logs.length > MAX_LOGS * 1.1) this.logs.splice(0, this.logs.length - MAX_LOGS);
		this.logCount.value++;
	}

	/** Learns the lists of a recording or a tapped connection from its answers. @param {Entry} entry @param {any} message */
	learn(entry, message) {
		if (entry.method === "initialize" || entry.method === "server/discover") this.discovered.value = message.result;
		for (const name of /** @type {ListName[]} */ (Object.keys(LISTS))) {
			const [method, member] = LISTS[name];
			if (entry.method !== method || !Array.isArray(message.result?.[member])) continue;
			const signal = /** @type {Signal<Loaded<any>>} */ (this[name]);
			const first = !JSON.parse(entry.pair?.text ?? "{}").params?.cursor;
			signal.value = { state: "ready", items: (first ? [] : signal.value.items).concat(message.result[member]), error: "" };
		}
	}

	/** Adds a call to the history of a tool. @param {string} tool @param {any} call */
	remember(tool, call) {
		const calls = [call, ...(this.history.value[tool] ?? [])].slice(0, 20);
		this.history.value = { ...this.history.value, [tool]: calls };
	}

	/** Stores the last result of a tool, if it is not long. @param {string} tool @param {Past} past */
	result(tool, past) {
		const { [tool]: _, ...others } = this.results.value;
		const kept = Object.entries(others).slice(-MAX_RESULTS + 1);
		this.results.value = Object.fromEntries(past.text.length < MAX_RESULT ? [...kept, [tool, past]] : kept);
	}

	/** @param {string} key @param {string} text */
	draft(key, text) {
		this.drafts.value = { ...this.drafts.value, [key]: text };
	}

	close() {
		this.scope.close();
		this.tasks.close();
	}
}
