// The steps of the suite, for each client that has the methods of the TypeScript SDK.
//
// `call(name, args, options)` calls a tool, and `subscribe(uri, heard)` calls `heard` for each change of a resource until the
// function that it returns is called.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { limit } from './rolling.mjs';

const GREETING = 'interop://greeting';
// How long a change, or the note of a cancelled call, may take.
const LIMIT = 5_000;
// How long a server may take to begin a call: it may have to start.
const START = 20_000;

export function textOf(result) {
    if (result.isError) {
        throw new Error(result.content[0].text);
    }
    return result.content[0].text;
}

// The answers to what servers ask.
export function answers(run) {
    return {
        elicit({ message, requestedSchema }) {
            if (message.startsWith('Confirm ')) {
                return { action: 'accept', content: { id: run.asked(message) } };
            }
            const { name, age } = requestedSchema.properties;
            assert.deepEqual([message, name.type, age.type], ['Who are you?', 'string', 'integer']);
            return { action: 'accept', content: { name: 'Ada', age: 36 } };
        },

        sample({ messages }) {
            const [{ content }] = messages;
            const text = run.asked((Array.isArray(content) ? content[0] : content).text);
            return { model: 'interop-model', role: 'assistant', content: { type: 'text', text } };
        }
    };
}

// The steps that all clients have, and what calls a tool with an id of its own.
export function stepsOf(run, client, call, subscribe) {
    // A call with three reports of progress.
    async function reported(tool, args, messages) {
        const heard = [];
        const onprogress = ({ progress, total, message }) => heard.push([progress, total, message]);
        const text = textOf(await call(tool, args, { onprogress }));
        assert.deepEqual(heard, messages.map((message, at) => [at + 1, 3, message]));
        return text;
    }

    // A call with an id of its own.
    async function counted(tool, done, work = (tool, id) => call(tool, { id }).then(textOf)) {
        const id = run.newId();
        assert.equal(await work(tool, id), `${done} ${id}`);
        console.log(`answered ${id}`);
    }

    // Waits until the server says this of a call.
    async function until(id, state, limit = LIMIT) {
        const end = performance.now() + limit;
        while (textOf(await call('waited', { id })) !== state) {
            if (performance.now() > end) {
                throw new Error(`${id} is not ${state} within ${limit} ms`);
            }
            await sleep(50);
        }
    }

    const steps = {
        async tools() {
            const { tools } = await client().listTools(undefined, limit);
            const names = tools.map(tool => tool.name);
            assert.deepEqual(['add', 'count', 'greet'].filter(name => !names.includes(name)), []);
            const add = tools.find(tool => tool.name === 'add');
            assert.equal(add.description, 'Adds two integers.');
            assert.equal(add.inputSchema.properties.a.type, 'integer');
        },

        async call() {
            const result = await call('add', { a: 2, b: 3 });
            assert.deepEqual(JSON.parse(textOf(result)), { sum: 5 });
            assert.deepEqual(result.structuredContent, { sum: 5 });
        },

        async resource() {
            const { resources } = await client().listResources(undefined, limit);
            assert.deepEqual(resources.map(r => [r.uri, r.mimeType]), [[GREETING, 'text/plain']]);
            const { contents } = await client().readResource({ uri: GREETING }, limit);
            assert.deepEqual(contents.map(c => c.text), ['Hello from a resource']);
        },

        async prompt() {
            const { prompts } = await client().listPrompts(undefined, limit);
            const listed = prompts.map(p => [p.name, p.arguments.map(a => [a.name, a.required])]);
            assert.deepEqual(listed, [['explain', [['topic', true]]]]);
            const { messages } = await client().getPrompt({ name: 'explain', arguments: { topic: 'MCP' } }, limit);
            assert.deepEqual(messages.map(m => [m.role, m.content.text]), [['user', 'Explain MCP, please.']]);
        },

        async complete() {
            const params = { ref: { type: 'ref/prompt', name: 'explain' }, argument: { name: 'topic', value: 'M' } };
            const { completion } = await client().complete(params, limit);
            assert.deepEqual(completion.values, ['MCP']);
        },

        async progress() {
            const text = await reported('count', { to: 3 }, ['step 1', 'step 2', 'step 3']);
            assert.equal(text, 'counted to 3');
        },

        async elicit() {
            assert.equal(textOf(await call('greet')), 'Hello Ada, 36');
        },

        async sample() {
            await counted('ask', 'said');
        },

        async cancel() {
            const [id, stop] = [run.newId(), new AbortController()];
            const ended = call('wait', { id }, { signal: stop.signal }).then(textOf).catch(error => error);
            const early = ended.then(end => Promise.reject(new Error(`the call ended: ${end}`)));
            await Promise.race([until(id, 'running', START), early]).finally(() => stop.abort());
            early.catch(() => {});
            await until(id, 'cancelled');
        },

        async subscribe() {
            let heard = () => {};
            const change = new Promise(resolve => (heard = resolve));
            const stop = await subscribe(GREETING, heard);
            try {
                // A stream that is opened anew at this moment may miss a change.
                const touches = run.isRepeated ? 5 : 1;
                for (let rest = touches; rest > 0; rest--) {
                    textOf(await call('touch'));
                    const uri = await Promise.race([change, sleep(LIMIT / touches)]);
                    if (uri !== undefined) {
                        return assert.equal(uri, GREETING);
                    }
                }
                throw new Error('the change was not notified');
            } finally {
                await stop();
            }
        },

        async resume() {
            const all = id => [`cut ${id} here`, `${id} 2`, `${id} 3`];
            await counted('stall', 'stalled', (tool, id) => reported(tool, { id }, all(id)));
        },

        async mark() {
            const all = id => [1, 2, 3].map(n => `${id} ${n}`);
            await counted('mark', 'marked', (tool, id) => reported(tool, { id }, all(id)));
        },

        async confirm() {
            await counted('confirm', 'confirmed');
        }
    };
    return { steps, counted };
}
