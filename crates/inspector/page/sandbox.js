// The frame between the inspector and a view: it has an origin of its own, embeds the view and forwards messages.

(() => {
	const RESERVED = "ui/notifications/sandbox-";
	/** @type {HTMLIFrameElement|null} */
	let view = null;
	const host = window.parent;
	// The page that embeds this one: `frame-ancestors` allows only the inspector.
	const origin = location.ancestorOrigins?.[0] ?? "*";

	/** @param {any} list */
	const sources = (list) => (Array.isArray(list) ? list : []).filter((one) => typeof one === "string" && /^(https?|wss?):\/\/(\*\.)?[\w.-]+(:\d+|:\*)?\/?$/.test(one)).join(" ");

	/** The policy of a view: nothing but what its server declared. @param {any} csp */
	const policy = (csp) => {
		const resources = sources(csp?.resourceDomains);
		return [
			"default-src 'none'",
			`script-src 'unsafe-inline' ${resources}`, `style-src 'unsafe-inline' ${resources}`,
			`img-src data: blob: ${resources}`, `media-src data: blob: ${resources}`, `font-src data: ${resources}`,
			`connect-src ${sources(csp?.connectDomains) || "'none'"}`,
			`frame-src ${sources(csp?.frameDomains) || "'none'"}`,
			`base-uri ${sources(csp?.baseUriDomains) || "'none'"}`, "form-action 'none'", "object-src 'none'",
		].join("; ");
	};

	/** @param {any} params */
	const show = (params) => {
		view?.remove();
		view = document.createElement("iframe");
		view.setAttribute("sandbox", "allow-scripts");
		view.setAttribute("referrerpolicy", "no-referrer");
		const content = policy(params.csp).replaceAll('"', "");
		view.srcdoc = `<!doctype html><meta http-equiv="Content-Security-Policy" content="${content}">${String(params.html ?? "")}`;
		document.body.append(view);
	};

	addEventListener("message", (event) => {
		const message = event.data;
		if (!message || message.jsonrpc !== "2.0") return;
		const reserved = typeof message.method === "string" && message.method.startsWith(RESERVED);
		if (event.source === host && (origin === "*" || event.origin === origin)) {
			if (message.method === `${RESERVED}resource-ready`) show(message.params ?? {});
			else if (!reserved) view?.contentWindow?.postMessage(message, "*");
		} else if (view && event.source === view.contentWindow && !reserved) host.postMessage(message, origin);
	});

	host.postMessage({ jsonrpc: "2.0", method: `${RESERVED}proxy-ready`, params: {} }, origin);
})();
