// Tasks of a server: their life, by polling.

import { McpError, message } from "./mcp.js";
import { Signal, stored } from "./store.js";

const MAX_STORED = 50;
const TERMINAL = ["completed", "failed", "cancelled"];

/** @param {string} status */
export const isOver = (status) => TERMINAL.includes(status);

/** The tasks that this page has started. */
export class Tasks {
	/** @param {Session} session */
	constructor(session) {
		this.session = session;
		/** @type {Signal<TaskRecord[]>} */
		this.all = new Signal(/** @type {TaskRecord[]} */ ([]));
		/** The tasks that a reload finds again. */
		this.stored = stored(`tasks.${session.info.value.target}`, /** @type {{id: string, tool: string, started: number}[]} */ ([]));
		/** @type {Map<string, ReturnType<typeof setTimeout>>} */
		this.timers = new Map();
		/** Answers the input requests of a task; set by the page. @type {((record: TaskRecord, requests: any) => Promise<any>)|null} */
		this.onInput = null;
		/** @type {Set<string>} */
		this.answered = new Set();
	}

	/** @param {string} id */
	get(id) {
		return this.all.value.find((record) => record.id === id);
	}

	/** Takes a new task and follows it. @param {string} tool @param {any} task @param {string} text */
	start(tool, task, text) {
		/** @type {TaskRecord} */
		const record = { id: String(task.taskId), tool, status: "", task, text, started: Date.now(), life: [], error: "" };
		this.all.value = [record, ...this.all.value];
		this.store();
		this.take(record, task, text);
		return record;
	}

	store() {
		this.stored.value = this.all.value.slice(0, MAX_STORED).map(({ id, tool, started }) => ({ id, tool, started }));
	}

	/** Asks the server for the tasks of before a reload. */
	restore() {
		const lost = this.stored.value.filter(({ id }) => !this.get(id)).map((one) => ({ ...one, status: "", task: {}, text: '{"result":{}}', life: [], error: "" }));
		if (!lost.length) return;
		this.all.value = [...this.all.value, ...lost];
		for (const record of lost) this.poll(record);
	}

	/** @param {TaskRecord} record @param {any} task @param {string} text */
	take(record, task, text) {
		const note = String(task.statusMessage ?? "");
		const last = record.life.at(-1);
		if (last?.status !== task.status || last?.message !== note) record.life.push({ t: Date.now(), status: String(task.status), message: note });
		record.status = String(task.status);
		record.task = task;
		record.text = text;
		this.all.notify();
		if (task.status === "input_required") this.answer(record, task.inputRequests ?? {});
		if (!isOver(record.status)) this.schedule(record, Number(task.pollIntervalMs ?? task.pollInterval ?? 1000));
	}

	/** @param {TaskRecord} record @param {number} wait */
	schedule(record, wait) {
		clearTimeout(this.timers.get(record.id));
		this.timers.set(record.id, setTimeout(() => this.poll(record), Math.min(Math.max(wait || 1000, 100), 30_000)));
	}

	/** Asks for the state of a task. @param {TaskRecord} record */
	async poll(record) {
		try {
			const { result, text } = await this.session.client.request("tasks/get", { taskId: record.id }, { task: true });
			record.error = "";
			this.take(record, result, text);
		} catch (error) {
			record.error = message(error);
			if (!record.status && error instanceof McpError && error.code !== null) {
				// A server that was started anew does not know it.
				this.all.value = this.all.value.filter((one) => one !== record);
				return this.store();
			}
			this.all.notify();
			if (!isOver(record.status)) this.schedule(record, 3000);
		}
	}

	/** @param {TaskRecord} record @param {Record<string, any>} requests */
	async answer(record, requests) {
		const open = Object.entries(requests).filter(([key]) => !this.answered.has(`${record.id} ${key}`));
		if (!open.length || !this.onInput) return;
		for (const [key] of open) this.answered.add(`${record.id} ${key}`);
		try {
			const inputResponses = await this.onInput(record, Object.fromEntries(open));
			await this.session.client.request("tasks/update", { taskId: record.id, inputResponses }, { task: true });
		} catch (error) {
			record.error = message(error);
			this.all.notify();
		}
	}

	/** @param {TaskRecord} record */
	async cancel(record) {
		try {
			await this.session.client.request("tasks/cancel", { taskId: record.id }, { task: true });
		} catch (error) {
			record.error = message(error);
		}
		await this.poll(record);
	}

	close() {
		for (const timer of this.timers.values()) clearTimeout(timer);
	}
}
