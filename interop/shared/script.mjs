// A script of steps with the servers that people use, for each client that has the methods of the TypeScript SDK:
// `INTEROP_SCRIPT` names its file. `UNIQUE` in a step stands for an id that no other call has. A client either does each step
// once, and reports those that fail, or repeats all of them as `Run` says.

import { AssertionError } from 'node:assert';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { limit } from './rolling.mjs';

// How long a call may take to begin, and a change to be notified.
const LIMIT = 6_000;
// How long a change takes after its cause.
const CHANGE = 300;
// How long there is a subscription: it may end with its replica.
const SUBSCRIPTION = 2_000;

// The script that is wanted, if one is.
export function wantedScript(run) {
    const path = process.env.INTEROP_SCRIPT;
    return path === undefined ? undefined : new Script(JSON.parse(readFileSync(path, 'utf8')), run);
}

class Script {
    constructor(list, run) {
        Object.assign(this, { list, run, step: {}, asked: [] });
    }

    // The answer to a form.
    elicit({ message }) {
        this.note(message);
        return { action: 'accept', content: this.step.answers };
    }

    // The message of a model.
    sample({ messages }) {
        const [{ content }] = messages;
        this.note((Array.isArray(content) ? content[0] : content).text);
        return { model: 'interop-model', role: 'assistant', content: { type: 'text', text: this.step.sample } };
    }

    note(message) {
        this.asked.push(message);
        if (this.step.asks?.includes(this.run.name) && !message.includes(this.run.name)) {
            // The SDK may swallow an exception.
            this.run.wrong ??= new AssertionError({ message: `the question for another client: ${message}` });
        }
    }

    // The steps by their names. `sdk` has `client()`, `call(name, args, options)`, `subscribe(uri, heard)` and, if there are
    // tasks, `task(name, args)`, which returns the text of the result.
    steps(sdk) {
        return Object.fromEntries(this.list.map(step => [step.step, () => this.one(step, sdk)]));
    }

    async one(template, sdk) {
        const step = JSON.parse(JSON.stringify(template).replaceAll('UNIQUE', this.run.newId()));
        Object.assign(this, { step, asked: [] });
        const said = await perform(step, sdk);
        const missing = step.says.filter(words => !said.includes(words));
        if (missing.length > 0 || !this.asked.join('\n').includes(step.asks ?? '')) {
            throw new AssertionError({ message: JSON.stringify({ missing, said, asked: this.asked }) });
        }
    }

    // Does all steps; returns how many have failed.
    async play(sdk) {
        let failed = 0;
        for (const [name, step] of Object.entries(this.steps(sdk))) {
            try {
                await step();
                console.log(`ok ${name}`);
            } catch (error) {
                failed += 1;
                console.log(`failed ${name} ${error}`);
            }
        }
        return failed;
    }
}

function said(result) {
    const text = result.content.filter(block => block.type === 'text').map(block => block.text).join('\n');
    if (result.isError) {
        throw new Error(text);
    }
    return text;
}

// Does a step, and returns all that the server said.
async function perform(step, sdk) {
    const client = sdk.client();
    switch (step.do) {
        case 'tools': {
            const names = [];
            let cursor;
            do {
                const page = await client.listTools(cursor === undefined ? undefined : { cursor }, limit);
                names.push(...page.tools.map(tool => tool.name));
                cursor = page.nextCursor;
            } while (cursor !== undefined);
            return names.join('\n');
        }
        case 'call':
            return call(step, sdk);
        case 'read':
            return (await client.readResource({ uri: step.uri }, limit)).contents.map(content => content.text).join('\n');
        case 'prompt': {
            const { messages } = await client.getPrompt({ name: step.name, arguments: step.arguments }, limit);
            return messages.map(message => message.content.text).join('\n');
        }
        case 'complete': {
            const ref = { type: 'ref/prompt', name: step.name };
            return (await client.complete({ ref, argument: step.argument }, limit)).completion.values.join('\n');
        }
        case 'cancel':
            return cancel(step, sdk);
        case 'subscribe':
            return subscribe(step, sdk);
        case 'task':
            return sdk.task(step.name, step.arguments);
        default:
            throw new Error(`there is no step ${step.do}`);
    }
}

async function call(step, sdk) {
    const heard = [];
    const onprogress = ({ progress }) => heard.push(progress);
    const text = said(await sdk.call(step.name, step.arguments, { onprogress }));
    if (heard.length < (step.progress ?? 0)) {
        throw new AssertionError({ message: `progress ${heard}` });
    }
    return text;
}

// Cancels a call when its first progress is heard.
async function cancel(step, sdk) {
    const stop = new AbortController();
    let heard;
    const began = new Promise(resolve => (heard = () => resolve(true)));
    const ended = sdk.call(step.name, step.arguments, { onprogress: heard, signal: stop.signal });
    const early = ended.then(said).then(text => Promise.reject(new Error(`the call ended: ${text}`)));
    early.catch(() => {});
    try {
        if (!(await Promise.race([began, early, sleep(LIMIT, false, { ref: false })]))) {
            throw new Error(`there was no progress within ${LIMIT} ms`);
        }
    } finally {
        stop.abort();
    }
    return '';
}

// Subscribes to a resource until a change is heard.
async function subscribe(step, sdk) {
    const end = performance.now() + LIMIT;
    while (performance.now() < end) {
        let heard;
        const change = new Promise(resolve => (heard = resolve));
        const stop = await sdk.subscribe(step.uri, heard);
        try {
            const uri = await changed(step, sdk, change);
            if (uri !== undefined) {
                return uri;
            }
        } finally {
            await stop();
        }
    }
    throw new Error(`no change was notified within ${LIMIT} ms`);
}

// Causes changes for a while: a load balancer chooses the replica that is asked for them.
async function changed(step, sdk, change) {
    const end = performance.now() + SUBSCRIPTION;
    while (performance.now() < end) {
        const hasBegun = said(await sdk.call(step.name, step.arguments)).includes(step.starts);
        const uri = await Promise.race([change, sleep(hasBegun ? CHANGE : 0)]);
        if (uri !== undefined) {
            return uri;
        }
    }
    return undefined;
}
