// Content of a server, shown by its kind. Nothing is dropped: unknown content is shown as data.

import { badge, button, copy, div, download, h, pre, QUIET, span } from "./dom.js";
import { size } from "./format.js";
import { parse, tryParse, write } from "./json.js";
import { markdown } from "./markdown.js";
import { href } from "./router.js";
import { tree } from "./tree.js";
import { longText } from "./visible.js";

/** @param {string} base64 @returns {Uint8Array<ArrayBuffer>|null} */
export function bytes(base64) {
	try {
		const binary = atob(base64.replaceAll(/\s/g, ""));
		const array = new Uint8Array(binary.length);
		for (let i = 0; i < binary.length; i++) array[i] = binary.charCodeAt(i);
		return array;
	} catch {
		return null;
	}
}

const IMAGES = /^image\/(png|jpe?g|gif|webp|avif|bmp|svg\+xml|x-icon)$/i;
const AUDIO = /^audio\//i;
const MARKDOWN = /^text\/(x-)?markdown/i;
const JSON_TYPE = /^application\/(.*\+)?json/i;

/** Shows one content block. @param {any} block @param {JsonNode|undefined} [node] The block as it was sent. @returns {HTMLElement} */
export function contentBlock(block, node) {
	const marks = annotations(block?.annotations);
	const shown = kind(block, node);
	return marks ? div("content", marks, shown) : div("content", shown);
}

/** @param {any} block @param {JsonNode|undefined} node */
function kind(block, node) {
	switch (block?.type) {
		case "text": return text(String(block.text ?? ""));
		case "image": return binary(String(block.data ?? ""), String(block.mimeType ?? ""));
		case "audio": return binary(String(block.data ?? ""), String(block.mimeType ?? ""));
		case "resource": return resourceContents(block.resource ?? {});
		case "resource_link": return link(block);
		case "tool_use": return div("", badge(`tool use ${block.name}`, "info"), data(block.input));
		case "tool_result": return div("", badge("tool result", block.isError ? "bad" : "info"), ...(Array.isArray(block.content) ? block.content.map((/** @type {any} */ one) => contentBlock(one)) : []));
		default: return node ? tree(node) : data(block);
	}
}

/** @param {any} value */
export const data = (value) => tree(parse(write(value ?? null)));

/** @param {any} annotations */
function annotations(annotations) {
	if (!annotations || typeof annotations !== "object") return null;
	const parts = [];
	if (Array.isArray(annotations.audience)) parts.push(badge(`for ${annotations.audience.join(", ")}`));
	if (annotations.priority !== undefined) parts.push(badge(`priority ${annotations.priority}`));
	if (annotations.lastModified) parts.push(badge(`modified ${annotations.lastModified}`));
	return parts.length ? div("badges", ...parts) : null;
}

/** Text, with a way to see it as Markdown or as JSON if it looks so. @param {string} value @param {string} [mimeType] */
export function text(value, mimeType = "") {
	const trimmed = value.trimStart();
	const json = value.length < 2_000_000 && (JSON_TYPE.test(mimeType) || /^[[{]/.test(trimmed)) ? tryParse(value) : undefined;
	const isMarkdown = MARKDOWN.test(mimeType) || /^(#{1,6} |\* |- |\d+\. )|\n(#{1,6} |[*-] |```)|\*\*\S|\]\(/m.test(value.slice(0, 20_000));
	const plainView = () => longText(value, "text mono");
	/** @type {[string, () => HTMLElement][]} */
	const views = [["text", plainView]];
	if (isMarkdown && value.length < 500_000) views.unshift(["markdown", () => markdown(value)]);
	if (json) views.unshift(["tree", () => tree(json)]);
	return switcher(views, value);
}

/** Several views of the same thing. @param {[string, () => HTMLElement][]} views @param {string} value */
function switcher(views, value) {
	const body = div("", views[0][1]());
	const bar = div("content-bar");
	views.forEach(([name, make], i) => {
		if (views.length === 1) return;
		const one = button(name, () => {
			body.replaceChildren(make());
			for (const other of bar.querySelectorAll("[aria-pressed]")) other.setAttribute("aria-pressed", String(other === one));
		}, { class: "quiet", "aria-pressed": String(i === 0) });
		bar.append(one);
	});
	bar.append(button("copy", () => copy(value), QUIET));
	return div("content-text", body, bar);
}

/** @param {string} base64 @param {string} mimeType @param {string} [name] @returns {HTMLElement} */
export function binary(base64, mimeType, name = "content") {
	const array = bytes(base64);
	if (!array) return div("", badge("not base64", "bad"), longText(base64, "text mono"));
	const isMedia = IMAGES.test(mimeType) || AUDIO.test(mimeType);
	const blob = new Blob([array], { type: isMedia ? mimeType : "application/octet-stream" });
	const caption = div("content-bar faint", `${mimeType || "unknown type"}, ${size(array.length)} `, button("save", () => download(name, blob), QUIET));
	if (!isMedia) return div("", hex(array), caption);
	const url = URL.createObjectURL(blob);
	if (IMAGES.test(mimeType)) {
		const image = h("img", { src: url, alt: `image, ${mimeType}` });
		image.addEventListener("load", () => caption.prepend(`${image.naturalWidth} × ${image.naturalHeight}, `));
		image.addEventListener("error", () => caption.prepend(badge("the image cannot be shown", "bad")));
		return div("", image, caption);
	}
	return div("", h("audio", { src: url, controls: true }), caption);
}

/** The first bytes, as numbers and characters. @param {Uint8Array} array */
function hex(array) {
	const lines = [];
	for (let at = 0; at < Math.min(array.length, 256); at += 16) {
		const row = [...array.slice(at, at + 16)];
		const numbers = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
		const chars = row.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
		lines.push(`${at.toString(16).padStart(6, "0")}  ${numbers.padEnd(48)} ${chars}`);
	}
	return pre(lines.join("\n"), array.length > 256 ? "\n…" : "");
}

/** The contents of a resource. @param {any} contents @returns {HTMLElement} */
export function resourceContents(contents) {
	const mimeType = String(contents.mimeType ?? "");
	const head = div("content-head", h("a", { href: href("resources", String(contents.uri ?? "")), class: "mono" }, String(contents.uri ?? "no URI")), mimeType ? badge(mimeType) : null);
	const name = String(contents.uri ?? "").split("/").at(-1) || "content";
	const body = typeof contents.blob === "string" ? binary(contents.blob, mimeType, name) : text(String(contents.text ?? ""), mimeType);
	return div("resource", head, body);
}

/** @param {any} block */
function link(block) {
	return div("resource",
		h("a", { href: href("resources", String(block.uri ?? "")), class: "mono" }, String(block.uri)),
		" ", block.title ?? block.name ?? "", " ", block.mimeType ? badge(String(block.mimeType)) : null,
		typeof block.size === "number" ? span("faint", ` ${size(block.size)}`) : null,
		block.description ? div("about", String(block.description)) : null);
}
