// The client of the interop suite, with v1 of the TypeScript SDK: `node client.mjs <revision> http <url>` or
// `node client.mjs <revision> stdio <program> [argument..]`, or `node client.mjs <revision> rolled|killed <url> <name>
// <seconds>` while replicas of the server come and go.
//
// It prints the revision that was agreed on, and a line for each step that went as it should.

import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
    CallToolResultSchema,
    CreateMessageRequestSchema,
    ElicitRequestSchema,
    ResourceUpdatedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js';
import { Run, limit } from './rolling.mjs';
import { wantedScript } from './script.mjs';
import { answers, stepsOf, textOf } from './steps.mjs';

// The revision is what this SDK begins with: it has no way to ask for another one.
const [, mode, target, ...rest] = process.argv.slice(2);
const run = new Run(mode, ...rest);
const script = wantedScript(run);
const answer = script ?? answers(run);

let transport, client, revision;
let updated = () => {};

async function connect() {
    transport =
        mode === 'stdio'
            ? new StdioClientTransport({ command: target, args: rest })
            : new StreamableHTTPClientTransport(new URL(target));
    // Only one of the transports tells which revision it speaks, but both are told.
    const told = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = version => {
        revision = version;
        told?.(version);
    };
    const capabilities = { elicitation: { form: {} }, sampling: {} };
    client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer.elicit(params));
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => answer.sample(params));
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => updated(params.uri));
    await client.connect(transport, limit);
    if (mode === 'stdio') {
        oneByOne(transport);
    }
    console.log(`revision ${revision}`);
    if (script === undefined) {
        assert.equal(client.getServerVersion().name, 'interop');
    }
}

async function close() {
    if (mode !== 'stdio') {
        await transport.terminateSession();
    }
    await client.close();
}

function call(name, args = {}, options = {}) {
    return client.callTool({ name, arguments: args }, undefined, { ...limit, ...options });
}

async function subscribe(uri, heard) {
    updated = heard;
    await client.subscribeResource({ uri }, limit);
    return () => client.unsubscribeResource({ uri }, limit);
}

async function task(name, args) {
    const options = { ...limit, task: { ttl: 60_000 } };
    const stream = client.experimental.tasks.callToolStream({ name, arguments: args }, CallToolResultSchema, options);
    const seen = [];
    for await (const message of stream) {
        seen.push(message.type);
        if (message.type === 'error') {
            throw message.error;
        } else if (message.type === 'result') {
            assert.deepEqual(seen.slice(0, 2), ['taskCreated', 'taskStatus']);
            return textOf(message.result);
        }
    }
    throw new Error('the task has no result');
}

// Here a pipe brings progress and result at once, and the SDK forgets who waits for progress when it sees the result
// (modelcontextprotocol/typescript-sdk#2580). So it gets one message at a time.
function oneByOne(transport) {
    const deliver = transport.onmessage;
    let delivered = Promise.resolve();
    transport.onmessage = (...message) => {
        delivered = delivered.then(() => deliver(...message)).then(() => new Promise(setImmediate));
    };
}

const { steps, counted } = stepsOf(run, () => client, call, subscribe);
const sdk = { client: () => client, call, subscribe, task };
const job = (name, id) => task(name, { id });
if (script === undefined) {
    await run.go(connect, close, { ...steps, task: () => counted('job', 'done', job) });
} else if (run.isRepeated) {
    await run.go(connect, close, script.steps(sdk));
} else {
    await connect();
    process.exitCode = (await script.play(sdk)) > 0 ? 1 : 0;
    await close();
}
