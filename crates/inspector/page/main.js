// The inspector's page.

import { message } from "./mcp.js";
import { get, hasToken, takeToken } from "./api.js";
import { Context } from "./context.js";
import { fill, para } from "./dom.js";
import { bindKeys } from "./keys.js";
import { bindTasks } from "./panel-tasks.js";
import { panels } from "./panels.js";
import { go, route } from "./router.js";
import { Shell } from "./shell.js";
import { applyTheme } from "./settings.js";

takeToken();
applyTheme();

const root = document.getElementById("page");
if (root) start(root);

/** @param {HTMLElement} root */
async function start(root) {
	let config;
	const started = Date.now();
	// Beside an endpoint there are no targets, and no token.
	const targets = hasToken() ? get("api/targets") : undefined;
	targets?.catch(() => {});
	try {
		config = await get("config.json");
	} catch (error) {
		fill(root, para("fatal bad", `The page cannot start: ${message(error)}`));
		return;
	}
	const context = new Context(config);
	const shell = new Shell(context, panels);
	fill(root, shell.element);
	bindKeys(context, shell);
	bindTasks(context);
	await context.start(targets, started);
	if (context.sessions.value.length) return;
	shell.drawBar();
	if (config.mode === "inspect" && !context.problem.value && route.value.panel === "overview") go("connect");
}
