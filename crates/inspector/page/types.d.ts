// Types that the modules share, for the type checker only: the page does not load this file.

interface Features {
  feed?: boolean;
  lint?: boolean;
  bench?: boolean;
  compare?: boolean;
  validate?: boolean;
  known?: boolean;
  files?: boolean;
}

interface Config {
  mode: "inspect"|"endpoint";
  version: string;
  mcp?: string;
  frames?: string;
  revisions: string[];
  features: Features;
}

interface Target {
  id: string;
  name: string;
  target: string;
  kind: "command"|"url"|"recording"|"tap"|"endpoint";
  state: "connecting"|"connected"|"reconnecting"|"ended"|"failed"|"login";
  detail: string;
  revision: string|null;
  asked: string;
  server: {name: string, version: string, title?: string}|null;
  transport: string;
  latency_ms: number|null;
  retry_ms: number|null;
  capabilities: any;
  instructions: string|null;
  /** Names of the headers that the user has set. */
  headers?: string[];
  /** Whether requests have the token of a login. */
  has_login?: boolean;
}

interface FeedEvent {
  seq: number;
  t: number;
  target: string;
  kind: "message"|"state"|"stderr"|"http"|"lost";
  dir?: "out"|"in";
  size?: number;
  text?: string;
  cut?: boolean;
  state?: Target;
  method?: string;
  url?: string;
  status?: number;
  ms?: number;
  count?: number;
}

interface Tool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: any;
  outputSchema?: any;
  annotations?: any;
  execution?: any;
  _meta?: any;
}

interface Resource {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
}

interface Template {
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
}

interface Prompt {
  name: string;
  title?: string;
  description?: string;
  arguments?: {name: string, title?: string, description?: string, required?: boolean}[];
}

interface View {
  list?: HTMLElement;
  main: HTMLElement;
  side?: HTMLElement;
  route?: (route: Route) => void;
  close?: () => void;
  primary?: () => void;
}

interface Panel {
  id: string;
  title: string;
  open: (context: Context) => View;
  count?: (session: Session) => number|string|null;
  offered?: (context: Context) => boolean;
}

/** A place in the page: `#/tools/echo` is the panel `tools` with the rest `["echo"]`. */
type Route = { panel: string; rest: string[]; target?: string };

interface Saved {
  target: string;
  tool: string;
  name: string;
  /** The arguments, as JSON text. */
  text: string;
  expect: "ok"|"error";
  /** Expected values as JSON text, by JSON pointer into the result. */
  pointers: Record<string, string>;
  /** Whether the whole result is compared with a snapshot. */
  snapshot: boolean;
}

interface Entry {
  seq: number;
  /** Milliseconds since the epoch. */
  t: number;
  target: string;
  kind: "message"|"stderr"|"http"|"state"|"lost";
  what: "request"|"answer"|"notice"|"batch"|"other";
  dir: "out"|"in";
  /** The method; of an answer, that of its request. */
  method: string;
  /** The tool, prompt, resource or log line. */
  name: string;
  /** The beginning of the arguments. */
  args: string;
  /** The id as JSON text. */
  id: string;
  /** `ok`, `error`, `pending`, `cancelled`, `input` or nothing. */
  status: string;
  duration: number|null;
  size: number;
  text: string;
  cut: boolean;
  pair: Entry|null;
  /** The revision that a message was sent in; empty if it is not known. */
  revision: string;
}

interface Item {
  key: string;
  label: string;
  /** Shown when the pointer rests on the row. */
  title?: string;
  /** Text that the filter searches, besides the label. */
  find?: string;
  /** Text, kind and explanation. */
  badges?: [string, string, string?][];
  depth?: number;
  /** A heading, which has no detail. */
  group?: boolean;
}

interface Options {
  signal?: AbortSignal;
  onNotification?: (notification: any) => void;
  /** Answers a round's requests. */
  onInput?: (requests: Record<string, any>) => Promise<Record<string, any>>;
  /** Declares that the answer may be a task. */
  task?: boolean;
  progress?: boolean;
  headers?: Record<string, string>;
}

interface TaskRecord {
  id: string;
  tool: string;
  status: string;
  /** The last answer. */
  task: any;
  /** The last answer as sent. */
  text: string;
  started: number;
  life: {t: number, status: string, message: string}[];
  error: string;
}

interface TreeOptions {
  /** Levels that are open at first. */
  open?: number;
  /** Classes of rows, by pointer. */
  marks?: Map<string, string>;
  /** Texts at rows, by pointer. */
  notes?: Map<string, string>;
}

interface ListOptions {
  rowHeight: number;
  label: string;
  /** Fills a row, which may have been another before. */
  render: (row: HTMLElement, index: number) => void;
  /** Called when the selection moves. */
  onSelect?: (index: number) => void;
  /** Called for Enter and a click. */
  onOpen?: (index: number) => void;
  /** Whether the list stays at its end. */
  follow?: boolean;
}

/** What a detail of a panel is shown with. */
interface Detail {
  context: Context;
  session: Session;
  main: HTMLElement;
  side: HTMLElement;
  scope: import("./store.js").Scope;
}

/** A panel with a list, whose open item is shown in the columns. */
interface ListPanel<T> {
  id: string;
  /** The address of a row's key. */
  place?: (key: string) => string[];
  watch: (session: Session) => Signal<any>[];
  items: (session: Session) => Item[];
  /** Opens or closes a heading. */
  toggle?: (key: string) => void;
  /** What the list shows if it is empty. */
  none: (session: Session) => HTMLElement;
  /** The open item; it is shown anew when its version changes. */
  find: (session: Session, rest: string[]) => { key: string; thing: T | undefined; version?: unknown };
  hint: [string, string];
  /** Shows an item and returns what Ctrl+Enter does. */
  show: (place: Detail, thing: T) => (() => void) | void;
}

type Finding = { path: string; severity: "error" | "warning" | "note"; message: string };
type Call = import("./call.js").Call;
type Context = import("./context.js").Context;
type Draft = import("./draft.js").Draft;
type Events = import("./events.js").Events;
type JsonNode = import("./json.js").JsonNode;
type ListName = import("./session.js").ListName;
type Session = import("./session.js").Session;
type Shell = import("./shell.js").Shell;
type Signal<T> = import("./store.js").Signal<T>;
type Question = {requests: Record<string, any>, done: (responses: Record<string, any>) => void, fail: (error: Error) => void};
/** A request; `schema` is that of its tool, `result` the last one. */
type Asked = {method: string, params: any, text: string, schema?: any, result?: any};
type DiffLine = {kind: "same"|"added"|"removed", text: string};
type Child = Node|string|number|null|undefined|false|(Node|string|number|null|undefined|false)[];
type Path = (string|number)[];
type Field = {element: HTMLElement, control: HTMLElement, sync: () => void};
type Place = {draft: Draft, path: Path, required: boolean, schema: any, id: string, nullable: boolean};
type Test = (entry: Entry) => boolean;
type Answer = {result: any, text: string, ms: number, rounds: number};
type Command = {label: string, kind: string, about?: string, run: () => void};
type Schema = any;
type Say = (message: string) => void;
type Problem = {path: string, message: string};
type Run = {root: Schema, problems: Problem[], depth: number};
type LogLine = {t: number, level: string, logger: string, text: string, seq: number, data?: any};
/** A finished call that a reload finds again: arguments and answer as text. */
type Past = {args: string, text: string, ms: number, started: number};
type Root = {uri: string, name?: string};
