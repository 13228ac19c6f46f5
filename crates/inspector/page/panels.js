// The panels in the order of the navigation.

import { messagesPanel } from "./panel-messages.js";
import { toolsPanel } from "./panel-tools.js";

/** @type {import("./types.js").Panel[]} */
export const panels = [toolsPanel, messagesPanel];
