// Parts that several panels show.

import { questions } from "./ask.js";
import { addToCollection } from "./collection.js";
import { button, div, empty, fill, h, LINK, para, say, span } from "./dom.js";
import { href } from "./router.js";

/** Says why a list is empty. @param {Session} session @param {ListName} name @param {string} what */
export function loadState(session, name, what) {
	const { state, error } = session[name].value;
	const target = session.info.value;
	if (state === "failed") return empty(`The ${what} cannot be listed.`, span("bad", error), " ", button("try again", () => session.load(name), LINK));
	if (state === "loading") return empty(`Listing the ${what}…`);
	if (!session.live) return empty(`No ${what} seen.`, `A list appears here when the recording has an answer to its request.`);
	if (target.state !== "connected") return empty("Not connected.", target.detail);
	return session.offers(name) ? empty(`The server has no ${what}.`) : empty(`The server does not offer ${what}.`, "Its capabilities are in the overview.");
}

/** A link to the messages of a call. @param {Context} context @param {Call} call */
export function messagesOf(context, call) {
	const name = String(call.params.name ?? call.params.uri ?? "");
	const entries = context.events.entries;
	for (let i = entries.length - 1; i >= 0; i--) {
		const entry = entries[i];
		if (entry.t < call.started - 2000) break;
		if (entry.target !== call.session.id || entry.what !== "request" || entry.method !== call.method || entry.name !== name) continue;
		return para("links", h("a", { href: href("messages", String(entry.seq)) }, "what was sent"),
			entry.pair ? h("a", { href: href("messages", String(entry.pair.seq)) }, "what was answered") : null);
	}
	return null;
}

/** A button that adds a call to the saved collection. @param {Context} context @param {Session} session @param {() => {tool: string, text: string, call: Call|undefined}} what */
export function saveButton(context, session, what) {
	return button("save", () => {
		const { tool, text, call } = what();
		const result = call?.state === "done" ? call.answer?.result : undefined;
		addToCollection({ target: session.info.value.target, tool, text, result });
		say(`saved to the collection${result ? " with the last result as its expectation" : ""}`);
	}, { title: "add to the saved collection, which `couplet test` runs" });
}

/** @param {Call} call */
function running(call) {
	const progress = call.progress;
	const total = Number(progress?.total);
	const value = Number(progress?.progress);
	const known = total > 0 && Number.isFinite(value);
	const bar = h("progress", known ? { max: total, value, "aria-label": "Progress" } : { "aria-label": "Progress" });
	const text = progress ? `${value}${known ? ` of ${total}` : ""} ${progress.message ?? ""}` : call.question ? "waiting for your answer" : "running";
	return div("progress", bar, span("", text), button("cancel", () => call.cancel()));
}

/** Returns a function that shows the life of a call: progress, automatic answers, questions. @param {HTMLElement} live @param {Call} call @param {string} about */
export function liveCall(live, call, about) {
	/** @type {Question|null} */
	let asked = null;
	return () => {
		if (call.question && call.question === asked) return;
		asked = call.question;
		fill(live, call.state === "running" ? running(call) : null, call.automatic.map((note) => para("faint", note)),
			asked ? questions(asked, { server: call.session.info.value.name, about }) : null);
	};
}

/** Starts a call and shows it: its life in one place, its end in another. @param {Call} call @param {string} about @param {HTMLElement} live @param {(call: Call) => void} onEnd */
export function followCall(call, about, live, onEnd) {
	const draw = liveCall(live, call, about);
	const end = call.changes.subscribe(draw);
	draw();
	call.done.then(() => onEnd(call));
	return end;
}
