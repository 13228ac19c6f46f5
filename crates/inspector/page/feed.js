// The stream of everything that happens, read from the inspector's server.

import { message } from "./mcp.js";
import { ApiError, stream } from "./api.js";

/** Reads the feed for ever and reconnects after failures. @param {(event: FeedEvent) => void} onEvent @param {(problem: string|null) => void} onProblem */
export async function readFeed(onEvent, onProblem) {
	let after = 0;
	let wait = 500;
	for (;;) {
		try {
			for await (const event of stream(`api/feed?after=${after}`)) {
				onProblem(null);
				wait = 500;
				if (typeof event.seq === "number") after = Math.max(after, event.seq);
				onEvent(event);
			}
			onProblem("the inspector closed the stream: reconnecting");
		} catch (error) {
			onProblem(message(error));
			if (error instanceof ApiError && error.status === 401) return;
		}
		await new Promise((done) => { setTimeout(done, wait); });
		wait = Math.min(wait * 2, 5000);
	}
}
