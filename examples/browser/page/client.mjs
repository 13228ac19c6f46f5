// A client of the stateless revision for a browser: each call is one request, with `fetch` and nothing else.

const VERSION = "2026-07-28";

export class McpClient {
  #url;
  #last = 0;

  constructor(url) {
    this.#url = url;
  }

  /** Calls a tool, and returns its result. */
  callTool(name, args) {
    return this.#request("tools/call", name, { name, arguments: args });
  }

  async #request(method, name, params) {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": VERSION,
      "io.modelcontextprotocol/clientInfo": { name: "page", version: "1.0.0" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const id = ++this.#last;
    const response = await fetch(this.#url, {
      method: "POST",
      headers: {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": VERSION,
        "mcp-method": method,
        "mcp-name": name,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } }),
    });
    const { result, error } = await answer(response, id);
    if (error) throw new Error(error.message);
    return result;
  }
}

/** The answer to a request: the body, or the last message of a stream of events. */
async function answer(response, id) {
  const text = await response.text();
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return JSON.parse(text);
  const data = text.split(/\r?\n\r?\n/).map((event) => event.replace(/^[^]*?^data: ?/m, ""));
  return data.filter(Boolean).map((message) => JSON.parse(message)).find((message) => message.id === id);
}
