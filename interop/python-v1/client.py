"""The client of the interop suite, with the first version of the Python SDK: `client.py <revision> http <url>` or
`client.py <revision> stdio <program> [argument..]`, or `client.py <revision> rolled|killed <url> <name> <seconds>` while
replicas of the server come and go.

It offers the latest revision that it knows. The program prints the one that was agreed on, and a line for each step
that went as it should.
"""

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import ElicitResult, Implementation

sys.path.append(str(Path(__file__).parent.parent / "shared"))
from rolling import Rolling, done, expect  # noqa: E402

# The run, while replicas come and go.
rolling = None


async def answer(_context, ask):
    fields = ask.requestedSchema["properties"]
    if rolling and ask.message.startswith("Confirm "):
        return ElicitResult(action="accept", content={"id": rolling.asked(ask.message)})
    expect("the question", ask.message, "Who are you?")
    expect("the fields", {name: field["type"] for name, field in fields.items()}, {"name": "string", "age": "integer"})
    return ElicitResult(action="accept", content={"name": "Ada", "age": 36})


def text_of(result):
    if result.isError:
        raise RuntimeError(result.content[0].text)
    return result.content[0].text


async def tools(client):
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    expect("the tools", sorted(listed), sorted(["add", "count", "greet"] + (["mark", "confirm"] if rolling else [])))
    expect("the description", listed["add"].description, "Adds two integers.")
    expect("the type of `a`", listed["add"].inputSchema["properties"]["a"]["type"], "integer")
    done("tools")


async def call(client):
    result = await client.call_tool("add", {"a": 2, "b": 3})
    text = text_of(result)
    expect("the sum", result.structuredContent, {"sum": 5})
    expect("the text", json.loads(text), {"sum": 5})
    done("call")


async def resource(client):
    listed = (await client.list_resources()).resources
    expect("the resources", [(str(r.uri), r.mimeType) for r in listed], [("interop://greeting", "text/plain")])
    contents = (await client.read_resource("interop://greeting")).contents
    expect("the contents", [c.text for c in contents], ["Hello from a resource"])
    done("resource")


async def prompt(client):
    listed = (await client.list_prompts()).prompts
    arguments = [(p.name, [(a.name, a.required) for a in p.arguments]) for p in listed]
    expect("the prompts", arguments, [("explain", [("topic", True)])])
    messages = (await client.get_prompt("explain", {"topic": "MCP"})).messages
    expect("the messages", [(m.role, m.content.text) for m in messages], [("user", "Explain MCP, please.")])
    done("prompt")


async def progress(client):
    heard = []

    async def hear(done, total, message):
        heard.append((done, total, message))

    result = await client.call_tool("count", {"to": 3}, progress_callback=hear)
    expect("the text", text_of(result), "counted to 3")
    expect("the progress", heard, [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")])
    done("progress")


async def elicit(client):
    result = await client.call_tool("greet")
    expect("the text", text_of(result), "Hello Ada, 36")
    done("elicit")


async def mark(client):
    id, heard = rolling.new_id(), []

    async def hear(done, total, message):
        heard.append((done, total, message))

    result = await client.call_tool("mark", {"id": id}, progress_callback=hear)
    expect("the text", text_of(result), f"marked {id}")
    expect("the progress", heard, [(n, 3, f"{id} {n}") for n in (1, 2, 3)])
    print("answered", id, flush=True)


async def confirm(client):
    id = rolling.new_id()
    expect("the text", text_of(await client.call_tool("confirm", {"id": id})), f"confirmed {id}")
    print("answered", id, flush=True)


STEPS = (tools, call, resource, prompt, progress, elicit)


@asynccontextmanager
async def opened(connect):
    about = Implementation(name="interop", version="1.0.0")
    async with connect as (read, write, *_), ClientSession(
        read, write, client_info=about, elicitation_callback=answer
    ) as client:
        said = await client.initialize()
        print("revision", said.protocolVersion, flush=True)
        expect("the server's name", said.serverInfo.name, "interop")
        yield client


async def main():
    global rolling
    match sys.argv[1:]:
        case [_revision, "http", url]:
            connect = streamablehttp_client(url)
        case [_revision, "stdio", program, *arguments]:
            connect = stdio_client(StdioServerParameters(command=program, args=arguments))
        case [_revision, "rolled" | "killed" as mode, url, name, seconds]:
            rolling = Rolling(mode, name, seconds)
            return await rolling.run(lambda: opened(streamablehttp_client(url)), STEPS + (mark, confirm))
        case _:
            sys.exit("usage: client.py <revision> http <url> | <revision> stdio <program> [argument..]")
    failure = None
    async with opened(connect) as client:
        try:
            for step in STEPS:
                await step(client)
        except Exception as error:
            # From here on it would be wrapped by every task group that it passes.
            failure = f"{type(error).__name__}: {error}"
    return failure


sys.exit(asyncio.run(main()))
