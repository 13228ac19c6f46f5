"""The client of the interop suite, with the Python SDK: `client.py <revision> http <url>` or
`client.py <revision> stdio <program> [argument..]`, or `client.py <revision> rolled|killed <url> <name> <seconds>` while
replicas of the server come and go.

The revision may be `auto`. The program prints the one that was agreed on, and a line for each step that went as it
should.
"""

import asyncio
import json
import sys
import warnings
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import (
    CreateMessageResult,
    ElicitResult,
    Implementation,
    PromptReference,
    ResourceUpdatedNotification,
    TextContent,
)

sys.path.append(str(Path(__file__).parent.parent / "shared"))
from rolling import Run, expect  # noqa: E402
from script import Script, Sdk  # noqa: E402
from steps import GREETING, Counted, reported, text_of  # noqa: E402

# Sampling and `resources/subscribe` are deprecated, and part of the suite.
warnings.simplefilter("ignore", MCPDeprecationWarning)

run = Run()
script = Script.wanted()


async def answer(_context, ask):
    if script:
        return ElicitResult(action="accept", content=script.answer(ask.message))
    fields = ask.requested_schema["properties"]
    if ask.message.startswith("Confirm "):
        return ElicitResult(action="accept", content={"id": run.asked(ask.message)})
    expect("the question", ask.message, "Who are you?")
    expect("the fields", {name: field["type"] for name, field in fields.items()}, {"name": "string", "age": "integer"})
    return ElicitResult(action="accept", content={"name": "Ada", "age": 36})


async def say(_context, ask):
    content = ask.messages[0].content
    text = (content[0] if isinstance(content, list) else content).text
    content = TextContent(type="text", text=script.say(text) if script else run.asked(text))
    return CreateMessageResult(model="interop-model", role="assistant", content=content)


# What is done for a change of a resource in a session.
updated = None


async def hear(message):
    if updated and isinstance(message, ResourceUpdatedNotification):
        updated(message.params.uri)


async def tools(client):
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    expect("the missing tools", {"add", "count", "greet"} - set(listed), set())
    expect("the description", listed["add"].description, "Adds two integers.")
    expect("the type of `a`", listed["add"].input_schema["properties"]["a"]["type"], "integer")


async def call(client):
    result = await client.call_tool("add", {"a": 2, "b": 3})
    text = text_of(result)
    expect("the sum", result.structured_content, {"sum": 5})
    expect("the text", json.loads(text), {"sum": 5})


async def resource(client):
    listed = (await client.list_resources()).resources
    expect("the resources", [(r.uri, r.mime_type) for r in listed], [(GREETING, "text/plain")])
    contents = (await client.read_resource(GREETING)).contents
    expect("the contents", [c.text for c in contents], ["Hello from a resource"])


async def prompt(client):
    listed = (await client.list_prompts()).prompts
    arguments = [(p.name, [(a.name, a.required) for a in p.arguments]) for p in listed]
    expect("the prompts", arguments, [("explain", [("topic", True)])])
    messages = (await client.get_prompt("explain", {"topic": "MCP"})).messages
    expect("the messages", [(m.role, m.content.text) for m in messages], [("user", "Explain MCP, please.")])


def reference(prompt):
    return PromptReference(type="ref/prompt", name=prompt)


async def complete(client):
    result = await client.complete(reference("explain"), {"name": "topic", "value": "M"})
    expect("the topics", result.completion.values, ["MCP"])


async def progress(client):
    text = await reported(client, "count", {"to": 3}, ["step 1", "step 2", "step 3"])
    expect("the text", text, "counted to 3")


async def elicit(client):
    expect("the text", text_of(await client.call_tool("greet")), "Hello Ada, 36")


@asynccontextmanager
async def cancel_call(client, tool, arguments, **options):
    """A call that is under way in the context and cancelled at its end."""
    call = asyncio.create_task(client.call_tool(tool, arguments, **options))
    try:
        yield call
    finally:
        call.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await call


@asynccontextmanager
async def subscribed(client, uri):
    """The next change of a resource."""
    global updated
    change = asyncio.get_running_loop().create_future()
    if client.protocol_version == "2025-11-25":
        updated = lambda uri: change.done() or change.set_result(uri)  # noqa: E731
        await client.subscribe_resource(uri)
        yield change
        await client.unsubscribe_resource(uri)
    else:
        async with client.listen(resource_subscriptions=[uri]) as events:

            async def first():
                async for event in events:
                    return event.uri

            change = asyncio.create_task(first())
            try:
                yield change
            finally:
                change.cancel()


STEPS = dict(
    tools=tools, call=call, resource=resource, prompt=prompt, complete=complete, progress=progress, elicit=elicit
)


@asynccontextmanager
async def opened(target, revision):
    # This client knows one revision with a handshake. With a revision as its mode it asks the server nothing
    # beforehand, and does not get to know its name.
    mode = "legacy" if revision == "2025-11-25" else revision
    about = Implementation(name="interop", version="1.0.0")
    callbacks = dict(elicitation_callback=answer, sampling_callback=say, message_handler=hear)
    async with Client(target, mode=mode, client_info=about, **callbacks) as client:
        print("revision", client.protocol_version, flush=True)
        name = "interop" if revision in ("2025-11-25", "auto") else None
        if not script:
            expect("the server's name", client.server_info and client.server_info.name, name)
        yield client


async def main():
    global run
    match sys.argv[1:]:
        case [revision, "http", url]:
            target = url
        case [revision, "stdio", program, *arguments]:
            target = StdioServerParameters(command=program, args=arguments)
        case [revision, "rolled" | "killed" as mode, url, name, seconds]:
            target = url
            run = Run(mode, name, seconds)
        case _:
            sys.exit("usage: client.py <revision> http <url> | <revision> stdio <program> [argument..]")
    if script:
        sdk = Sdk(reference, cancel_call, subscribed)
        if not run.is_repeated:
            async with opened(target, revision) as client:
                return await script.play(client, run, sdk)
    steps = script.steps(run, sdk) if script else STEPS | Counted(run, cancel_call, subscribed).steps()
    return await run.go(lambda: opened(target, revision), steps)


sys.exit(asyncio.run(main()))
