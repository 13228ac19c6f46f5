// How a client of the suite goes through its steps: once, or again and again while replicas of the server are rolled (SIGTERM)
// or killed (SIGKILL).
//
// A step that ends with a definite error is repeated, by the same client while replicas are rolled, and by a new one while
// they are killed. A wrong value ends the program at once, and so does a lost session while replicas are only rolled.

import { AssertionError } from 'node:assert';
import { setTimeout as sleep } from 'node:timers/promises';

// How often a step may fail in a row.
const ATTEMPTS = 20;
// How long a step may take. A replica may take the answer of one call with it, and not every SDK reports a 503.
const LIMIT = 8_000;
const PAUSE = 300;
// How long a client goes on after its time until it has done each step.
const MORE = 25_000;

// The options of every request: the driver's own limit comes first.
export const limit = { timeout: 2 * LIMIT };

class Timeout extends Error {}

async function limited(work) {
    const stop = new AbortController();
    const late = sleep(LIMIT, undefined, { signal: stop.signal }).then(() => {
        throw new Timeout(`no answer within ${LIMIT} ms`);
    });
    late.catch(() => {});
    try {
        return await Promise.race([work, late]);
    } finally {
        stop.abort();
    }
}

// One run: `name` makes the ids of calls unique. In the modes `rolled` and `killed` it is repeated.
export class Run {
    constructor(mode, name, seconds) {
        this.isKilled = mode === 'killed';
        this.isRepeated = this.isKilled || mode === 'rolled';
        this.name = this.isRepeated ? name : `node${process.pid}`;
        this.until = performance.now() + Number(seconds) * 1000;
        Object.assign(this, { calls: 0, at: 0, rounds: 0, attempts: 0, clients: 0 });
        Object.assign(this, { failures: 0, timeouts: 0, wrong: undefined });
    }

    newId() {
        this.calls += 1;
        return `${this.name}-${this.calls}`;
    }

    // The id that a server asks for: it has to be one of a call of this client.
    asked(message) {
        const [, name, number] = /^(?:Confirm|Say) (.*)-(\d+)$/.exec(message) ?? [];
        if (name === this.name && Number(number) <= this.calls) {
            return `${name}-${number}`;
        }
        // The SDK may swallow the exception.
        this.wrong ??= new AssertionError({ message: `the question for another client: ${message}` });
        throw this.wrong;
    }

    isOver() {
        const late = performance.now() - this.until;
        return this.wrong !== undefined || late >= (this.rounds > 0 ? 0 : MORE);
    }

    // Does something; returns whether it went well.
    async attempt(name, work) {
        try {
            await limited(work());
            this.attempts = 0;
            return true;
        } catch (error) {
            if (error instanceof AssertionError) {
                this.wrong ??= error;
                return false;
            }
            console.log(`failed ${name} ${error}`);
            this.failures += 1;
            this.attempts += 1;
            if (error instanceof Timeout) {
                this.timeouts += 1;
            }
            if (this.attempts > ATTEMPTS) {
                this.wrong ??= error;
            }
            await sleep(PAUSE);
            return false;
        }
    }

    // Goes through the steps that are named in the environment, or through all.
    async go(connect, close, steps) {
        const names = process.env.INTEROP_STEPS?.split(' ') ?? Object.keys(steps);
        const list = names.map(name => [name, steps[name] ?? (() => Promise.reject(new Error(`no step ${name}`)))]);
        await (this.isRepeated ? this.repeat(connect, close, list) : this.once(connect, close, list));
    }

    async once(connect, close, list) {
        await connect();
        for (const [name, step] of list) {
            await step();
            if (this.wrong !== undefined) {
                throw this.wrong;
            }
            console.log(`ok ${name}`);
        }
        await close();
    }

    async repeat(connect, close, list) {
        // What an SDK does in the background may fail as well.
        process.on('unhandledRejection', error => console.log(`unhandled ${error}`));
        while (!this.isOver()) {
            this.clients += 1;
            if (this.clients > 1 && !this.isKilled) {
                throw new Error('the session was lost');
            }
            if (!(await this.attempt('connect', connect))) {
                continue;
            }
            while (!this.isOver()) {
                const [name, step] = list[this.at % list.length];
                if (await this.attempt(name, step)) {
                    this.at += 1;
                    this.rounds = Math.floor(this.at / list.length);
                } else if (this.isKilled) {
                    break;
                }
            }
            if (this.wrong === undefined) {
                await limited(close()).catch(error => console.log(`close ${error}`));
            }
        }
        const { rounds, clients, failures, timeouts } = this;
        console.log(`rounds ${rounds} clients ${clients} failures ${failures} timeouts ${timeouts}`);
        if (this.wrong !== undefined) {
            throw this.wrong;
        }
        // Streams that an SDK tries to open again must not hold the process.
        process.exit(0);
    }
}
