// Text of a server, made safe to look at: control and bidirectional characters become visible tokens.

const HIDDEN = /\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

/** Returns the name of a character that is not visible. @param {string} hidden */
function token(hidden) {
	if (hidden.startsWith("\x1b[")) return `ESC${hidden.slice(1)}`;
	const code = hidden.codePointAt(0) ?? 0;
	return code === 0x1b ? "ESC" : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Returns the text with tokens in place of hidden characters, for attributes and single lines. @param {unknown} text */
export function plain(text) {
	return String(text ?? "").replace(HIDDEN, (hidden) => `⟦${token(hidden)}⟧`);
}

/** Returns the text as nodes, in which hidden characters are marked tokens. @param {unknown} text @returns {Node} */
export function visible(text) {
	const string = String(text ?? "");
	if (string.search(HIDDEN) < 0) return document.createTextNode(string);
	const nodes = document.createDocumentFragment();
	let from = 0;
	for (const match of string.matchAll(HIDDEN)) {
		if (match.index > from) nodes.append(string.slice(from, match.index));
		const mark = document.createElement("span");
		mark.className = "hidden-char";
		mark.textContent = token(match[0]);
		nodes.append(mark);
		from = match.index + match[0].length;
	}
	nodes.append(string.slice(from));
	return nodes;
}

const PIECE = 20_000;

/** Returns an element that shows a text of any length, in pieces. @param {string} text @param {string} [className] */
export function longText(text, className = "text") {
	const box = document.createElement("div");
	box.className = className;
	let shown = 0;
	const more = document.createElement("button");
	more.type = "button";
	more.className = "link";
	const show = () => {
		more.remove();
		box.append(visible(text.slice(shown, shown + PIECE)));
		shown += PIECE;
		if (shown >= text.length) return;
		more.textContent = `show more (${(text.length - shown).toLocaleString("en")} characters)`;
		box.append(more);
	};
	more.addEventListener("click", show);
	show();
	return box;
}
