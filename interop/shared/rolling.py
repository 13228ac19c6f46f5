"""How a client of the suite goes through its steps: once, or again and again while replicas of the server are rolled
(SIGTERM) or killed (SIGKILL).

A step that ends with a definite error is repeated, by the same client while replicas are rolled, and by a new one while
they are killed. A wrong value ends the program at once, and so does a lost session while replicas are only rolled.
"""

import asyncio
import os
import time

# How often a step may fail in a row.
ATTEMPTS = 20
# How long a step may take, in seconds. A replica may take the answer of one call with it, and not every SDK reports a 503.
LIMIT = 8
PAUSE = 0.3
# How long a client goes on after its time until it has done each step, in seconds.
MORE = 25


class Wrong(Exception):
    """A value that is not the expected one."""


def expect(what, found, expected):
    if found != expected:
        raise Wrong(f"{what}: {found!r}, not {expected!r}")


def wrong_in(error):
    """The wrong value among the errors that an SDK has wrapped."""
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, map(wrong_in, error.exceptions)), None)
    return error if isinstance(error, Wrong) else None


class Run:
    """One run: `name` makes the ids of calls unique. In the modes `rolled` and `killed` it is repeated."""

    def __init__(self, mode="once", name=f"python{os.getpid()}", seconds=0):
        self.is_killed = mode == "killed"
        self.is_repeated = mode in ("rolled", "killed")
        self.name = name
        self.until = time.monotonic() + float(seconds)
        self.calls = self.at = self.attempts = self.clients = self.failures = self.timeouts = self.rounds = 0
        self.wrong = None

    def new_id(self):
        self.calls += 1
        return f"{self.name}-{self.calls}"

    def asked(self, message):
        """The id that a server asks for: it has to be one of a call of this client."""
        id = message.removeprefix("Confirm ").removeprefix("Say ")
        name, _, number = id.rpartition("-")
        if name == self.name and number.isdecimal() and int(number) <= self.calls:
            return id
        # The SDK may swallow the exception.
        self.wrong = f"the question for another client: {message}"
        raise Wrong(self.wrong)

    def is_over(self):
        late = time.monotonic() - self.until
        return self.wrong is not None or late >= (0 if self.rounds else MORE)

    async def failed(self, step, error):
        print("failed", step, type(error).__name__, error, flush=True)
        self.failures += 1
        self.attempts += 1
        if self.attempts > ATTEMPTS:
            self.wrong = f"{step} failed {self.attempts} times: {error!r}"
        await asyncio.sleep(PAUSE)

    async def go(self, connect, steps):
        """Takes a function that returns a context with a client, and the steps by their names, of which the environment
        names those to do. Returns what is wrong, if anything."""
        names = os.environ.get("INTEROP_STEPS", " ".join(steps)).split()
        if unknown := [name for name in names if name not in steps]:
            return f"there are no steps {unknown}"
        listed = [steps[name] for name in names]
        return await (self.repeat(connect, listed) if self.is_repeated else self.once(connect, names, listed))

    async def once(self, connect, names, steps):
        async with connect() as client:
            for name, step in zip(names, steps):
                try:
                    await step(client)
                except Exception as error:
                    # From here on it would be wrapped by every task group that it passes.
                    self.wrong = self.wrong or f"{name}: {type(error).__name__}: {error}"
                if self.wrong:
                    break
                print("ok", name, flush=True)
        return self.wrong

    async def repeat(self, connect, steps):
        while not self.is_over():
            self.clients += 1
            if self.clients > 1 and not self.is_killed:
                return "the session was lost"
            began = self.at
            try:
                async with asyncio.timeout(LIMIT) as limit, connect() as client:
                    await self.go_on(client, limit, steps)
            except Exception as error:
                if wrong := wrong_in(error):
                    self.wrong = str(wrong)
                elif limit.expired():
                    await self.timed_out("connect or close")
                elif not self.is_over() or self.at == began:
                    await self.failed("connect or close", error)
        counts = ["rounds", self.rounds, "clients", self.clients, "failures", self.failures, "timeouts", self.timeouts]
        print(*counts, flush=True)
        return self.wrong

    async def go_on(self, client, limit, steps):
        while not self.is_over():
            step = steps[self.at % len(steps)]
            limit.reschedule(None)
            try:
                async with asyncio.timeout(LIMIT) as own:
                    await step(client)
                self.at += 1
                self.rounds = self.at // len(steps)
                self.attempts = 0
            except Wrong as wrong:
                self.wrong = str(wrong)
            except Exception as error:
                if own.expired():
                    await self.timed_out(step.__name__)
                else:
                    await self.failed(step.__name__, error)
                if self.is_killed:
                    break
        limit.reschedule(asyncio.get_running_loop().time() + LIMIT)

    async def timed_out(self, step):
        self.timeouts += 1
        await self.failed(step, TimeoutError(f"no answer within {LIMIT} s"))
