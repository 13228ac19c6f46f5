"""A script of steps with the servers that people use, for each client that has `call_tool`: `INTEROP_SCRIPT` names its file.

`UNIQUE` in a step stands for an id that no other call has. A client either does each step once, and reports those that fail,
or repeats all of them as `Run` says.
"""

import asyncio
import json
import os
import time
from dataclasses import dataclass
from typing import Callable

from rolling import Wrong

# How long a call may take to begin, and a change to be notified, in seconds.
LIMIT = 6
# How long a change takes after its cause, in seconds.
CHANGE = 0.3
# How long there is a subscription, in seconds: it may end with its replica.
SUBSCRIPTION = 2


@dataclass
class Sdk:
    """What SDKs do in different ways: a reference to a prompt, the parameter of a read, a call that is cancelled, a
    subscription, and the text of a task's result."""

    reference: Callable
    cancel_call: Callable
    subscribed: Callable
    uri: Callable = str
    task: Callable | None = None


class Script:
    """The steps, and what the current one answers to a server."""

    def __init__(self, text):
        self.texts = {step["step"]: json.dumps(step) for step in json.loads(text)}
        self.step, self.asked, self.run = {}, [], None

    @classmethod
    def wanted(cls):
        path = os.environ.get("INTEROP_SCRIPT")
        if path is None:
            return None
        with open(path, encoding="utf-8") as file:
            return cls(file.read())

    def answer(self, message):
        """The fields of a form."""
        self.note(message)
        return self.step["answers"]

    def say(self, text):
        """The message of a model."""
        self.note(text)
        return self.step["sample"]

    def note(self, message):
        self.asked.append(message)
        name = self.run.name
        if name in self.step.get("asks", "") and name not in message:
            # The SDK may swallow an exception.
            self.run.wrong = f"the question for another client: {message}"

    async def play(self, client, run, sdk):
        """Does all steps; returns what is wrong, if anything."""
        failed = 0
        for name, step in self.steps(run, sdk).items():
            try:
                await step(client)
                print("ok", name, flush=True)
            except Exception as error:
                failed += 1
                print("failed", name, type(error).__name__, error, flush=True)
        return f"{failed} steps have failed" if failed else None

    def steps(self, run, sdk):
        """The steps by their names."""
        self.run = run
        return {name: self.step_of(name, sdk) for name in self.texts}

    def step_of(self, name, sdk):
        async def one(client):
            self.step = step = json.loads(self.texts[name].replace("UNIQUE", self.run.new_id()))
            self.asked = []
            said = await do(client, step, sdk)
            missing = [words for words in step["says"] if words not in said]
            if missing or step.get("asks", "") not in "\n".join(self.asked):
                raise Wrong(f"{name}: {missing} not in {said!r}, asked {self.asked}")

        one.__name__ = name
        return one


def either(value, *names):
    """The first of these attributes that there is: the versions of the SDK differ in them."""
    return next(getattr(value, name) for name in names if hasattr(value, name))


async def do(client, step, sdk):
    """Does a step, and returns all that the server said."""
    match step["do"]:
        case "tools":
            names, cursor = [], None
            while True:
                page = await (client.list_tools(cursor=cursor) if cursor else client.list_tools())
                names += [tool.name for tool in page.tools]
                cursor = either(page, "next_cursor", "nextCursor")
                if not cursor:
                    return "\n".join(names)
        case "call":
            return await call(client, step)
        case "read":
            contents = (await client.read_resource(sdk.uri(step["uri"]))).contents
            return "\n".join(content.text for content in contents)
        case "prompt":
            messages = (await client.get_prompt(step["name"], step["arguments"])).messages
            return "\n".join(message.content.text for message in messages)
        case "complete":
            return "\n".join((await client.complete(sdk.reference(step["name"]), step["argument"])).completion.values)
        case "cancel":
            return await cancel(client, step, sdk)
        case "subscribe":
            return await subscribe(client, step, sdk)
        case "task":
            return await sdk.task(client, step["name"], step["arguments"])
        case other:
            raise ValueError(f"there is no step {other!r}")


def said_in(result):
    said = "\n".join(block.text for block in result.content if block.type == "text")
    if either(result, "is_error", "isError"):
        raise RuntimeError(said)
    return said


async def call(client, step):
    heard = []

    async def hear(done, _total, _message):
        heard.append(done)

    said = said_in(await client.call_tool(step["name"], step["arguments"], progress_callback=hear))
    if len(heard) < step.get("progress", 0):
        raise Wrong(f"progress {heard}")
    return said


async def cancel(client, step, sdk):
    """Cancels a call when its first progress is heard."""
    heard = asyncio.get_running_loop().create_future()

    async def hear(*_progress):
        if not heard.done():
            heard.set_result(None)

    async with sdk.cancel_call(client, step["name"], step["arguments"], progress_callback=hear) as call:
        await asyncio.wait([call, heard], timeout=LIMIT, return_when=asyncio.FIRST_COMPLETED)
        if call.done():
            raise RuntimeError(f"the call ended: {call.exception() or call.result()}")
        if not heard.done():
            raise RuntimeError(f"there was no progress within {LIMIT} s")
    return ""


async def subscribe(client, step, sdk):
    """Subscribes to a resource until a change is heard."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        async with sdk.subscribed(client, step["uri"]) as change:
            if uri := await changed(client, step, change):
                return uri
    raise RuntimeError(f"no change was notified within {LIMIT} s")


async def changed(client, step, change):
    """Causes changes for a while: a load balancer chooses the replica that is asked for them."""
    end = time.monotonic() + SUBSCRIPTION
    while time.monotonic() < end:
        said = said_in(await client.call_tool(step["name"], step["arguments"]))
        if step["starts"] in said:
            await asyncio.wait([change], timeout=CHANGE)
        if change.done():
            return change.result()
    return None
