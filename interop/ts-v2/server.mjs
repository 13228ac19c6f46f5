// The server of the interop suite, with v2 of the TypeScript SDK: `node server.mjs stdio` or `node server.mjs http <port>`.
//
// It looks at what arrives: a client that sends something else than the suite tells it to gets an error.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import {
    McpServer,
    completable,
    createMcpHandler,
    inputRequired,
    inputResponse,
    isLegacyRequest
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const text = text => ({ content: [{ type: 'text', text }] });
const GREETING = 'interop://greeting';
const topics = ['MCP', 'tides'];
// What became of the calls of `wait`.
const calls = new Map();
const person = z.object({ name: z.string(), age: z.int() });

function build() {
    const capabilities = { resources: { subscribe: true } };
    const server = new McpServer({ name: 'interop', version: '1.0.0' }, { capabilities });
    let isSubscribed = false;
    server.server.setRequestHandler('resources/subscribe', ({ params }) => ((isSubscribed = params.uri === GREETING), {}));
    server.server.setRequestHandler('resources/unsubscribe', () => ((isSubscribed = false), {}));

    const numbers = {
        description: 'Adds two integers.',
        inputSchema: z.object({ a: z.int(), b: z.int() }),
        outputSchema: z.object({ sum: z.int() })
    };
    server.registerTool('add', numbers, async ({ a, b }) => {
        assert.deepEqual([a, b], [2, 3]);
        const sum = { sum: a + b };
        return { ...text(JSON.stringify(sum)), structuredContent: sum };
    });

    const counting = { description: 'Counts, and tells how far it is.', inputSchema: z.object({ to: z.int() }) };
    server.registerTool('count', counting, async ({ to }, { mcpReq }) => {
        assert.equal(to, 3);
        const progressToken = mcpReq._meta?.progressToken;
        assert.notEqual(progressToken, undefined, 'nobody asked for progress');
        for (let n = 1; n <= to; n++) {
            const params = { progressToken, progress: n, total: to, message: `step ${n}` };
            await mcpReq.notify({ method: 'notifications/progress', params });
        }
        return text(`counted to ${to}`);
    });

    server.registerTool('greet', { description: 'Asks for a name and greets.' }, async ({ mcpReq }) => {
        if (!mcpReq.inputResponses) {
            const question = inputRequired.elicit({ message: 'Who are you?', requestedSchema: person });
            return inputRequired({ inputRequests: { person: question } });
        }
        const answer = inputResponse(mcpReq.inputResponses, 'person');
        assert.deepEqual([answer.action, answer.content], ['accept', { name: 'Ada', age: 36 }]);
        return text(`Hello ${answer.content.name}, ${answer.content.age}`);
    });

    const withId = description => ({ description, inputSchema: z.object({ id: z.string() }) });
    server.registerTool('ask', withId('Asks the model of the client for the id.'), async ({ id }, { mcpReq }) => {
        if (!mcpReq.inputResponses) {
            const messages = [{ role: 'user', content: { type: 'text', text: `Say ${id}` } }];
            const question = inputRequired.createMessage({ messages, maxTokens: 100 });
            return inputRequired({ inputRequests: { model: question } });
        }
        const answer = inputResponse(mcpReq.inputResponses, 'model');
        assert.equal(answer.result.content.text, id);
        return text(`said ${id}`);
    });

    server.registerTool('wait', withId('Waits to be cancelled.'), async ({ id }, { mcpReq: { signal } }) => {
        calls.set(id, 'running');
        await sleep(30_000, undefined, { signal }).catch(() => {});
        calls.set(id, signal.aborted ? 'cancelled' : 'ended');
        return text(`waited ${id}`);
    });

    server.registerTool('waited', withId('Says what became of a call of `wait`.'), ({ id }) => text(calls.get(id) ?? 'unknown'));

    const stalling = withId('Reports a step at which the stream is cut, and two more afterwards.');
    server.registerTool('stall', stalling, async ({ id }, { mcpReq }) => {
        for (let n = 1; n <= 3; n++) {
            const message = n === 1 ? `cut ${id} here` : `${id} ${n}`;
            const params = { progressToken: mcpReq._meta?.progressToken, progress: n, total: 3, message };
            await mcpReq.notify({ method: 'notifications/progress', params });
            await sleep(400);
        }
        return text(`stalled ${id}`);
    });

    server.registerTool('touch', { description: 'Reports that the greeting has changed.' }, async () => {
        modern.notify.resourceUpdated(GREETING);
        // Over stdio the streams of a connection belong to its one server.
        if (isSubscribed || mode === 'stdio') {
            await server.server.sendResourceUpdated({ uri: GREETING });
        }
        return text('touched');
    });

    server.registerResource('greeting', 'interop://greeting', { description: 'A greeting.', mimeType: 'text/plain' }, uri => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'Hello from a resource' }]
    }));

    const topic = completable(z.string(), typed => topics.filter(topic => topic.startsWith(typed)));
    const explaining = { description: 'Asks for an explanation.', argsSchema: z.object({ topic }) };
    server.registerPrompt('explain', explaining, ({ topic }) => {
        assert.equal(topic, 'MCP');
        return { messages: [{ role: 'user', content: { type: 'text', text: `Explain ${topic}, please.` } }] };
    });
    return server;
}

const modern = createMcpHandler(build, { legacy: 'reject' });
const handleModern = toNodeHandler(modern);
const sessions = new Map();

async function legacy(request, response, body) {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
        transport = new NodeStreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
            onsessioninitialized: id => void sessions.set(id, transport),
            onsessionclosed: id => void sessions.delete(id)
        });
        await build().connect(transport);
    }
    await transport.handleRequest(request, response, body);
}

async function handle(request, response) {
    const probe = await toWebRequest(request);
    const body = request.method === 'POST' ? await probe.clone().json() : undefined;
    await ((await isLegacyRequest(probe)) ? legacy : handleModern)(request, response, body);
}

const [mode, port] = process.argv.slice(2);
if (mode === 'stdio') {
    serveStdio(build);
} else if (mode === 'http') {
    createServer(handle).listen(Number(port), '127.0.0.1');
} else {
    console.error('usage: server.mjs stdio | http <port>');
    process.exit(2);
}
