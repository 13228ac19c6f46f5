// A client of the Model Context Protocol, revision 2026-07-28, over fetch.

import { authorization } from "./api.js";
import { write } from "./json.js";
import { events } from "./sse.js";

export const REVISION = "2026-07-28";
export const TASKS = "io.modelcontextprotocol/tasks";
export const SKILLS = "io.modelcontextprotocol/skills";
export const APPS = "io.modelcontextprotocol/ui";
export const META = "io.modelcontextprotocol/";
const MAX_ROUNDS = 32;
const MAX_PAGES = 200;

/** An error answer of the server, or a failure to get an answer. */
export class McpError extends Error {
	/** @param {string} message @param {number|null} code @param {any} [data] @param {string} [text] */
	constructor(message, code, data, text) {
		super(message);
		this.code = code;
		this.data = data;
		this.text = text ?? "";
	}
}

/** Why something failed, as a sentence. @param {unknown} error */
export function message(error) {
	if (error instanceof McpError && error.code !== null) return `${error.message} (${error.code})`;
	return error instanceof Error ? error.message : String(error);
}

/** A client of one endpoint. */
export class McpClient {
	/** @param {string} url @param {{version: string, logLevel: () => string|null, onMessage?: (dir: "out"|"in", text: string) => void}} settings */
	constructor(url, settings) {
		this.url = url;
		this.settings = settings;
		this.nextId = 1;
	}

	/** @param {Options} options @param {number} id */
	meta(options, id) {
		const level = this.settings.logLevel();
		return {
			[`${META}protocolVersion`]: REVISION,
			[`${META}clientInfo`]: { name: "couplet-inspector", title: "Couplet inspector", version: this.settings.version },
			[`${META}clientCapabilities`]: {
				roots: {},
				sampling: {},
				elicitation: { form: {}, url: {} },
				extensions: {
					[APPS]: { mimeTypes: ["text/html;profile=mcp-app"] },
					[SKILLS]: {},
					...(options.task ? { [TASKS]: {} } : {}),
				},
			},
			...(level ? { [`${META}logLevel`]: level } : {}),
			...(options.progress ? { progressToken: `p${id}` } : {}),
		};
	}

	/**
	 * Sends one request and returns its answer, without further rounds.
	 * @param {string} method
	 * @param {Record<string, any>} params
	 * @param {Options} [options]
	 * @returns {Promise<{message: any, text: string}>}
	 */
	async send(method, params, options = {}) {
		const id = this.nextId++;
		const body = write({ jsonrpc: "2.0", id, method, params: { ...params, _meta: { ...params._meta, ...this.meta(options, id) } } });
		const name = params.name ?? params.uri ?? params.taskId;
		const headers = {
			...authorization(),
			"Content-Type": "application/json",
			Accept: "application/json, text/event-stream",
			"MCP-Protocol-Version": REVISION,
			"Mcp-Method": method,
			...(typeof name === "string" && hasName(method) ? { "Mcp-Name": headerValue(name) } : {}),
			...options.headers,
		};
		this.settings.onMessage?.("out", body);
		const response = await fetch(this.url, { method: "POST", headers, body, signal: options.signal });
		if (/^text\/event-stream/i.test(response.headers.get("content-type") ?? "")) return this.stream(response, id, options);
		const text = await response.text();
		return { message: this.received(text, response), text };
	}

	/** @param {string} text @param {Response} response */
	received(text, response) {
		try {
			const message = JSON.parse(text);
			if (message && message.jsonrpc === "2.0") {
				this.settings.onMessage?.("in", text);
				return message;
			}
			if (typeof message?.error === "string") throw new McpError(message.error, null, null, text);
		} catch (error) {
			if (error instanceof McpError) throw error;
		}
		const what = response.status === 401 ? "the server asks for a login (status 401)" : `the server answered with status ${response.status}`;
		throw new McpError(what, null, null, text);
	}

