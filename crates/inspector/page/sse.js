// A reader of event streams.

/** Splits a stream of text into events and returns their `data`. Comments and other fields are skipped. */
export class SseParser {
	constructor() {
		this.rest = "";
		/** @type {string[]} */
		this.data = [];
	}

	/** Takes a piece of the stream and returns the data of the events that it completes. @param {string} piece @returns {string[]} */
	push(piece) {
		const events = [];
		const text = this.rest + piece;
		let from = 0;
		for (;;) {
			const end = lineEnd(text, from);
			if (!end) break;
			const line = text.slice(from, end.at);
			from = end.next;
			if (line === "") {
				if (this.data.length) events.push(this.data.join("\n"));
				this.data = [];
			} else if (line === "data" || line.startsWith("data:")) {
				const value = line.slice(5);
				this.data.push(value.startsWith(" ") ? value.slice(1) : value);
			}
		}
		this.rest = text.slice(from);
		return events;
	}
}

/** @param {string} text @param {number} from */
function lineEnd(text, from) {
	for (let at = from; at < text.length; at++) {
		const c = text.charCodeAt(at);
		if (c === 10) return { at, next: at + 1 };
		// A carriage return at the end of a piece may be half of a line end.
		if (c === 13) return at + 1 === text.length ? null : { at, next: text.charCodeAt(at + 1) === 10 ? at + 2 : at + 1 };
	}
	return null;
}

/** Reads a response as an event stream. @param {Response} response @returns {AsyncGenerator<string>} */
export async function* events(response) {
	if (!response.body) return;
	const reader = response.body.getReader();
	const decoder = new TextDecoder();
	const parser = new SseParser();
	try {
		for (;;) {
			const { done, value } = await reader.read();
			if (done) return;
			yield* parser.push(decoder.decode(value, { stream: true }));
		}
	} finally {
		reader.cancel().catch(() => {});
	}
}
