// Questions of the server: elicitation and sampling, answered by the user; roots and canned answers, by the settings.

import { badge, button, div, h, menu, para, span } from "./dom.js";
import { Draft } from "./draft.js";
import { contentBlock, data } from "./content.js";
import { editor } from "./editor.js";
import { Raw } from "./json.js";
import { settings } from "./settings.js";

/** Answers the requests that the settings answer. @param {Record<string, any>} requests */
export function automatic(requests) {
	/** @type {Record<string, any>} */
	const answers = {};
	/** @type {Record<string, any>} */
	const open = {};
	const notes = [];
	for (const [key, request] of Object.entries(requests)) {
		if (request?.method === "roots/list") {
			answers[key] = { roots: settings.roots.value };
			notes.push(`the server asked for the roots: ${settings.roots.value.length} given`);
		} else if (request?.method === "sampling/createMessage" && settings.sampling.value === "canned") {
			answers[key] = sampled(settings.canned.value, settings.model.value, "endTurn");
			notes.push("the server asked for a sample: the canned answer was given");
		} else open[key] = request;
	}
	return { answers, open, notes };
}

/** @param {string} text @param {string} model @param {string} stopReason */
const sampled = (text, model, stopReason) => ({ role: "assistant", content: { type: "text", text }, model, stopReason });

/** Shows the open questions of a call. @param {Question} question @param {{server: string, about: string}} origin @returns {HTMLElement} */
export function questions(question, origin) {
	/** @type {Record<string, any>} */
	const answers = {};
	const entries = Object.entries(question.requests);
	const box = h("div", { class: "questions", role: "group", "aria-label": `Questions of ${origin.server}` });
	const answered = (/** @type {string} */ key, /** @type {any} */ answer) => {
		answers[key] = answer;
		box.querySelector(`[data-key="${CSS.escape(key)}"]`)?.classList.add("answered");
		if (Object.keys(answers).length === entries.length) question.done(answers);
	};
	for (const [key, request] of entries) {
		const head = para("question-from", h("strong", null, origin.server), ` asks, for `, h("code", null, origin.about));
		box.append(h("div", { class: "question", "data-key": key }, head, one(request, (answer) => answered(key, answer), question)));
	}
	queueMicrotask(() => {
		box.scrollIntoView({ block: "start" });
		/** @type {HTMLElement|null} */ (box.querySelector("input, textarea, select") ?? box.querySelector("button"))?.focus({ preventScroll: true });
	});
	return box;
}

/** @param {any} request @param {(answer: any) => void} answer @param {Question} question */
function one(request, answer, question) {
	const params = request?.params ?? {};
	if (request?.method === "elicitation/create") return params.mode === "url" ? urlQuestion(params, answer) : formQuestion(params, answer);
	if (request?.method === "sampling/createMessage") return samplingQuestion(params, answer, question);
	return div("", para("bad", `The method ${request?.method} is unknown.`), data(request), button("Abandon the call", () => question.fail(new Error("the server asked for something unknown"))));
}

/** @param {any} params @param {(answer: any) => void} answer */
function formQuestion(params, answer) {
	const schema = { type: "object", ...params.requestedSchema };
	const draft = new Draft(schema);
	const edit = editor(draft, "The answer");
	const accept = () => {
		if (!edit.check()) return;
		answer({ action: "accept", content: new Raw(draft.text.trim() || "{}") });
	};
	const element = div("",
		para("question-text", String(params.message ?? "")),
		edit.element,
		div("actions",
			button("Accept", accept, { class: "primary", title: "⌘↵ or Ctrl+↵" }),
			button("Decline", () => answer({ action: "decline" })),
			button("Cancel", () => answer({ action: "cancel" })),
			span("faint", "Do not give passwords or keys to a server that you do not trust.")));
	element.addEventListener("keydown", (event) => {
		if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
		event.preventDefault();
		event.stopPropagation();
		accept();
	});
	return element;
}

/** @param {any} params @param {(answer: any) => void} answer */
function urlQuestion(params, answer) {
	const text = String(params.url ?? "");
	/** @type {URL|null} */
	let url = null;
	try {
		url = new URL(text);
	} catch {
		// Shown as an address that cannot be opened.
	}
	const safe = url && /^https?:$/.test(url.protocol);
	const local = url && /^(localhost|127\.|\[::1\])/.test(url.hostname);
	const unusual = url && /xn--|@/.test(url.host + url.username);
	const open = button(safe ? `Open ${url?.host}` : "Cannot be opened", () => { window.open(text, "_blank", "noopener,noreferrer"); }, { disabled: !safe, class: "primary" });
	return div("",
		para("question-text", String(params.message ?? "")),
		para("url", "The page is at ", h("strong", { class: "url-host" }, url?.host ?? "an invalid address"),
			url?.protocol === "https:" || local ? null : badge("not encrypted", "warn"), unusual ? badge("unusual host name", "warn") : null),
		para("mono url-whole", text),
		div("actions", open,
			button("Accept", () => answer({ action: "accept" })),
			button("Decline", () => answer({ action: "decline" })),
			button("Cancel", () => answer({ action: "cancel" }))));
}

/** @param {any} params @param {(answer: any) => void} answer @param {Question} question */
function samplingQuestion(params, answer, question) {
	const text = h("textarea", { rows: 4, value: settings.canned.value, "aria-label": "Answer of the model" });
	const model = h("input", { type: "text", value: settings.model.value, "aria-label": "Model", class: "short" });
	const stop = menu({ "aria-label": "Stop reason" }, ["endTurn", "stopSequence", "maxTokens"]);
	const canned = h("input", { type: "checkbox" });
	const { messages, ...rest } = params;
	return div("",
		para("question-text", "A sample of a model"),
		chat(messages),
		h("details", null, h("summary", null, "Parameters"), data(rest)),
		text,
		div("actions",
			button("Send", () => {
				if (canned.checked) {
					settings.canned.value = text.value;
					settings.sampling.value = "canned";
				}
				answer(sampled(text.value, model.value, stop.value));
			}, { class: "primary" }),
			button("Reject", () => question.fail(new Error("the user rejected the sample"))),
			model, stop, h("label", { class: "check" }, canned, "answer so from now on")));
}

/** Messages as a chat. @param {any} messages */
export function chat(messages) {
	const list = Array.isArray(messages) ? messages : [];
	return div("chat", ...list.map((message) => div(`chat-one ${message?.role === "assistant" ? "assistant" : "user"}`,
		div("chat-role", String(message?.role ?? "")),
		...[message?.content ?? []].flat().map((block) => contentBlock(block)))));
}
