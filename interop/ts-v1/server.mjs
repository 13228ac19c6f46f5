// The server of the interop suite, with v1 of the TypeScript SDK: `node server.mjs stdio` or `node server.mjs http <port>`.
//
// It looks at what arrives: a client that sends something else than the suite tells it to gets an error.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const text = text => ({ content: [{ type: 'text', text }] });

const form = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' } },
    required: ['name', 'age']
};

function build() {
    const server = new McpServer({ name: 'interop', version: '1.0.0' });

    const numbers = { description: 'Adds two integers.', inputSchema: { a: z.int(), b: z.int() }, outputSchema: { sum: z.int() } };
    server.registerTool('add', numbers, async ({ a, b }) => {
        assert.deepEqual([a, b], [2, 3]);
        const sum = { sum: a + b };
        return { ...text(JSON.stringify(sum)), structuredContent: sum };
    });

    const counting = { description: 'Counts, and tells how far it is.', inputSchema: { to: z.int() } };
    server.registerTool('count', counting, async ({ to }, { _meta, sendNotification }) => {
        assert.equal(to, 3);
        const progressToken = _meta?.progressToken;
        assert.notEqual(progressToken, undefined, 'nobody asked for progress');
        for (let n = 1; n <= to; n++) {
            const params = { progressToken, progress: n, total: to, message: `step ${n}` };
            await sendNotification({ method: 'notifications/progress', params });
        }
        return text(`counted to ${to}`);
    });

    server.registerTool('greet', { description: 'Asks for a name and greets.' }, async ({ requestId }) => {
        const question = { mode: 'form', message: 'Who are you?', requestedSchema: form };
        const answer = await server.server.elicitInput(question, { relatedRequestId: requestId });
        assert.deepEqual([answer.action, answer.content], ['accept', { name: 'Ada', age: 36 }]);
        return text(`Hello ${answer.content.name}, ${answer.content.age}`);
    });

    server.registerResource('greeting', 'interop://greeting', { description: 'A greeting.', mimeType: 'text/plain' }, uri => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'Hello from a resource' }]
    }));

    const explaining = { description: 'Asks for an explanation.', argsSchema: { topic: z.string() } };
    server.registerPrompt('explain', explaining, ({ topic }) => {
        assert.equal(topic, 'MCP');
        return { messages: [{ role: 'user', content: { type: 'text', text: `Explain ${topic}, please.` } }] };
    });
    return server;
}

const sessions = new Map();

async function handle(request, response) {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
        transport = new StreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
            onsessioninitialized: id => void sessions.set(id, transport),
            onsessionclosed: id => void sessions.delete(id)
        });
        await build().connect(transport);
    }
    await transport.handleRequest(request, response);
}

const [mode, port] = process.argv.slice(2);
if (mode === 'stdio') {
    await build().connect(new StdioServerTransport());
} else if (mode === 'http') {
    createServer(handle).listen(Number(port), '127.0.0.1');
} else {
    console.error('usage: server.mjs stdio | http <port>');
    process.exit(2);
}
