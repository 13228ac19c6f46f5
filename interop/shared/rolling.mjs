// How a client of the suite goes on while replicas of the server are rolled (SIGTERM) or killed (SIGKILL).
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

// One run: `mode` is `rolled` or `killed`, `name` makes the ids of calls unique.
export class Rolling {
    constructor(mode, name, seconds) {
        this.isKilled = mode === 'killed';
        this.name = name;
        this.until = performance.now() + Number(seconds) * 1000;
        Object.assign(this, { calls: 0, at: 0, attempts: 0, clients: 0, failures: 0, timeouts: 0, wrong: undefined });
    }

    newId() {
        this.calls += 1;
        return `${this.name}-${this.calls}`;
    }

    // The id that an elicitation is about: it has to be one of a call of this client.
    asked(message) {
        const [, name, number] = /^Confirm (.*)-(\d+)$/.exec(message) ?? [];
        if (name === this.name && Number(number) <= this.calls) {
            return `${name}-${number}`;
        }
        // The SDK may swallow the exception.
        this.wrong ??= new AssertionError({ message: `the elicitation of another client: ${message}` });
        throw this.wrong;
    }

    isOver() {
        return this.wrong !== undefined || performance.now() >= this.until;
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

    async run(connect, close, steps) {
        // What an SDK does in the background may fail as well.
        process.on('unhandledRejection', error => console.log(`unhandled ${error}`));
        const list = Object.entries(steps);
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
                } else if (this.isKilled) {
                    break;
                }
            }
            if (this.wrong === undefined) {
                await limited(close()).catch(error => console.log(`close ${error}`));
            }
        }
        const rounds = Math.floor(this.at / list.length);
        console.log(`rounds ${rounds} clients ${this.clients} failures ${this.failures} timeouts ${this.timeouts}`);
        if (this.wrong !== undefined) {
            throw this.wrong;
        }
        // Streams that an SDK tries to open again must not hold the process.
        process.exit(0);
    }
}
