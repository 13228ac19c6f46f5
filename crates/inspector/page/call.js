// A request with its life: progress, questions of the server, answer.

import { automatic } from "./ask.js";
import { Raw } from "./json.js";
import { McpError, message } from "./mcp.js";
import { perFrame, Signal } from "./store.js";

/** A running or finished request. It outlives the view that shows it. */
export class Call {
	/** @param {Session} session @param {string} method @param {Record<string, any>} params @param {Options} [options] */
	constructor(session, method, params, options = {}) {
		this.session = session;
		this.method = method;
		this.params = params;
		this.started = Date.now();
		/** @type {"running"|"done"|"failed"|"cancelled"} */
		this.state = "running";
		/** @type {Answer|null} */
		this.answer = null;
		this.ended = this.started;
		/** @type {unknown} */
		this.error = null;
		/** @type {{progress: number, total?: number, message?: string}|null} */
		this.progress = null;
		/** Questions that wait for the user. @type {Question|null} */
		this.question = null;
		/** What was answered without asking. @type {string[]} */
		this.automatic = [];
		/** @type {TaskRecord|null} */
		this.task = null;
		this.changes = new Signal(0);
		this.soon = perFrame(() => this.changed());
		this.controller = new AbortController();
		this.done = this.run(options);
	}

	changed() {
		this.changes.value++;
	}

	get ms() {
		return this.answer?.ms ?? this.ended - this.started;
	}

	/** @param {Options} options */
	async run(options) {
		try {
			this.answer = await this.session.client.request(this.method, this.params, {
				...options,
				progress: true,
				signal: this.controller.signal,
				onNotification: (notification) => this.notified(notification),
				onInput: (requests) => this.ask(requests),
			});
			this.state = "done";
			if (this.answer.result.resultType === "task") {
				this.task = this.session.tasks.start(String(this.params.name ?? ""), this.answer.result, this.answer.text);
			}
		} catch (error) {
			this.state = this.controller.signal.aborted ? "cancelled" : "failed";
			this.error = error;
		}
		this.ended = Date.now();
		this.question = null;
		this.changed();
	}

	/** @param {any} notification */
	notified(notification) {
		if (notification.method !== "notifications/progress") return;
		this.progress = notification.params ?? null;
		this.soon();
	}

	/** Asks the user for what cannot be answered from the settings. @param {Record<string, any>} requests */
	async ask(requests) {
		const { answers, open, notes } = automatic(requests);
		this.automatic.push(...notes);
		if (!Object.keys(open).length) return answers;
		const given = await new Promise((/** @type {(responses: Record<string, any>) => void} */ done, fail) => {
			this.controller.signal.addEventListener("abort", () => fail(new Error("cancelled")), { once: true });
			this.question = { requests: open, done, fail };
			this.changed();
		});
		this.question = null;
		this.changed();
		return { ...answers, ...given };
	}

	cancel() {
		this.controller.abort();
	}

	/** Why it failed, as a sentence. */
	get problem() {
		if (this.state === "cancelled") return "cancelled";
		return this.error ? message(this.error) : "";
	}

	/** The answer as it was sent, if there was one. */
	get text() {
		return this.answer?.text ?? (this.error instanceof McpError ? this.error.text : "");
	}
}

/** A call of a tool from before a reload. @param {Session} session @param {string} tool @param {Past} past @returns {Call} */
export function pastCall(session, tool, { args, text, ms, started }) {
	const answer = { result: JSON.parse(text).result, text, ms, rounds: 1 };
	return Object.assign(Object.create(Call.prototype), {
		session, method: "tools/call", params: { name: tool, arguments: new Raw(args) }, started, ended: started + ms, state: "done", answer,
		error: null, progress: null, question: null, automatic: [], task: null, changes: new Signal(0), controller: new AbortController(), done: Promise.resolve(),
	});
}
