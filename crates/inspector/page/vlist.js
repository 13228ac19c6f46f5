// A list of any length, of which only the visible rows are in the page.

import { h } from "./dom.js";
import { perFrame } from "./store.js";

let lists = 0;

/** A virtual list with one selected row. */
export class VirtualList {
	/** @param {ListOptions} options */
	constructor(options) {
		this.options = options;
		this.count = 0;
		this.selected = -1;
		this.id = `list${++lists}`;
		/** @type {Map<number, HTMLElement>} */
		this.rows = new Map();
		/** @type {HTMLElement[]} */
		this.spare = [];
		this.space = h("div", { class: "vlist-space", role: "presentation" });
		this.element = h("div", { class: "vlist", tabIndex: 0, role: "listbox", "aria-label": options.label }, this.space);
		this.following = !!options.follow;
		/** How far it was scrolled: an element that leaves the page loses its place. */
		this.top = 0;
		this.draw = perFrame(() => this.paint(false));
		this.element.addEventListener("scroll", () => {
			const { scrollTop, clientHeight, scrollHeight } = this.element;
			if (!clientHeight) return;
			this.top = scrollTop;
			if (options.follow) this.following = scrollTop + clientHeight >= scrollHeight - options.rowHeight;
			this.draw();
		}, { passive: true });
		this.element.addEventListener("keydown", (event) => this.key(event));
		this.element.addEventListener("click", (event) => this.click(event));
		new ResizeObserver(() => this.paint(false)).observe(this.element);
	}

	/** Takes a new number of rows and paints all anew. @param {number} count */
	update(count) {
		this.count = count;
		this.space.style.height = `${count * this.options.rowHeight}px`;
		if (this.selected >= count) this.selected = count - 1;
		if (this.following) this.element.scrollTop = this.element.scrollHeight;
		this.paint(true);
	}

	/** Goes to where it was before it left the page. */
	restore() {
		if (this.following) return;
		this.element.scrollTop = this.top;
		this.paint(false);
	}

	/** @param {boolean} again Whether rows that are shown already are filled again. */
	paint(again) {
		const { rowHeight, render } = this.options;
		const { scrollTop, clientHeight } = this.element;
		const from = Math.max(0, Math.floor(scrollTop / rowHeight) - 4);
		const to = Math.min(this.count, Math.ceil((scrollTop + clientHeight) / rowHeight) + 4);
		for (const [index, row] of this.rows) {
			if (index >= from && index < to) continue;
			this.rows.delete(index);
			row.remove();
			this.spare.push(row);
		}
		for (let index = from; index < to; index++) {
			let row = this.rows.get(index);
			const known = row !== undefined;
			if (!row) {
				row = this.spare.pop() ?? h("div", { class: "vrow", role: "option" });
				this.rows.set(index, row);
				row.dataset.index = String(index);
				row.id = `${this.id}-${index}`;
				row.style.transform = `translateY(${index * rowHeight}px)`;
				row.setAttribute("aria-posinset", String(index + 1));
				this.space.append(row);
			}
			if (again || !known) {
				row.setAttribute("aria-setsize", String(this.count));
				render(row, index);
			}
			const selected = index === this.selected;
			row.classList.toggle("selected", selected);
			row.setAttribute("aria-selected", String(selected));
		}
		if (this.selected >= 0 && this.rows.has(this.selected)) this.element.setAttribute("aria-activedescendant", `${this.id}-${this.selected}`);
		else this.element.removeAttribute("aria-activedescendant");
	}

	/** Selects a row and scrolls to it. @param {number} index @param {boolean} [notify] */
	select(index, notify = false) {
		const clamped = Math.min(Math.max(index, -1), this.count - 1);
		this.selected = clamped;
		if (clamped >= 0) this.reveal(clamped);
		this.paint(false);
		if (notify && clamped >= 0) this.options.onSelect?.(clamped);
	}

	/** @param {number} index */
	reveal(index) {
		const { rowHeight } = this.options;
		const { scrollTop, clientHeight } = this.element;
		const top = index * rowHeight;
		if (top < scrollTop) this.element.scrollTop = top;
		else if (top + rowHeight > scrollTop + clientHeight) this.element.scrollTop = top + rowHeight - clientHeight;
		if (index < this.count - 1) this.following = false;
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const page = Math.max(1, Math.floor(this.element.clientHeight / this.options.rowHeight) - 1);
		const to = {
			ArrowDown: this.selected + 1, j: this.selected + 1, ArrowUp: Math.max(0, this.selected - 1), k: Math.max(0, this.selected - 1),
			PageDown: this.selected + page, PageUp: Math.max(0, this.selected - page), Home: 0, End: this.count - 1,
		}[event.key];
		if (to !== undefined) {
			event.preventDefault();
			if (event.key === "End" && this.options.follow) this.following = true;
			this.select(to, true);
		} else if (event.key === "Enter" && this.selected >= 0) {
			event.preventDefault();
			this.options.onOpen?.(this.selected);
		}
	}

	/** @param {MouseEvent} event */
	click(event) {
		const row = /** @type {HTMLElement} */ (event.target).closest(".vrow");
		if (!(row instanceof HTMLElement) || /** @type {HTMLElement} */ (event.target).closest("a, button")) return;
		this.select(Number(row.dataset.index));
		this.options.onOpen?.(this.selected);
	}
}
