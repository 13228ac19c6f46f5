"""The steps whose calls have ids, for each client that has `call_tool`."""

import asyncio
import time

from rolling import expect

GREETING = "interop://greeting"
# How long a change, or the note of a cancelled call, may take, in seconds.
LIMIT = 5
# How long a server may take to begin a call: it may have to start.
START = 20


def text_of(result):
    failed = result.isError if hasattr(result, "isError") else result.is_error
    if failed:
        raise RuntimeError(result.content[0].text)
    return result.content[0].text


async def reported(client, tool, arguments, messages, may_repeat=False):
    """Calls a tool, with a report of progress for each message. A client whose connection is lost while it resumes may resume
    from the same event once more, and hear reports twice."""
    heard = []

    async def hear(done, total, message):
        heard.append((done, total, message))

    text = text_of(await client.call_tool(tool, arguments, progress_callback=hear))
    if may_repeat:
        heard = list(dict.fromkeys(heard))
    expect("the progress", heard, [(at, 3, message) for at, message in enumerate(messages, 1)])
    return text


class Counted:
    """Steps with ids. `cancel_call` and `subscribed` are what the SDKs do in different ways."""

    def __init__(self, run, cancel_call, subscribed):
        self.run, self.cancel_call, self.subscribed = run, cancel_call, subscribed

    def steps(self):
        names = ("sample", "cancel", "subscribe", "resume", "mark", "confirm")
        return {name: getattr(self, name) for name in names}

    async def once(self, tool, done, work):
        """Does something with an id of its own."""
        id = self.run.new_id()
        expect("the text", await work(tool, id), f"{done} {id}")
        print("answered", id, flush=True)

    async def sample(self, client):
        async def work(tool, id):
            return text_of(await client.call_tool(tool, {"id": id}))

        await self.once("ask", "said", work)

    async def confirm(self, client):
        async def work(tool, id):
            return text_of(await client.call_tool(tool, {"id": id}))

        await self.once("confirm", "confirmed", work)

    async def mark(self, client):
        async def work(tool, id):
            messages = [f"{id} {n}" for n in (1, 2, 3)]
            return await reported(client, tool, {"id": id}, messages, self.run.is_killed)

        await self.once("mark", "marked", work)

    async def resume(self, client):
        async def work(tool, id):
            messages = [f"cut {id} here", f"{id} 2", f"{id} 3"]
            return await reported(client, tool, {"id": id}, messages, self.run.is_killed)

        await self.once("stall", "stalled", work)

    async def cancel(self, client):
        id = self.run.new_id()
        async with self.cancel_call(client, "wait", {"id": id}) as call:
            await self.until(client, id, "running", call)
        await self.until(client, id, "cancelled")

    async def until(self, client, id, state, call=None):
        """Waits until the server says this of a call."""
        limit = START if call else LIMIT
        end = time.monotonic() + limit
        while text_of(await client.call_tool("waited", {"id": id})) != state:
            if call and call.done():
                raise RuntimeError(f"the call ended: {call.exception() or call.result()}")
            if time.monotonic() > end:
                raise RuntimeError(f"{id} is not {state} within {limit} s")
            await asyncio.sleep(0.05)

    async def subscribe(self, client):
        async with self.subscribed(client, GREETING) as change:
            # A stream that is opened anew at this moment may miss a change.
            touches = 5 if self.run.is_repeated else 1
            for _ in range(touches):
                text_of(await client.call_tool("touch"))
                heard, _ = await asyncio.wait([change], timeout=LIMIT / touches)
                if heard:
                    return expect("the change", change.result(), GREETING)
            raise RuntimeError("the change was not notified")
