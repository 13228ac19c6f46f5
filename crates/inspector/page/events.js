// The timeline's data: every message in a ring, with requests and answers paired.

import { META } from "./mcp.js";
import { Signal } from "./store.js";

const MAX_ENTRIES = 50_000;
const MAX_CHARS = 96 * 1024 * 1024;

/** The messages of all targets. */
export class Events {
	constructor() {
		/** @type {Entry[]} */
		this.entries = [];
		/** @type {Map<string, Entry>} */
		this.pending = new Map();
		this.chars = 0;
		/** The last state of each target: an event that only brings a new latency is no row. @type {Map<string, string>} */
		this.states = new Map();
		/** The revision that each target was last seen in. @type {Map<string, string>} */
		this.revisions = new Map();
		this.dropped = 0;
		/** Changes with each entry; its value counts them. */
		this.changes = new Signal(0);
		/** Changes when an entry is for the panels. @type {Set<(entry: Entry, message: any) => void>} */
		this.observers = new Set();
		this.localSeq = 0;
	}

	/** @param {number} seq @returns {Entry|undefined} */
	find(seq) {
		let low = 0;
		let high = this.entries.length - 1;
		while (low <= high) {
			const middle = (low + high) >> 1;
			const entry = this.entries[middle];
			if (entry.seq === seq) return entry;
			if (entry.seq < seq) low = middle + 1;
			else high = middle - 1;
		}
		return undefined;
	}

	clear() {
		this.entries = [];
		this.pending.clear();
		this.chars = 0;
		this.changes.value++;
	}

	/** Adds a message of the page's own client. @param {string} target @param {"out"|"in"} dir @param {string} text */
	own(target, dir, text) {
		this.add({ seq: ++this.localSeq, t: performance.timeOrigin + performance.now(), target, kind: "message", dir, text, size: text.length, cut: false });
	}

	/** @param {FeedEvent} event */
	add(event) {
		const { entry, message } = read(event);
		const state = `${entry.method} ${entry.name}`;
		if (entry.kind === "state") this.revisions.set(entry.target, event.state?.revision ?? "");
		if (entry.kind === "state" && this.states.get(entry.target) === state) return;
		if (entry.kind === "state") this.states.set(entry.target, state);
		if (entry.kind === "message") {
			this.match(entry, message);
			this.revise(entry, message);
		}
		this.entries.push(entry);
		this.chars += entry.text.length;
		if (this.entries.length > MAX_ENTRIES || this.chars > MAX_CHARS) this.trim();
		for (const observer of this.observers) observer(entry, message);
		this.changes.value++;
	}

	/** Removes a tenth at once, so that the list is not moved with each message. */
	trim() {
		const removed = this.entries.splice(0, Math.max(1, this.entries.length / 10 | 0));
		for (const entry of removed) {
			this.chars -= entry.text.length;
			if (entry.what === "request") this.pending.delete(key(entry.target, entry.dir, entry.id));
		}
		this.dropped += removed.length;
	}

	/** @param {Entry} entry @param {any} message */
	match(entry, message) {
		if (entry.what === "request") this.pending.set(key(entry.target, entry.dir, entry.id), entry);
		else if (entry.what === "answer") {
			const asked = key(entry.target, entry.dir === "in" ? "out" : "in", entry.id);
			const request = this.pending.get(asked);
			if (!request) return;
			this.pending.delete(asked);
			entry.pair = request;
			request.pair = entry;
			entry.method = request.method;
			entry.name ||= request.name;
			entry.duration = request.duration = Math.max(0, entry.t - request.t);
			request.status = entry.status;
		} else if (entry.method === "notifications/cancelled") {
			const request = this.pending.get(key(entry.target, entry.dir, JSON.stringify(message?.params?.requestId)));
			if (request) request.status = "cancelled";
		}
	}

	/** Sets the revision of a message: the one that it names, that of its request, or that of its connection. @param {Entry} entry @param {any} message */
	revise(entry, message) {
		const offered = entry.method === "initialize" ? (message?.result ?? message?.params)?.protocolVersion : undefined;
		const named = message?.params?._meta?.[`${META}protocolVersion`] ?? offered;
		const isNamed = typeof named === "string";
		if (isNamed) this.revisions.set(entry.target, named);
		entry.revision = isNamed ? named : (entry.pair?.revision ?? this.revisions.get(entry.target) ?? "");
	}
}

/** @param {string} target @param {string} dir @param {string} id */
const key = (target, dir, id) => `${target} ${dir} ${id}`;

