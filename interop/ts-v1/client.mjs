// The client of the interop suite, with v1 of the TypeScript SDK: `node client.mjs <revision> http <url>` or
// `node client.mjs <revision> stdio <program> [argument..]`.
//
// It prints the revision that was agreed on, and a line for each step that went as it should.

import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

// The revision is what this SDK begins with: it has no way to ask for another one.
const [, mode, target, ...rest] = process.argv.slice(2);
const transport =
    mode === 'http'
        ? new StreamableHTTPClientTransport(new URL(target))
        : new StdioClientTransport({ command: target, args: rest });

// Only one of the transports tells which revision it speaks, but both are told.
let revision;
const told = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = version => {
    revision = version;
    told?.(version);
};

const client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities: { elicitation: { form: {} } } });
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    const { name, age } = params.requestedSchema.properties;
    assert.deepEqual([params.message, name.type, age.type], ['Who are you?', 'string', 'integer']);
    return { action: 'accept', content: { name: 'Ada', age: 36 } };
});

const steps = {
    async tools() {
        const { tools } = await client.listTools();
        assert.deepEqual(tools.map(tool => tool.name).sort(), ['add', 'count', 'greet']);
        const add = tools.find(tool => tool.name === 'add');
        assert.equal(add.description, 'Adds two integers.');
        assert.equal(add.inputSchema.properties.a.type, 'integer');
    },

    async call() {
        const result = await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } });
        assert.ok(!result.isError, result.content[0].text);
        assert.deepEqual(result.structuredContent, { sum: 5 });
        assert.deepEqual(JSON.parse(result.content[0].text), { sum: 5 });
    },

    async resource() {
        const { resources } = await client.listResources();
        assert.deepEqual(resources.map(r => [r.uri, r.mimeType]), [['interop://greeting', 'text/plain']]);
        const { contents } = await client.readResource({ uri: 'interop://greeting' });
        assert.deepEqual(contents.map(c => c.text), ['Hello from a resource']);
    },

    async prompt() {
        const { prompts } = await client.listPrompts();
        const listed = prompts.map(p => [p.name, p.arguments.map(a => [a.name, a.required])]);
        assert.deepEqual(listed, [['explain', [['topic', true]]]]);
        const { messages } = await client.getPrompt({ name: 'explain', arguments: { topic: 'MCP' } });
        assert.deepEqual(messages.map(m => [m.role, m.content.text]), [['user', 'Explain MCP, please.']]);
    },

    async progress() {
        const heard = [];
        const onprogress = ({ progress, total, message }) => heard.push([progress, total, message]);
        const result = await client.callTool({ name: 'count', arguments: { to: 3 } }, undefined, { onprogress });
        assert.deepEqual([!!result.isError, result.content[0].text], [false, 'counted to 3']);
        assert.deepEqual(heard, [[1, 3, 'step 1'], [2, 3, 'step 2'], [3, 3, 'step 3']]);
    },

    async elicit() {
        const result = await client.callTool({ name: 'greet' });
        assert.deepEqual([!!result.isError, result.content[0].text], [false, 'Hello Ada, 36']);
    }
};

// Here a pipe brings progress and result at once, and the SDK forgets who waits for progress when it sees the result
// (modelcontextprotocol/typescript-sdk#2580). So it gets one message at a time.
function oneByOne(transport) {
    const deliver = transport.onmessage;
    let delivered = Promise.resolve();
    transport.onmessage = (...message) => {
        delivered = delivered.then(() => deliver(...message)).then(() => new Promise(setImmediate));
    };
}

await client.connect(transport);
if (mode === 'stdio') {
    oneByOne(transport);
}
console.log(`revision ${revision}`);
assert.equal(client.getServerVersion().name, 'interop');
for (const [name, step] of Object.entries(steps)) {
    await step();
    console.log(`ok ${name}`);
}
if (mode === 'http') {
    await transport.terminateSession();
}
await client.close();
