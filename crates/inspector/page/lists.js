// The list column of a panel: a filter and the names.

import { badge, div, empty, fill, h } from "./dom.js";
import { go, route } from "./router.js";
import { Scope } from "./store.js";
import { VirtualList } from "./vlist.js";

/** Creates a filterable list. @param {{label: string, placeholder: string, onOpen: (item: Item) => void, onToggle?: (item: Item) => void, none: () => HTMLElement}} options */
export function nameList(options) {
	/** @type {Item[]} */
	let all = [];
	/** @type {Item[]} */
	let shown = [];
	let current = "";
	const input = h("input", { type: "search", placeholder: options.placeholder, "aria-label": options.placeholder, class: "list-filter", spellcheck: false });
	const select = (/** @type {number} */ i) => { if (shown[i] && !shown[i].group) options.onOpen(shown[i]); };
	// A click or ↵ goes on with the first field; ↓ and ↑ stay in the list.
	const open = (/** @type {number} */ i) => (shown[i]?.group ? options.onToggle?.(shown[i]) : openDetail(() => select(i)));
	const list = new VirtualList({ rowHeight: 28, label: options.label, render: (row, i) => render(row, shown[i]), onOpen: open, onSelect: select });
	const none = div("list-none");
	const apply = () => {
		const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
		const matches = (/** @type {Item} */ item) => words.every((word) => `${item.label} ${item.find ?? ""}`.toLowerCase().includes(word));
		shown = words.length ? all.filter((item) => !item.group && matches(item)).map((item) => ({ ...item, depth: 0 })) : all;
		list.selected = shown.findIndex((item) => item.key === current && !item.group);
		list.update(shown.length);
		fill(none, shown.length ? null : all.length ? empty("Nothing matches the filter.") : options.none());
		none.hidden = shown.length > 0;
	};
	input.addEventListener("input", apply);
	input.addEventListener("keydown", (event) => {
		if (event.key === "ArrowDown") {
			list.element.focus();
			list.select(Math.max(0, list.selected), true);
			event.preventDefault();
		} else if (event.key === "Enter") open(0);
		else if (event.key === "Escape" && input.value) {
			input.value = "";
			apply();
			event.stopPropagation();
		}
	});
	const element = div("list", input, list.element, none);
	return {
		element,
		input,
		/** @param {Item[]} items */
		update(items) {
			all = items;
			apply();
		},
		/** @param {string} key */
		select(key) {
			current = key;
			list.select(shown.findIndex((item) => item.key === key && !item.group));
		},
	};
}

/** Opens a detail and goes to its first field, or to its button. @param {() => void} open */
export function openDetail(open) {
	const before = location.hash;
	open();
	if (location.hash === before) focusDetail();
	else addEventListener("hashchange", focusDetail, { once: true });
}

function focusDetail() {
	// A narrow page would open its keyboard.
	if (innerWidth <= 720) return;
	/** @type {HTMLElement|null} */ (document.querySelector(".main .form :is(input, textarea, select)") ?? document.querySelector(".main .actions .primary"))?.focus({ preventScroll: true });
}

/** @param {HTMLElement} row @param {Item|undefined} item */
function render(row, item) {
	if (!item) return;
	row.title = "";
	row.classList.toggle("group", !!item.group);
	row.style.setProperty("--depth", String(item.depth ?? 0));
	const marks = (item.badges ?? []).map(([text, kind, about]) => badge(text, kind, about));
	fill(row, h("span", { class: "row-label", title: item.title }, item.label), ...marks);
}

/** Creates the view of a panel with a list, whose open item is shown in the columns. @template T @param {Context} context @param {ListPanel<T>} panel @returns {View} */
export function listPanel(context, panel) {
	const session = context.session.value;
	const main = div("main-inner");
	const side = div("side-inner");
	if (!session) return { main };
	const scope = new Scope();
	let detail = new Scope();
	let shown = "";
	/** @type {(() => void)|void} */
	let primary;
	const names = nameList({ label: panel.id, placeholder: `filter ${panel.id}`, onOpen: ({ key }) => go(panel.id, ...(panel.place?.(key) ?? [key])), none: () => panel.none(session),
		onToggle: ({ key }) => {
			panel.toggle?.(key);
			names.update(panel.items(session));
		} });
	const show = () => {
		if (route.value.panel !== panel.id) return;
		const { key, thing, version } = panel.find(session, route.value.rest);
		names.select(key);
		const now = JSON.stringify([key, !!thing, version]);
		if (now === shown) return;
		shown = now;
		detail.close();
		detail = new Scope();
		fill(main, empty(...panel.hint));
		fill(side);
		primary = thing === undefined ? undefined : panel.show({ context, session, main, side, scope: detail }, thing);
	};
	for (const signal of panel.watch(session)) {
		scope.add(signal.subscribe(() => {
			names.update(panel.items(session));
			show();
		}));
	}
	names.update(panel.items(session));
	return {
		list: names.element, main, side, route: show, primary: () => primary?.(),
		close() {
			detail.close();
			scope.close();
		},
	};
}
