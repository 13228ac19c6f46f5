// The client of the interop suite, with v2 of the TypeScript SDK: `node client.mjs <revision> http <url>` or
// `node client.mjs <revision> stdio <program> [argument..]`, or `node client.mjs <revision> rolled|killed <url> <name>
// <seconds>` while replicas of the server come and go.
//
// The revision may be `auto`. The program prints the one that was agreed on, and a line for each step that went as it
// should.

import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Run, limit } from './rolling.mjs';
import { wantedScript } from './script.mjs';
import { answers, stepsOf } from './steps.mjs';

const [revision, mode, target, ...rest] = process.argv.slice(2);
const run = new Run(mode, ...rest);
const script = wantedScript(run);
const answer = script ?? answers(run);

// This client begins with one revision where there is a handshake.
const modes = { auto: 'auto', '2025-11-25': 'legacy' };
let transport, client;
let updated = () => {};

async function connect() {
    transport =
        mode === 'stdio'
            ? new StdioClientTransport({ command: target, args: rest })
            : new StreamableHTTPClientTransport(new URL(target));
    client = new Client(
        { name: 'interop', version: '1.0.0' },
        {
            capabilities: { elicitation: { form: {} }, sampling: {} },
            versionNegotiation: { mode: modes[revision] ?? { pin: revision } }
        }
    );
    client.setRequestHandler('elicitation/create', ({ params }) => answer.elicit(params));
    client.setRequestHandler('sampling/createMessage', ({ params }) => answer.sample(params));
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => updated(params.uri));
    await client.connect(transport, limit);
    if (mode === 'stdio') {
        oneByOne(transport);
    }
    console.log(`revision ${client.getNegotiatedProtocolVersion()}`);
    if (script === undefined) {
        assert.equal(client.getServerVersion().name, 'interop');
    }
}

async function close() {
    if (transport.sessionId) {
        await transport.terminateSession();
    }
    await client.close();
}

function call(name, args = {}, options = {}) {
    return client.callTool({ name, arguments: args }, { ...limit, ...options });
}

async function subscribe(uri, heard) {
    updated = heard;
    if (client.getNegotiatedProtocolVersion() === '2025-11-25') {
        await client.subscribeResource({ uri }, limit);
        return () => client.unsubscribeResource({ uri }, limit);
    }
    const subscription = await client.listen({ resourceSubscriptions: [uri] }, limit);
    assert.deepEqual(subscription.honoredFilter.resourceSubscriptions, [uri]);
    return () => subscription.close();
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

const { steps } = stepsOf(run, () => client, call, subscribe);
const sdk = { client: () => client, call, subscribe };
if (script === undefined) {
    await run.go(connect, close, steps);
} else if (run.isRepeated) {
    await run.go(connect, close, script.steps(sdk));
} else {
    await connect();
    process.exitCode = (await script.play(sdk)) > 0 ? 1 : 0;
    await close();
}
