// The list column of a panel: a filter and the names.

import { badge, empty, fill, h } from "./dom.js";
import { VirtualList } from "./vlist.js";

/**
 * @typedef {object} Item
 * @property {string} key
 * @property {string} label
 * @property {string} [title] Shown when the pointer rests on the row.
 * @property {string} [find] Text that the filter searches, besides the label.
 * @property {[string, string, string?][]} [badges] Text, kind and explanation.
 * @property {number} [depth]
 * @property {boolean} [group] A heading, which cannot be opened.
 */

/**
 * Creates a filterable list.
 * @param {{label: string, placeholder: string, onOpen: (item: Item) => void, none: () => HTMLElement}} options
 */
export function nameList(options) {
  /** @type {Item[]} */
  let all = [];
  /** @type {Item[]} */
  let shown = [];
  let current = "";
  const input = h("input", { type: "search", placeholder: options.placeholder, "aria-label": options.placeholder, class: "list-filter", spellcheck: false });
  const open = (/** @type {number} */ i) => { if (shown[i] && !shown[i].group) options.onOpen(shown[i]); };
  const list = new VirtualList({ rowHeight: 28, label: options.label, render: (row, i) => render(row, shown[i]), onOpen: open, onSelect: open });
  const none = h("div", { class: "list-none" });
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
  const element = h("div", { class: "list" }, input, list.element, none);
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

/** @param {HTMLElement} row @param {Item|undefined} item */
function render(row, item) {
  if (!item) return;
  row.title = "";
  row.classList.toggle("group", !!item.group);
  row.style.setProperty("--depth", String(item.depth ?? 0));
  const marks = (item.badges ?? []).map(([text, kind, about]) => badge(text, kind, about));
  fill(row, h("span", { class: "row-label", title: item.title }, item.label), ...marks);
}
