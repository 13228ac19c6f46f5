// URIs as folders: what they have in common is a row of its own.

/** A folder: its own part of the URI, its folders and its things. @template T @typedef {{name: string, folders: Map<string, Folder<T>>, things: T[]}} Folder */
/** A row: a folder with the beginning of its URIs, or a thing. @template T @typedef {{depth: number, label: string, prefix: string, thing?: T}} FolderRow */

/** The parts of a URI: scheme and authority, then each folder. @param {string} uri */
function parts(uri) {
	const [root = ""] = /^[a-z][\w+.-]*:(?:\/\/(?:[^/]*\/)?)?/i.exec(uri) ?? [];
	return [root, ...(uri.slice(root.length).match(/[^/]*\/(?=.)/g) ?? [])];
}

/** Makes rows of things; a folder with nothing but one folder is joined with it, and a closed one has no rows. @template T @param {T[]} things @param {(thing: T) => string} uri @param {Set<string>} closed @returns {FolderRow<T>[]} */
export function folders(things, uri, closed) {
	/** @type {Folder<T>} */
	const root = { name: "", folders: new Map(), things: [] };
	for (const thing of things) {
		let folder = root;
		for (const name of parts(uri(thing)).filter(Boolean)) {
			const next = folder.folders.get(name) ?? { name, folders: new Map(), things: [] };
			folder.folders.set(name, next);
			folder = next;
		}
		folder.things.push(thing);
	}
	/** @type {FolderRow<T>[]} */
	const rows = [];
	const add = (/** @type {Folder<T>} */ folder, /** @type {string} */ before, /** @type {number} */ depth) => {
		for (const thing of folder.things) rows.push({ depth, label: uri(thing).slice(before.length), prefix: before, thing });
		for (let one of [...folder.folders.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
			let label = one.name;
			while (!one.things.length && one.folders.size === 1) {
				[one] = one.folders.values();
				label += one.name;
			}
			const prefix = before + label;
			rows.push({ depth, label, prefix });
			if (!closed.has(prefix)) add(one, prefix, depth + 1);
		}
	};
	add(root, "", 0);
	return rows;
}
