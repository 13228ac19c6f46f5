// Types that several modules share. This module has no code.

/**
 * @typedef {object} Features
 * @property {boolean} [feed]
 * @property {boolean} [lint]
 * @property {boolean} [bench]
 * @property {boolean} [compare]
 * @property {boolean} [validate]
 * @property {boolean} [known]
 * @property {boolean} [files]
 */

/**
 * @typedef {object} Config
 * @property {"inspect"|"endpoint"} mode
 * @property {string} version
 * @property {string} [mcp]
 * @property {string} [frames]
 * @property {string[]} revisions
 * @property {Features} features
 */

/**
 * @typedef {object} Target
 * @property {string} id
 * @property {string} name
 * @property {string} target
 * @property {"command"|"url"|"recording"|"tap"|"endpoint"} kind
 * @property {"connecting"|"connected"|"reconnecting"|"ended"|"failed"|"login"} state
 * @property {string} detail
 * @property {string|null} revision
 * @property {string} asked
 * @property {{name: string, version: string, title?: string}|null} server
 * @property {string} transport
 * @property {number|null} latency_ms
 * @property {number|null} retry_ms
 * @property {any} capabilities
 * @property {string|null} instructions
 */

/**
 * @typedef {object} FeedEvent
 * @property {number} seq
 * @property {number} t
 * @property {string} target
 * @property {"message"|"state"|"stderr"|"http"|"lost"} kind
 * @property {"out"|"in"} [dir]
 * @property {number} [size]
 * @property {string} [text]
 * @property {boolean} [cut]
 * @property {Target} [state]
 * @property {string} [method]
 * @property {string} [url]
 * @property {number} [status]
 * @property {number} [ms]
 * @property {number} [count]
 */

/**
 * @typedef {object} Tool
 * @property {string} name
 * @property {string} [title]
 * @property {string} [description]
 * @property {any} inputSchema
 * @property {any} [outputSchema]
 * @property {any} [annotations]
 * @property {any} [execution]
 * @property {any} [_meta]
 */

/**
 * @typedef {object} Resource
 * @property {string} uri
 * @property {string} name
 * @property {string} [title]
 * @property {string} [description]
 * @property {string} [mimeType]
 * @property {number} [size]
 */

/**
 * @typedef {object} Template
 * @property {string} uriTemplate
 * @property {string} name
 * @property {string} [title]
 * @property {string} [description]
 * @property {string} [mimeType]
 */

/**
 * @typedef {object} Prompt
 * @property {string} name
 * @property {string} [title]
 * @property {string} [description]
 * @property {{name: string, title?: string, description?: string, required?: boolean}[]} [arguments]
 */

/** @typedef {{path: string, severity: "error"|"warning"|"note", message: string}} Finding */

/**
 * A place in the page: `#/tools/echo` is the panel `tools` with the rest `["echo"]`.
 * @typedef {{panel: string, rest: string[]}} Route
 */

/**
 * What a panel shows: in the list column, the main column and the side column.
 * @typedef {object} View
 * @property {HTMLElement} [list]
 * @property {HTMLElement} main
 * @property {HTMLElement} [side]
 * @property {(route: Route) => void} [route]
 * @property {() => void} [close]
 * @property {() => void} [primary]
 */

/**
 * @typedef {object} Panel
 * @property {string} id
 * @property {string} title
 * @property {(context: import("./context.js").Context) => View} open
 * @property {(session: import("./session.js").Session) => number|string|null} [count]
 * @property {(context: import("./context.js").Context) => boolean} [offered]
 */

export {};
