// The panels in the order of the navigation.

import { comparePanel } from "./panel-compare.js";
import { lintPanel } from "./panel-lint.js";
import { loadPanel } from "./panel-load.js";
import { logsPanel } from "./panel-logs.js";
import { messagesPanel } from "./panel-messages.js";
import { clientPanel, collectionPanel, connectPanel, helpPanel, loginPanel } from "./panel-more.js";
import { overviewPanel } from "./panel-overview.js";
import { promptsPanel } from "./panel-prompts.js";
import { resourcesPanel } from "./panel-resources.js";
import { skillsPanel } from "./panel-skills.js";
import { tasksPanel } from "./panel-tasks.js";
import { toolsPanel } from "./panel-tools.js";

/** @type {Panel[]} */
export const panels = [
	overviewPanel, toolsPanel, resourcesPanel, promptsPanel, tasksPanel, logsPanel, skillsPanel, lintPanel, comparePanel,
	loadPanel, collectionPanel, clientPanel, loginPanel, connectPanel, helpPanel, messagesPanel,
];
