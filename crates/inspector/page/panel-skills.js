// Skills: instructions for a model, with their files.

import { message } from "./mcp.js";
import { resourceContents } from "./content.js";
import { badge, button, fill, heading, para, section, span, table } from "./dom.js";
import { size } from "./format.js";
import { listPanel } from "./lists.js";
import { loadState } from "./parts.js";

/** @type {Panel} */
export const skillsPanel = {
	id: "skills",
	title: "Skills",
	count: (session) => session.skills.value.items.length,
	open: (context) => listPanel(context, {
		id: "skills",
		watch: (session) => [session.skills],
		items: (session) => session.skills.value.items.map((skill) => ({ key: skill.uri, label: skill.frontmatter?.name ?? skill.uri, title: skill.frontmatter?.description })),
		none: (session) => loadState(session, "skills", "skills"),
		find: (session, [key = ""]) => ({ key, thing: session.skills.value.items.find((one) => one.uri === key) }),
		hint: ["Select a skill.", "Its files are read from the server and checked against the listed digests."],
		show: showSkill,
	}),
};

/** @param {Detail} place @param {any} skill */
function showSkill({ session, main, side }, skill) {
	/** @type {any[]} */
	const files = Array.isArray(skill.resources) ? skill.resources : [];
	const read = (/** @type {any} */ file) => readFile(session, file, side);
	fill(main, heading(skill.frontmatter?.name ?? "skill", span("faint mono", skill.uri)),
		para("", skill.frontmatter?.description ?? ""),
		section("files", table((files.length ? files : [{ uri: skill.uri }]).map((file) => [button(String(file.uri), () => read(file), { class: "link mono" }), span("whole", file.size ? size(file.size) : ""), span("mono faint whole", String(file.digest ?? "dynamic").slice(0, 19))]))));
	read(files.find((one) => one.uri === skill.uri) ?? { uri: skill.uri });
}

/** Reads a file of a skill and compares its digest. @param {Session} session @param {any} file @param {HTMLElement} side */
async function readFile(session, file, side) {
	if (!session.live) return;
	try {
		const { result } = await session.client.request("resources/read", { uri: file.uri });
		const contents = result.contents?.[0] ?? {};
		const raw = typeof contents.blob === "string" ? Uint8Array.from(atob(contents.blob), (char) => char.charCodeAt(0)) : new TextEncoder().encode(contents.text ?? "");
		const hash = [...new Uint8Array(await crypto.subtle.digest("SHA-256", raw))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
		const verdict = !file.digest ? badge("no digest listed") : String(file.digest).toLowerCase().endsWith(hash) ? badge("✓ digest", "ok") : badge("the digest differs", "bad");
		fill(side, heading(String(file.uri).split("/").at(-1) ?? "", verdict), resourceContents(contents));
	} catch (error) {
		fill(side, para("bad", message(error)));
	}
}
