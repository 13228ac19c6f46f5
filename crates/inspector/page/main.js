// The inspector's page.

import { get, takeToken } from "./api.js";
import { Context } from "./context.js";
import { fill, h } from "./dom.js";
import { bindKeys } from "./keys.js";
import { panels } from "./panels.js";
import { Shell } from "./shell.js";
import { applyTheme } from "./settings.js";

takeToken();
applyTheme();

const root = document.getElementById("page");
if (root) start(root);

/** @param {HTMLElement} root */
async function start(root) {
  let config;
  try {
    config = await get("config.json");
  } catch (error) {
    fill(root, h("p", { class: "fatal bad" }, `The page cannot start: ${error instanceof Error ? error.message : error}`));
    return;
  }
  const context = new Context(config);
  const shell = new Shell(context, panels);
  fill(root, shell.element);
  bindKeys(context, shell);
  await context.start();
  if (!context.sessions.value.length) shell.drawBar();
}
