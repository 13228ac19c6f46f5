// Requests to the inspector's own server.

import { events } from "./sse.js";

const TOKEN = "couplet.token";
const BEARER = "couplet.bearer";

/** Takes the token out of the address, so that it is neither shown nor bookmarked. */
export function takeToken() {
	const match = /^#token=([^&]+)&?(.*)$/.exec(location.hash);
	if (!match) return;
	sessionStorage.setItem(TOKEN, decodeURIComponent(match[1]));
	history.replaceState(null, "", `${location.pathname}${location.search}#${match[2]}`);
}

export const hasToken = () => sessionStorage.getItem(TOKEN) !== null;

/** The `Authorization` of requests: the inspector's token, or the user's own in endpoint mode. @returns {Record<string, string>} */
export function authorization() {
	const token = sessionStorage.getItem(TOKEN) ?? sessionStorage.getItem(BEARER);
	return token ? { Authorization: `Bearer ${token}` } : {};
}

/** @param {string} token */
export function setBearer(token) {
	if (token) sessionStorage.setItem(BEARER, token);
	else sessionStorage.removeItem(BEARER);
}

export const hasBearer = () => sessionStorage.getItem(BEARER) !== null;

/** An error answer, whose message is a sentence for the user. */
export class ApiError extends Error {
	/** @param {string} message @param {number} status */
	constructor(message, status) {
		super(message);
		this.status = status;
	}
}

/** @param {string} path @param {RequestInit} [init] */
async function send(path, init) {
	const headers = { ...authorization(), ...(init?.body ? { "Content-Type": "application/json" } : {}) };
	let response;
	try {
		response = await fetch(path, { ...init, headers });
	} catch (error) {
		if (init?.signal?.aborted) throw error;
		throw new ApiError("the inspector is not running any more: start it again", 0);
	}
	if (response.ok) return response;
	const text = await response.text();
	let sentence = `the inspector answered with status ${response.status}`;
	if (response.status === 401) sentence = "the token is missing or wrong: open the address that `couplet inspect` printed";
	try {
		sentence = JSON.parse(text).error ?? sentence;
	} catch {
		// The status says it.
	}
	throw new ApiError(sentence, response.status);
}

/** @param {string} path @returns {Promise<any>} */
export const get = async (path) => (await send(path)).json();

/** @param {string} path @returns {Promise<string>} */
export const getText = async (path) => (await send(path)).text();

/** @param {string} path @returns {Promise<Blob>} */
export const getBlob = async (path) => (await send(path)).blob();

/** @param {string} path @param {any} [body] @returns {Promise<any>} */
export const post = async (path, body) => (await send(path, { method: "POST", body: JSON.stringify(body ?? {}) })).json();

/** @param {string} path */
export const remove = (path) => send(path, { method: "DELETE" });

/** Reads an event stream of JSON values. @param {string} path @param {RequestInit} [init] @returns {AsyncGenerator<any>} */
export async function* stream(path, init) {
	for await (const data of events(await send(path, init))) yield JSON.parse(data);
}
