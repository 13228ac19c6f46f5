// A script of steps with the servers that people use, for each client that has the methods of the TypeScript SDK:
// `INTEROP_SCRIPT` names its file. A step that fails does not end the program: each of them is reported.

import { readFileSync } from 'node:fs';
import { limit } from './rolling.mjs';

// The script that is wanted, if one is.
export function wantedScript() {
    const path = process.env.INTEROP_SCRIPT;
    return path === undefined ? undefined : new Script(JSON.parse(readFileSync(path, 'utf8')));
}

class Script {
    constructor(steps) {
        Object.assign(this, { steps, step: {}, asked: [] });
    }

    // The answer to a form.
    elicit({ message }) {
        this.asked.push(message);
        return { action: 'accept', content: this.step.answers };
    }

    // The message of a model.
    sample({ messages }) {
        const [{ content }] = messages;
        this.asked.push((Array.isArray(content) ? content[0] : content).text);
        return { model: 'interop-model', role: 'assistant', content: { type: 'text', text: this.step.sample } };
    }

    // Does all steps; returns how many have failed. `call(name, args, options)` calls a tool.
    async play(client, call) {
        let failed = 0;
        for (const step of this.steps) {
            Object.assign(this, { step, asked: [] });
            try {
                const said = await perform(client, call, step);
                const missing = step.says.filter(words => !said.includes(words));
                if (missing.length > 0 || !this.asked.join('\n').includes(step.asks ?? '')) {
                    throw new Error(`${JSON.stringify({ missing, said, asked: this.asked })}`);
                }
                console.log(`ok ${step.step}`);
            } catch (error) {
                failed += 1;
                console.log(`failed ${step.step} ${error}`);
            }
        }
        return failed;
    }
}

// Does a step, and returns all that the server said.
async function perform(client, call, step) {
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
        case 'call': {
            const heard = [];
            const result = await call(step.name, step.arguments, { onprogress: ({ progress }) => heard.push(progress) });
            const said = result.content.filter(block => block.type === 'text').map(block => block.text).join('\n');
            if (result.isError || heard.length < (step.progress ?? 0)) {
                throw new Error(`progress ${heard}, ${said}`);
            }
            return said;
        }
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
        default:
            throw new Error(`there is no step ${step.do}`);
    }
}
