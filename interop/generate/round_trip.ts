// A round trip with generated clients: `GENERATE_SERVERS` has the command lines of the servers, `GENERATE_FOLDER` a
// folder that the server of files may write to.

import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Everything } from "./everything.js";
import { Filesystem, ToolError } from "./filesystem.js";
import { Sqlite } from "./sqlite.js";

const servers = JSON.parse(process.env["GENERATE_SERVERS"]!) as { [name: string]: [string, ...string[]] };

async function connect(name: string): Promise<Client> {
    const [command, ...args] = servers[name]!;
    const client = new Client({ name: "round-trip", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
    await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
    return client;
}

const everything = new Everything(await connect("everything"));
const echo = await everything.echo({ message: "hi" }, { timeout: 30_000 });
assert.deepEqual(echo.content, [{ type: "text", text: "Echo: hi" }]);
const weather = await everything.getStructuredContent({ location: "Chicago" });
assert.ok(weather.conditions.length > 0 && weather.humidity > 0);
assert.equal((await everything.promptArgsPrompt({ city: "Oslo" })).messages.length, 1);
assert.equal((await everything.readDynamicTextResource({ resourceId: "1" })).contents.length, 1);
await everything.client.close();

const files = new Filesystem(await connect("filesystem"));
const path = `${process.env["GENERATE_FOLDER"]}/typescript.txt`;
await files.writeFile({ path, content: "one\ntwo\n" });
assert.equal((await files.readTextFile({ path, head: 1 })).content.trimEnd(), "one");
await assert.rejects(files.readTextFile({ path: `${path}.missing` }), ToolError);
await files.client.close();

const sqlite = new Sqlite(await connect("sqlite"));
await sqlite.execute({ sql: "CREATE TABLE typescript (a, b)" });
await sqlite.execute({ sql: "INSERT INTO typescript VALUES (1, 'x')" });
const query = await sqlite.query({ sql: "SELECT * FROM typescript" });
assert.deepEqual([query.columns, query.rows], [["a", "b"], [[1, "x"]]]);
await sqlite.client.close();
