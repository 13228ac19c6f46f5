// The client of the interop suite, with v2 of the TypeScript SDK: `node client.mjs <revision> http <url>` or
// `node client.mjs <revision> stdio <program> [argument..]`, or `node client.mjs <revision> rolled|killed <url> <name>
// <seconds>` while replicas of the server come and go.
//
// The revision may be `auto`. The program prints the one that was agreed on, and a line for each step that went as it
// should.

import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Rolling, limit } from './rolling.mjs';

const [revision, mode, target, ...rest] = process.argv.slice(2);
const rolling = ['rolled', 'killed'].includes(mode) ? new Rolling(mode, ...rest) : undefined;

// This client begins with one revision where there is a handshake.
const modes = { auto: 'auto', '2025-11-25': 'legacy' };
let transport, client;

async function connect() {
    transport =
        mode === 'stdio'
            ? new StdioClientTransport({ command: target, args: rest })
            : new StreamableHTTPClientTransport(new URL(target));
    client = new Client(
        { name: 'interop', version: '1.0.0' },
        {
            capabilities: { elicitation: { form: {} } },
            versionNegotiation: { mode: modes[revision] ?? { pin: revision } }
        }
    );
    client.setRequestHandler('elicitation/create', answer);
    await client.connect(transport, limit);
    if (mode === 'stdio') {
        oneByOne(transport);
    }
    console.log(`revision ${client.getNegotiatedProtocolVersion()}`);
    assert.equal(client.getServerVersion().name, 'interop');
}

async function close() {
    if (transport.sessionId) {
        await transport.terminateSession();
    }
    await client.close();
}

function answer({ params }) {
    const { message, requestedSchema } = params;
    if (rolling && message.startsWith('Confirm ')) {
        return { action: 'accept', content: { id: rolling.asked(message) } };
    }
    const { name, age } = requestedSchema.properties;
    assert.deepEqual([message, name.type, age.type], ['Who are you?', 'string', 'integer']);
    return { action: 'accept', content: { name: 'Ada', age: 36 } };
}

function textOf(result) {
    if (result.isError) {
        throw new Error(result.content[0].text);
    }
    return result.content[0].text;
}

const steps = {
    async tools() {
        const { tools } = await client.listTools(undefined, limit);
        const expected = ['add', 'count', 'greet', ...Object.keys(rolling ? counted : {})].sort();
        assert.deepEqual(tools.map(tool => tool.name).sort(), expected);
        const add = tools.find(tool => tool.name === 'add');
        assert.equal(add.description, 'Adds two integers.');
        assert.equal(add.inputSchema.properties.a.type, 'integer');
    },

    async call() {
        const result = await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } }, limit);
        assert.deepEqual(JSON.parse(textOf(result)), { sum: 5 });
        assert.deepEqual(result.structuredContent, { sum: 5 });
    },

    async resource() {
        const { resources } = await client.listResources(undefined, limit);
        assert.deepEqual(resources.map(r => [r.uri, r.mimeType]), [['interop://greeting', 'text/plain']]);
        const { contents } = await client.readResource({ uri: 'interop://greeting' }, limit);
        assert.deepEqual(contents.map(c => c.text), ['Hello from a resource']);
    },

    async prompt() {
        const { prompts } = await client.listPrompts(undefined, limit);
        const listed = prompts.map(p => [p.name, p.arguments.map(a => [a.name, a.required])]);
        assert.deepEqual(listed, [['explain', [['topic', true]]]]);
        const { messages } = await client.getPrompt({ name: 'explain', arguments: { topic: 'MCP' } }, limit);
        assert.deepEqual(messages.map(m => [m.role, m.content.text]), [['user', 'Explain MCP, please.']]);
    },

    async progress() {
        const heard = [];
        const onprogress = ({ progress, total, message }) => heard.push([progress, total, message]);
        const result = await client.callTool({ name: 'count', arguments: { to: 3 } }, { ...limit, onprogress });
        assert.equal(textOf(result), 'counted to 3');
        assert.deepEqual(heard, [[1, 3, 'step 1'], [2, 3, 'step 2'], [3, 3, 'step 3']]);
    },

    async elicit() {
        const result = await client.callTool({ name: 'greet' }, limit);
        assert.equal(textOf(result), 'Hello Ada, 36');
    }
};

// The steps whose executions are counted.
const counted = {
    async mark() {
        const [id, heard] = [rolling.newId(), []];
        const onprogress = ({ progress, total, message }) => heard.push([progress, total, message]);
        const result = await client.callTool({ name: 'mark', arguments: { id } }, { ...limit, onprogress });
        assert.equal(textOf(result), `marked ${id}`);
        assert.deepEqual(heard, [1, 2, 3].map(n => [n, 3, `${id} ${n}`]));
        console.log(`answered ${id}`);
    },

    async confirm() {
        const id = rolling.newId();
        const result = await client.callTool({ name: 'confirm', arguments: { id } }, limit);
        assert.equal(textOf(result), `confirmed ${id}`);
        console.log(`answered ${id}`);
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

if (rolling) {
    await rolling.run(connect, close, { ...steps, ...counted });
} else {
    await connect();
    for (const [name, step] of Object.entries(steps)) {
        await step();
        console.log(`ok ${name}`);
    }
    await close();
}
