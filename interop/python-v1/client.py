"""The client of the interop suite, with the first version of the Python SDK: `client.py <revision> http <url>` or
`client.py <revision> stdio <program> [argument..]`, or `client.py <revision> rolled|killed <url> <name> <seconds>` while
replicas of the server come and go.

It offers the latest revision that it knows. The program prints the one that was agreed on, and a line for each step
that went as it should.
"""

import asyncio
import json
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import (
    CallToolResult,
    CancelledNotification,
    CancelledNotificationParams,
    ClientNotification,
    CreateMessageResult,
    ElicitResult,
    Implementation,
    PromptReference,
    ResourceUpdatedNotification,
    ServerNotification,
    TextContent,
)
from pydantic import AnyUrl

sys.path.append(str(Path(__file__).parent.parent / "shared"))
from rolling import Run, expect  # noqa: E402
from script import Script, Sdk  # noqa: E402
from steps import GREETING, Counted, reported, text_of  # noqa: E402

run = Run()
script = Script.wanted()


async def answer(_context, ask):
    if script:
        return ElicitResult(action="accept", content=script.answer(ask.message))
    fields = ask.requestedSchema["properties"]
    if ask.message.startswith("Confirm "):
        return ElicitResult(action="accept", content={"id": run.asked(ask.message)})
    expect("the question", ask.message, "Who are you?")
    expect("the fields", {name: field["type"] for name, field in fields.items()}, {"name": "string", "age": "integer"})
    return ElicitResult(action="accept", content={"name": "Ada", "age": 36})


async def say(_context, ask):
    text = ask.messages[0].content.text
    text = script.say(text) if script else run.asked(text)
    content = TextContent(type="text", text=text)
    return CreateMessageResult(model="interop-model", role="assistant", content=content)


# What is done for a change of a resource.
updated = None


async def hear(message):
    if updated and isinstance(message, ServerNotification) and isinstance(message.root, ResourceUpdatedNotification):
        updated(str(message.root.params.uri))


async def tools(client):
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    expect("the missing tools", {"add", "count", "greet"} - set(listed), set())
    expect("the description", listed["add"].description, "Adds two integers.")
    expect("the type of `a`", listed["add"].inputSchema["properties"]["a"]["type"], "integer")


async def call(client):
    result = await client.call_tool("add", {"a": 2, "b": 3})
    text = text_of(result)
    expect("the sum", result.structuredContent, {"sum": 5})
    expect("the text", json.loads(text), {"sum": 5})


async def resource(client):
    listed = (await client.list_resources()).resources
    expect("the resources", [(str(r.uri), r.mimeType) for r in listed], [(GREETING, "text/plain")])
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
    # The next request has this id; the SDK has no other way to learn it.
    id = client._request_id
    call = asyncio.create_task(client.call_tool(tool, arguments, **options))
    await asyncio.sleep(0)
    try:
        yield call
    finally:
        params = CancelledNotificationParams(requestId=id)
        await client.send_notification(ClientNotification(CancelledNotification(params=params)))
        call.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await call


@asynccontextmanager
async def subscribed(client, uri):
    """The next change of a resource."""
    global updated
    change = asyncio.get_running_loop().create_future()
    updated = lambda uri: change.done() or change.set_result(uri)  # noqa: E731
    await client.subscribe_resource(AnyUrl(uri))
    yield change
    await client.unsubscribe_resource(AnyUrl(uri))


async def task_text(client, tool, arguments):
    """The text of a tool's result that runs as a task, with input."""
    tasks = client.experimental
    task_id = (await tasks.call_tool_as_task(tool, arguments)).task.taskId
    async for status in tasks.poll_task(task_id):
        if status.status == "input_required":
            break
    # It asks on the stream of this request.
    return text_of(await tasks.get_task_result(task_id, CallToolResult))


async def task(client):
    await counted.once("job", "done", lambda tool, id: task_text(client, tool, {"id": id}))


STEPS = dict(
    tools=tools, call=call, resource=resource, prompt=prompt, complete=complete, progress=progress, elicit=elicit
)


@asynccontextmanager
async def opened(connect):
    about = Implementation(name="interop", version="1.0.0")
    callbacks = dict(elicitation_callback=answer, sampling_callback=say, message_handler=hear)
    async with connect() as (read, write, *_), ClientSession(read, write, client_info=about, **callbacks) as client:
        said = await client.initialize()
        print("revision", said.protocolVersion, flush=True)
        if not script:
            expect("the server's name", said.serverInfo.name, "interop")
        yield client


async def main():
    global counted, run
    match sys.argv[1:]:
        case [_revision, "http", url]:
            connect = lambda: streamablehttp_client(url)  # noqa: E731
        case [_revision, "stdio", program, *arguments]:
            connect = lambda: stdio_client(StdioServerParameters(command=program, args=arguments))  # noqa: E731
        case [_revision, "rolled" | "killed" as mode, url, name, seconds]:
            connect = lambda: streamablehttp_client(url)  # noqa: E731
            run = Run(mode, name, seconds)
        case _:
            sys.exit("usage: client.py <revision> http <url> | <revision> stdio <program> [argument..]")
    if script:
        sdk = Sdk(reference, cancel_call, subscribed, AnyUrl, task_text)
        if not run.is_repeated:
            async with opened(connect) as client:
                return await script.play(client, run, sdk)
    counted = Counted(run, cancel_call, subscribed)
    steps = script.steps(run, sdk) if script else STEPS | counted.steps() | {"task": task}
    return await run.go(lambda: opened(connect), steps)


sys.exit(asyncio.run(main()))
