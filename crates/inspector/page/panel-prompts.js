// Prompts: arguments with completions, the messages as a chat.

import { chat } from "./ask.js";
import { Call } from "./call.js";
import { copyMenu } from "./copyas.js";
import { button, div, empty, fill, h, heading, para, say, span } from "./dom.js";
import { line } from "./format.js";
import { listPanel } from "./lists.js";
import { followCall, loadState, messagesOf } from "./parts.js";
import { callState, failure } from "./result.js";
import { suggestRows } from "./suggest.js";

/** @type {Panel} */
export const promptsPanel = {
	id: "prompts",
	title: "Prompts",
	count: (session) => session.prompts.value.items.length,
	open: (context) => listPanel(context, {
		id: "prompts",
		watch: (session) => [session.prompts],
		items: (session) => session.prompts.value.items.map((prompt) => ({ key: prompt.name, label: prompt.name, title: line(prompt.description), find: `${prompt.title} ${prompt.description}`, badges: prompt.arguments?.length ? [[String(prompt.arguments.length), "", "arguments"]] : [] })),
		none: (session) => loadState(session, "prompts", "prompts"),
		find: (session, [key = ""]) => ({ key, thing: session.prompts.value.items.find((one) => one.name === key) }),
		hint: ["Select a prompt.", "Its messages appear as a chat, as a model would get them."],
		show: showPrompt,
	}),
};

/** @param {Detail} place @param {Prompt} prompt */
function showPrompt({ context, session, main, side }, prompt) {
	const key = `prompt ${prompt.name}`;
	/** @type {Record<string, string>} */
	let values = {};
	try {
		values = JSON.parse(session.drafts.value[key] ?? "{}");
	} catch {
		// A draft that is no JSON begins anew.
	}
	const live = h("div", { "aria-live": "polite" });
	const body = div("");
	const state = span("");
	const args = prompt.arguments ?? [];
	const get = () => {
		const missing = args.find((arg) => arg.required && !values[arg.name]);
		if (missing) return say(`\`${missing.name}\` is required`, "warn");
		if (!session.live) return say("a recording cannot be asked", "bad");
		const call = new Call(session, "prompts/get", { name: prompt.name, arguments: { ...values } });
		followCall(call, prompt.name, live, () => {
			fill(state, callState(call));
			const result = call.answer?.result;
			fill(body, result ? [result.description ? para("faint", String(result.description)) : null, chat(result.messages)] : failure(call), messagesOf(context, call));
		});
	};
	fill(main, div("heading", h("h2", { class: "mono" }, prompt.name), span("faint", prompt.title ?? "")),
		prompt.description ? para("description", prompt.description) : null,
		args.length ? suggestRows(session, { type: "ref/prompt", name: prompt.name }, args, values, () => session.draft(key, JSON.stringify(values))) : para("faint", "No arguments."),
		div("actions", button("Get", get, { class: "primary", title: "Ctrl+↵" }), copyMenu(session, () => ({ method: "prompts/get", params: { name: prompt.name, arguments: values }, text: JSON.stringify(values) }))), live);
	fill(side, heading("Messages", state), body);
	if (!args.some((arg) => arg.required) && session.live) get();
	else fill(body, empty("Not asked yet.", "Fill in the arguments; the server suggests values where it can."));
	return get;
}
