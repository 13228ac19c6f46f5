// Values that can be observed, and values that outlive a reload.

/** A value with subscribers. @template T */
export class Signal {
	/** @param {T} value */
	constructor(value) {
		this.current = value;
		/** @type {Set<(value: T) => void>} */
		this.subscribers = new Set();
	}

	get value() {
		return this.current;
	}

	set value(value) {
		if (value === this.current) return;
		this.current = value;
		this.notify();
	}

	notify() {
		for (const subscriber of [...this.subscribers]) subscriber(this.current);
	}

	/** Calls a function at each change, and returns a function that ends this. @param {(value: T) => void} subscriber */
	subscribe(subscriber) {
		this.subscribers.add(subscriber);
		return () => { this.subscribers.delete(subscriber); };
	}
}

/** A list of things to end when a view closes. */
export class Scope {
	constructor() {
		/** @type {(() => void)[]} */
		this.ends = [];
	}

	/** @param {...(() => void)} ends */
	add(...ends) {
		this.ends.push(...ends);
	}

	/** Subscribes and calls the function with the current value. @template T @param {Signal<T>} signal @param {(value: T) => void} subscriber */
	watch(signal, subscriber) {
		this.add(signal.subscribe(subscriber));
		subscriber(signal.value);
	}

	close() {
		for (const end of this.ends.splice(0)) end();
	}
}

/** A signal whose value is stored in the browser. @template T @param {string} name @param {T} initial @param {Storage} [storage] @returns {Signal<T>} */
export function stored(name, initial, storage = sessionStorage) {
	const key = `couplet.${name}`;
	let value = initial;
	try {
		const text = storage.getItem(key);
		if (text !== null) value = JSON.parse(text);
	} catch {
		// A value of another version is replaced.
	}
	const signal = new Signal(value);
	signal.subscribe((next) => {
		try {
			storage.setItem(key, JSON.stringify(next));
		} catch {
			// The storage is full or off: the value lives until the reload.
		}
	});
	return signal;
}

/** Returns a function that calls another at most once per frame. @param {() => void} draw */
export function perFrame(draw) {
	let waiting = false;
	return () => {
		if (waiting) return;
		waiting = true;
		// A hidden page has no frames.
		const later = document.hidden ? (/** @type {() => void} */ f) => { setTimeout(f, 250); } : requestAnimationFrame;
		later(() => {
			waiting = false;
			draw();
		});
	};
}

const PAUSE = 250;

/** Returns a function that calls another at once, or once more after the call that runs: a server may announce any number of changes. @param {() => unknown} run */
export function gently(run) {
	let running = false;
	let again = false;
	const start = async () => {
		running = true;
		do {
			again = false;
			await run();
			await new Promise((done) => { setTimeout(done, PAUSE); });
		} while (again);
		running = false;
	};
	return () => {
		if (running) again = true;
		else start();
	};
}