	/** @param {Response} response @param {number} id @param {Options} options */
	async stream(response, id, options) {
		for await (const text of events(response)) {
			this.settings.onMessage?.("in", text);
			let message;
			try {
				message = JSON.parse(text);
			} catch {
				throw new McpError("the server sent an event that is not JSON", null, null, text);
			}
			if (message.method === undefined && message.id === id) return { message, text };
			if (message.method) options.onNotification?.(message);
		}
		throw new McpError("the connection ended before the answer", null);
	}

	/** Sends a request and answers its rounds until the result is complete. @param {string} method @param {Record<string, any>} params @param {Options} [options] @returns {Promise<Answer>} */
	async request(method, params, options = {}) {
		const start = performance.now();
		/** @type {Record<string, any>} */
		let extra = {};
		for (let round = 0; round < MAX_ROUNDS; round++) {
			const { message, text } = await this.send(method, { ...params, ...extra }, options);
			if (message.error) throw new McpError(message.error.message ?? "error", message.error.code ?? null, message.error.data, text);
			const result = message.result ?? {};
			if (result.resultType !== "input_required") return { result, text, ms: performance.now() - start, rounds: round + 1 };
			const requests = result.inputRequests ?? {};
			if (Object.keys(requests).length && !options.onInput) throw new McpError("the server asks for input, which this request cannot give", null, null, text);
			extra = {};
			if (Object.keys(requests).length && options.onInput) extra.inputResponses = await options.onInput(requests);
			if (result.requestState !== undefined) extra.requestState = result.requestState;
			options.signal?.throwIfAborted();
		}
		throw new McpError(`the server asked for input more than ${MAX_ROUNDS} times`, null);
	}

	/** Lists everything, page by page. @param {string} method @param {string} member @param {(items: any[]) => void} [onPage] @returns {Promise<any[]>} */
	async list(method, member, onPage) {
		/** @type {any[]} */
		let items = [];
		let cursor;
		for (let page = 0; page < MAX_PAGES; page++) {
			const { result } = await this.request(method, cursor === undefined ? {} : { cursor });
			items = items.concat(Array.isArray(result[member]) ? result[member] : []);
			onPage?.(items);
			if (typeof result.nextCursor !== "string" || result.nextCursor === cursor) break;
			cursor = result.nextCursor;
		}
		return items;
	}

	/** Listens to notifications until the signal aborts or the server ends it. @param {any} notifications @param {(notification: any) => void} onNotification @param {AbortSignal} signal */
	async listen(notifications, onNotification, signal) {
		const task = notifications.taskIds !== undefined;
		await this.send("subscriptions/listen", { notifications }, { onNotification, signal, task });
	}
}

/** Whether requests for a method have the header `Mcp-Name`. @param {string} method */
export const hasName = (method) => /^(tools\/call|prompts\/get|resources\/read|tasks\/(get|update|cancel))$/.test(method);

/** Encodes the value of a header, as revision 2026-07-28 requires. @param {string} value */
export function headerValue(value) {
	if (/^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value)) return value;
	let bytes = "";
	for (const byte of new TextEncoder().encode(value)) bytes += String.fromCharCode(byte);
	return `=?base64?${btoa(bytes)}?=`;
}

/** Returns the headers for the arguments that the tool's schema marks with `x-mcp-header`. @param {any} schema @param {any} args @returns {Record<string, string>} */
export function paramHeaders(schema, args) {
	/** @type {Record<string, string>} */
	const headers = {};
	for (const [name, property] of Object.entries(schema?.properties ?? {})) {
		const value = args?.[name];
		if (value === null || value === undefined) continue;
		const header = property?.["x-mcp-header"];
		if (typeof header === "string" && /^[!#$%&'*+.^_`|~\w-]+$/.test(header) && typeof value !== "object") {
			headers[`Mcp-Param-${header}`] = headerValue(String(value));
		} else if (typeof value === "object") Object.assign(headers, paramHeaders(property, value));
	}
	return headers;
}
