// Parts that several panels show.

import { addToCollection } from "./collection.js";
import { button, empty, h, say } from "./dom.js";
import { href } from "./router.js";

/** @typedef {import("./session.js").Session} Session */

/**
 * Says why a list is empty.
 * @param {Session} session
 * @param {import("./session.js").ListName} name
 * @param {string} what
 */
export function loadState(session, name, what) {
  const { state, error } = session[name].value;
  const target = session.info.value;
  if (state === "failed") return empty(`The ${what} cannot be listed.`, h("span", { class: "bad" }, error), " ", button("try again", () => session.load(name), { class: "link" }));
  if (state === "loading") return empty(`Listing the ${what}…`);
  if (!session.live) return empty(`No ${what} seen.`, `A list appears here when the recording has an answer to its request.`);
  if (target.state !== "connected") return empty("Not connected.", target.detail);
  return session.offers(name) ? empty(`The server has no ${what}.`) : empty(`The server does not offer ${what}.`, "Its capabilities are in the overview.");
}

/** A link to the messages of a call. @param {import("./context.js").Context} context @param {import("./call.js").Call} call */
export function messagesOf(context, call) {
  const name = String(call.params.name ?? call.params.uri ?? "");
  const entries = context.events.entries;
  for (let i = entries.length - 1; i >= 0; i--) {
    const entry = entries[i];
    if (entry.t < call.started - 2000) break;
    if (entry.target !== call.session.id || entry.what !== "request" || entry.method !== call.method || entry.name !== name) continue;
    return h("p", { class: "links" }, h("a", { href: href("messages", String(entry.seq)) }, "what was sent"),
      entry.pair ? h("a", { href: href("messages", String(entry.pair.seq)) }, "what was answered") : null);
  }
  return null;
}

/**
 * A button that adds a call to the saved collection.
 * @param {import("./context.js").Context} context
 * @param {Session} session
 * @param {() => {tool: string, text: string, call: import("./call.js").Call|undefined}} what
 */
export function saveButton(context, session, what) {
  return button("save", () => {
    const { tool, text, call } = what();
    const result = call?.state === "done" ? call.answer?.result : undefined;
    addToCollection({ target: session.info.value.target, tool, text, result });
    say(`saved to the collection${result ? " with the last result as its expectation" : ""}`);
  }, { title: "add to the saved collection, which `couplet test` runs" });
}
