// Tasks with their life.

import { questions } from "./ask.js";
import { badge, button, div, empty, fill, heading, para, section, span, table } from "./dom.js";
import { clock, duration, line } from "./format.js";
import { parse } from "./json.js";
import { listPanel } from "./lists.js";
import { toolResult } from "./result.js";
import { go } from "./router.js";
import { isOver } from "./tasks.js";
import { tree } from "./tree.js";

/** Questions of tasks that wait for the user. @type {Map<string, Question>} */
const open = new Map();

/** Lets tasks ask their questions in this panel. @param {Context} context */
export function bindTasks(context) {
	context.askForTask = (session, record, requests) => new Promise((resolve, reject) => {
		const end = () => {
			open.delete(record.id);
			session.tasks.all.notify();
		};
		open.set(record.id, { requests, done: (answers) => { end(); resolve(answers); }, fail: (error) => { end(); reject(error); } });
		session.tasks.all.notify();
		go("tasks", record.id);
	});
}

/** @param {string} status */
const kind = (status) => ({ completed: "ok", failed: "bad", cancelled: "warn", input_required: "info" })[status] ?? "";

/** @type {Panel} */
export const tasksPanel = {
	id: "tasks",
	title: "Tasks",
	count: (session) => session.tasks.all.value.length,
	open: (context) => listPanel(context, {
		id: "tasks",
		watch: (session) => [session.tasks.all],
		items: (session) => session.tasks.all.value.map((task) => ({ key: task.id, label: task.tool || task.id, title: task.id, badges: [[task.status, kind(task.status)]] })),
		none: (session) => session.tools.value.items.some((tool) => session.canBeTask(tool))
			? empty("No tasks.", "`as task` in a tool lets the server answer with a task, which is followed here.")
			: empty("No tasks.", "No tool of this server runs as a task in this revision."),
		find: (session, [key = ""]) => {
			const thing = session.tasks.get(key);
			return { key, thing, version: [thing?.life, thing?.error, thing?.text, open.has(key)] };
		},
		hint: ["Select a task.", "It lives on the server, which says how often to poll."],
		show: showTask,
	}),
};

/** @param {Detail} place @param {TaskRecord} record */
function showTask({ session, main, side }, record) {
	const { task } = record;
	const question = open.get(record.id);
	const start = record.life[0]?.t ?? 0;
	fill(main, heading(record.tool, badge(record.status, kind(record.status)), span("faint mono", record.id)),
		div("actions", button("poll now", () => session.tasks.poll(record)), isOver(record.status) ? null : button("cancel", () => session.tasks.cancel(record))),
		record.error ? para("bad", record.error) : null,
		question ? questions(question, { server: session.info.value.name, about: `task ${record.tool}` }) : null,
		section("life", table(record.life.map((step) => [span("mono faint whole", clock(step.t)), span("whole", step.t === start ? "start" : `+${duration(step.t - start)}`), badge(step.status, kind(step.status)), line(step.message)]))),
		section("task", tree(/** @type {JsonNode} */ (parse(record.text).get("result")), { open: 1 })));
	const tool = session.tool(record.tool);
	fill(side, heading("Result"),
		...(task.result ? toolResult(task.result, record.text, tool, ["result", "result"]) : [task.error ? para("bad", `${task.error.message} (${task.error.code})`) : empty(isOver(record.status) ? "The task has no result." : "The task is not finished.")]));
}