/** @param {FeedEvent} event @returns {{entry: Entry, message: any}} */
function read(event) {
	/** @type {Entry} */
	const entry = {
		seq: event.seq, t: event.t, target: event.target, kind: event.kind, what: "other", dir: event.dir ?? "in", method: "",
		name: "", args: "", id: "", status: "", duration: null, size: event.size ?? 0, text: event.text ?? "", cut: !!event.cut, pair: null, revision: "",
	};
	let message;
	if (event.kind === "message") {
		try {
			message = JSON.parse(entry.text);
		} catch {
			message = event.cut ? head(entry.text) : undefined;
		}
		describe(entry, message);
	} else if (event.kind === "http") {
		entry.method = `${event.method} ${event.status ?? ""}`;
		entry.name = event.url ?? "";
		entry.status = (event.status ?? 0) >= 400 ? "error" : "ok";
		entry.duration = event.ms ?? null;
		entry.text = JSON.stringify({ method: event.method, url: event.url, status: event.status, ms: event.ms });
	} else if (event.kind === "state") {
		entry.method = event.state?.state ?? "";
		entry.name = event.state?.detail ?? "";
		entry.status = event.state?.state === "failed" ? "error" : "";
		entry.text = JSON.stringify(event.state ?? {});
	} else if (event.kind === "lost") {
		entry.method = "lost";
		entry.name = `${event.count} messages came faster than they could be shown`;
		entry.status = "error";
	} else {
		entry.method = event.kind;
		entry.name = entry.text.slice(0, 300);
		entry.size ||= entry.text.length;
	}
	return { entry, message };
}

/** What can be read of a message whose end was cut off. @param {string} text */
function head(text) {
	const start = text.slice(0, 2000);
	const id = /"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)/.exec(start)?.[1];
	const method = /"method"\s*:\s*"([^"\\]*)"/.exec(start)?.[1];
	return { id: id === undefined ? undefined : JSON.parse(id), method, ...(method ? {} : { result: {} }) };
}

/** @param {Entry} entry @param {any} message */
function describe(entry, message) {
	if (Array.isArray(message)) {
		entry.what = "batch";
		entry.method = `batch of ${message.length}`;
		entry.name = message.map((one) => one?.method ?? "answer").join(", ").slice(0, 200);
		return;
	}
	if (!message || typeof message !== "object") {
		entry.method = "not a message";
		entry.name = entry.text.slice(0, 200);
		entry.status = "error";
		return;
	}
	entry.id = message.id === undefined ? "" : JSON.stringify(message.id);
	if (typeof message.method === "string") {
		entry.method = message.method;
		entry.what = entry.id ? "request" : "notice";
		entry.status = entry.id ? "pending" : "";
		entry.name = subject(message.method, message.params ?? {});
		const args = Object.entries(message.params?.arguments ?? {}).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`.slice(0, 60));
		entry.args = args.slice(0, 6).join(" ");
		return;
	}
	entry.what = "answer";
	if (message.error) {
		entry.status = "error";
		entry.name = `${message.error.code ?? ""} ${message.error.message ?? ""}`.slice(0, 200);
	} else {
		const { result } = message;
		entry.status = result?.isError === true ? "error" : result?.resultType === "input_required" ? "input" : "ok";
		entry.args = brief(result);
	}
}

/** The beginning of a result: its text, what it asks for, or how many it lists. @param {any} result */
function brief(result) {
	const first = result?.content?.[0]?.text ?? result?.contents?.[0]?.text;
	if (typeof first === "string") return first.slice(0, 120).replaceAll(/\s+/g, " ");
	if (result?.inputRequests) return Object.values(result.inputRequests).map((one) => one?.method).join(" ");
	const list = Object.entries(result ?? {}).find(([name, value]) => Array.isArray(value) && name !== "supportedVersions");
	return list ? `${list[1].length} ${list[0]}` : typeof result?.status === "string" ? result.status : "";
}

/** @param {string} method @param {any} params */
function subject(method, params) {
	if (method === "notifications/progress") {
		const total = params.total === undefined ? "" : `/${params.total}`;
		return `${params.progress}${total} ${params.message ?? ""}`.slice(0, 200);
	}
	if (method === "notifications/message") {
		const data = typeof params.data === "string" ? params.data : JSON.stringify(params.data);
		return `${params.level ?? ""} ${data ?? ""}`.slice(0, 200);
	}
	const name = params.name ?? params.uri ?? params.taskId ?? params.ref?.name ?? params.ref?.uri ?? params.message ?? params.level;
	return typeof name === "string" ? name.slice(0, 300) : "";
}
