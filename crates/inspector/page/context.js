// What the panels share.

import { message } from "./mcp.js";
import { get, post, remove } from "./api.js";
import { Events } from "./events.js";
import { readFeed } from "./feed.js";
import { nameTarget, route } from "./router.js";
import { Session } from "./session.js";
import { settings } from "./settings.js";
import { Signal } from "./store.js";

/** The state of the page. */
export class Context {
	/** @param {Config} config */
	constructor(config) {
		this.config = config;
		this.events = new Events();
		/** @type {Signal<Session[]>} */
		this.sessions = new Signal(/** @type {Session[]} */ ([]));
		/** @type {Signal<Session|null>} */
		this.session = new Signal(/** @type {Session|null} */ (null));
		/** A problem of the page's own connection. @type {Signal<string|null>} */
		this.problem = new Signal(/** @type {string|null} */ (null));
		/** Called with the input requests of a task, to show them. @type {((session: Session, record: any, requests: any) => Promise<any>)|null} */
		this.askForTask = null;
		/** Ids of targets that were removed: a late event does not bring them back. @type {Set<string>} */
		this.removed = new Set();
		route.subscribe(({ target }) => {
			const session = this.sessions.value.find((one) => one.id === target);
			if (session && session !== this.session.value) this.select(session);
		});
	}

	/** @param {Promise<any>|undefined} targets The answer to the first request for targets. @param {number} started When it was sent. */
	async start(targets, started) {
		if (this.config.mode === "endpoint") {
			this.take(endpoint(this.config));
			return;
		}
		try {
			for (const target of (await (targets ?? get("api/targets"))).targets) this.take(target);
		} catch (error) {
			this.problem.value = message(error);
		}
		if (this.config.features.feed) {
			readFeed((event) => {
				// The feed begins with events of the past, whose states are no longer true.
				if (event.kind === "state" && event.state && event.t >= started) this.take(event.state);
				this.events.add(event);
			}, (problem) => { this.problem.value = problem; });
		}
	}

	/** Takes a new or changed target. @param {Target} target */
	take(target) {
		const known = this.sessions.value.find((session) => session.id === target.id);
		if (known) {
			known.update(target);
			return known;
		}
		if (this.removed.has(target.id)) return undefined;
		const session = new Session(target, this.config, this.events);
		session.tasks.onInput = (record, requests) => this.askForTask?.(session, record, requests) ?? Promise.reject(new Error("no panel"));
		this.sessions.value = [...this.sessions.value, session];
		const wanted = route.value.target ?? settings.target.value;
		if (!this.session.value || wanted === target.id) this.select(session);
		else this.select(this.session.value);
		return session;
	}

	/** @param {Session} session */
	select(session) {
		settings.target.value = session.id;
		// One target needs no name.
		nameTarget(this.sessions.value.length > 1 ? session.id : "");
		this.session.value = session;
	}

	/** Adds a target and selects it. @param {string} target @param {string} [revision] */
	async add(target, revision = "auto") {
		const added = await post("api/targets", { target, revision });
		// The feed may have said more of it already.
		const session = this.sessions.value.find((one) => one.id === added.id) ?? this.take(added);
		if (session) this.select(session);
	}

	/** @param {Session} session @param {string} revision */
	async reconnect(session, revision) {
		session.update({ ...session.info.value, state: "connecting", detail: "connecting", asked: revision, revision: null });
		// What follows is in the feed, which may be ahead of the answer.
		await post(`${session.path}/connect`, { revision });
	}

	/** @param {Session} session */
	async remove(session) {
		await remove(session.path);
		this.removed.add(session.id);
		session.close();
		this.sessions.value = this.sessions.value.filter((other) => other !== session);
		if (this.session.value === session) this.session.value = this.sessions.value[0] ?? null;
	}
}

/** The only target of endpoint mode. @param {Config} config @returns {Target} */
function endpoint(config) {
	const url = new URL(config.mcp ?? "../", location.href).href;
	return {
		id: "endpoint", name: "this server", target: url, kind: "endpoint", state: "connected", detail: "connected",
		revision: "2026-07-28", asked: "2026-07-28", server: null, transport: "http", latency_ms: null, retry_ms: null,
		capabilities: {}, instructions: null,
	};
}
