// The server of the interop suite, with v1 of the TypeScript SDK: `node server.mjs stdio` or `node server.mjs http <port>`.
//
// It looks at what arrives: a client that sends something else than the suite tells it to gets an error.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ElicitResultSchema, SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const GREETING = 'interop://greeting';
const topics = ['MCP', 'tides'];
const text = text => ({ content: [{ type: 'text', text }] });

const form = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' } },
    required: ['name', 'age']
};

const confirmation = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };

// What became of the calls of `wait`, and the changes. There may be several processes of this server, which share a file.
const [mode, place] = process.argv.slice(2);
const ledger = mode === 'stdio' ? place : undefined;
const lines = [];
const note = line => (ledger ? appendFileSync(ledger, `${line}\n`) : void lines.push(line));
const noted = () => (ledger && existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n') : lines);
const changes = () => noted().filter(line => line === 'touched').length;
const taskStore = new InMemoryTaskStore();
const taskMessageQueue = new InMemoryTaskMessageQueue();

// The task behind `job`: it asks for the id.
async function work(taskId, id, { taskStore, sendRequest }) {
    const params = { mode: 'form', message: `Confirm ${id}`, requestedSchema: confirmation };
    const question = { method: 'elicitation/create', params };
    await taskStore.updateTaskStatus(taskId, 'input_required');
    const answer = await sendRequest(question, ElicitResultSchema, { relatedTask: { taskId } });
    assert.deepEqual([answer.action, answer.content], ['accept', { id }]);
    await taskStore.storeTaskResult(taskId, 'completed', text(`done ${id}`));
}

function build() {
    const capabilities = { resources: { subscribe: true }, tasks: { cancel: {}, requests: { tools: { call: {} } } } };
    const about = { name: 'interop', version: '1.0.0' };
    const server = new McpServer(about, { capabilities, taskStore, taskMessageQueue });
    let looking;
    server.server.onclose = () => clearInterval(looking);
    server.server.setRequestHandler(SubscribeRequestSchema, () => {
        let known = changes();
        const look = async () => {
            if (server.isConnected() && changes() > known) {
                known = changes();
                await server.server.sendResourceUpdated({ uri: GREETING });
            }
        };
        clearInterval(looking);
        looking = setInterval(look, 50).unref();
        return {};
    });
    server.server.setRequestHandler(UnsubscribeRequestSchema, () => {
        clearInterval(looking);
        return {};
    });

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

    const withId = description => ({ description, inputSchema: { id: z.string() } });
    server.registerTool('ask', withId('Asks the model of the client for the id.'), async ({ id }, { requestId }) => {
        const messages = [{ role: 'user', content: { type: 'text', text: `Say ${id}` } }];
        const answer = await server.server.createMessage({ messages, maxTokens: 100 }, { relatedRequestId: requestId });
        assert.equal(answer.content.text, id);
        return text(`said ${id}`);
    });

    server.registerTool('wait', withId('Waits to be cancelled.'), async ({ id }, { signal }) => {
        note(`running ${id}`);
        await sleep(30_000, undefined, { signal }).catch(() => {});
        note(`${signal.aborted ? 'cancelled' : 'ended'} ${id}`);
        return text(`waited ${id}`);
    });

    server.registerTool('waited', withId('Says what became of a call of `wait`.'), ({ id }) => {
        const states = ['cancelled', 'ended', 'running'];
        return text(states.find(state => noted().includes(`${state} ${id}`)) ?? 'unknown');
    });

    const stalling = withId('Reports a step at which the stream is cut, and two more afterwards.');
    server.registerTool('stall', stalling, async ({ id }, { _meta, sendNotification }) => {
        for (let n = 1; n <= 3; n++) {
            const message = n === 1 ? `cut ${id} here` : `${id} ${n}`;
            const params = { progressToken: _meta?.progressToken, progress: n, total: 3, message };
            await sendNotification({ method: 'notifications/progress', params });
            await sleep(400);
        }
        return text(`stalled ${id}`);
    });

    server.registerTool('touch', { description: 'Reports that the greeting has changed.' }, () => {
        note('touched');
        return text('touched');
    });

    const job = { ...withId('Asks for the id, as a task.'), execution: { taskSupport: 'required' } };
    server.experimental.tasks.registerToolTask('job', job, {
        async createTask({ id }, extra) {
            const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 100 });
            const failed = error => extra.taskStore.updateTaskStatus(task.taskId, 'failed', String(error));
            void work(task.taskId, id, extra).catch(failed);
            return { task };
        },
        getTask: (_, { taskId, taskStore }) => taskStore.getTask(taskId),
        getTaskResult: (_, { taskId, taskStore }) => taskStore.getTaskResult(taskId)
    });

    server.registerResource('greeting', 'interop://greeting', { description: 'A greeting.', mimeType: 'text/plain' }, uri => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'Hello from a resource' }]
    }));

    const topic = completable(z.string(), typed => topics.filter(topic => topic.startsWith(typed)));
    const explaining = { description: 'Asks for an explanation.', argsSchema: { topic } };
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

if (mode === 'stdio') {
    await build().connect(new StdioServerTransport());
} else if (mode === 'http') {
    createServer(handle).listen(Number(place), '127.0.0.1');
} else {
    console.error('usage: server.mjs stdio | http <port>');
    process.exit(2);
}
