"""A script of steps with the servers that people use, for each client that has `call_tool`: `INTEROP_SCRIPT` names its file.

A step that fails does not end the program: each of them is reported.
"""

import json
import os


class Script:
    """The steps, and what the current one answers to a server."""

    def __init__(self, steps):
        self.steps, self.step, self.asked = steps, {}, []

    @classmethod
    def wanted(cls):
        path = os.environ.get("INTEROP_SCRIPT")
        if path is None:
            return None
        with open(path, encoding="utf-8") as file:
            return cls(json.load(file))

    def answer(self, message):
        """The fields of a form."""
        self.asked.append(message)
        return self.step["answers"]

    def say(self, text):
        """The message of a model."""
        self.asked.append(text)
        return self.step["sample"]

    async def play(self, client, reference, uri=str):
        """Does all steps; `reference` makes a reference to a prompt, and `uri` the parameter of a read."""
        failed = 0
        for self.step in self.steps:
            self.asked = []
            try:
                said = await do(client, self.step, reference, uri)
                missing = [words for words in self.step["says"] if words not in said]
                if missing or self.step.get("asks", "") not in "\n".join(self.asked):
                    raise ValueError(f"{missing} not in {said!r}, asked {self.asked}")
                print("ok", self.step["step"], flush=True)
            except Exception as error:
                failed += 1
                print("failed", self.step["step"], type(error).__name__, error, flush=True)
        return f"{failed} steps have failed" if failed else None


def either(value, *names):
    """The first of these attributes that there is: the versions of the SDK differ in them."""
    return next(getattr(value, name) for name in names if hasattr(value, name))


async def do(client, step, reference, uri):
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
            contents = (await client.read_resource(uri(step["uri"]))).contents
            return "\n".join(content.text for content in contents)
        case "prompt":
            messages = (await client.get_prompt(step["name"], step["arguments"])).messages
            return "\n".join(message.content.text for message in messages)
        case "complete":
            return "\n".join((await client.complete(reference(step["name"]), step["argument"])).completion.values)
        case other:
            raise ValueError(f"there is no step {other!r}")


async def call(client, step):
    heard = []

    async def hear(done, _total, _message):
        heard.append(done)

    result = await client.call_tool(step["name"], step["arguments"], progress_callback=hear)
    said = "\n".join(block.text for block in result.content if block.type == "text")
    if either(result, "is_error", "isError"):
        raise ValueError(said)
    if len(heard) < step.get("progress", 0):
        raise ValueError(f"progress {heard}")
    return said
