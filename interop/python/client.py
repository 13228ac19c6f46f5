"""The client of the interop suite, with the Python SDK: `client.py <revision> http <url>` or
`client.py <revision> stdio <program> [argument..]`.

The revision may be `auto`. The program prints the one that was agreed on, and a line for each step that went as it
should.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult, Implementation


def expect(what, found, expected):
    if found != expected:
        raise ValueError(f"{what}: {found!r}, not {expected!r}")


def done(step):
    print("ok", step, flush=True)


async def answer(_context, ask):
    fields = ask.requested_schema["properties"]
    expect("the question", ask.message, "Who are you?")
    expect("the fields", {name: field["type"] for name, field in fields.items()}, {"name": "string", "age": "integer"})
    return ElicitResult(action="accept", content={"name": "Ada", "age": 36})


async def tools(client):
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    expect("the tools", sorted(listed), ["add", "count", "greet"])
    expect("the description", listed["add"].description, "Adds two integers.")
    expect("the type of `a`", listed["add"].input_schema["properties"]["a"]["type"], "integer")
    done("tools")


async def call(client):
    result = await client.call_tool("add", {"a": 2, "b": 3})
    if result.is_error:
        raise ValueError(result.content[0].text)
    expect("the sum", result.structured_content, {"sum": 5})
    expect("the text", json.loads(result.content[0].text), {"sum": 5})
    done("call")


async def resource(client):
    listed = (await client.list_resources()).resources
    expect("the resources", [(r.uri, r.mime_type) for r in listed], [("interop://greeting", "text/plain")])
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
    expect("the text", (result.is_error, result.content[0].text), (False, "counted to 3"))
    expect("the progress", heard, [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")])
    done("progress")


async def elicit(client):
    result = await client.call_tool("greet")
    expect("the text", (result.is_error, result.content[0].text), (False, "Hello Ada, 36"))
    done("elicit")


async def main():
    match sys.argv[1:]:
        case [revision, "http", url]:
            target = url
        case [revision, "stdio", program, *arguments]:
            target = StdioServerParameters(command=program, args=arguments)
        case _:
            sys.exit("usage: client.py <revision> http <url> | <revision> stdio <program> [argument..]")
    # This client knows one revision with a handshake. With a revision as its mode it asks the server nothing
    # beforehand, and does not get to know its name.
    mode = "legacy" if revision == "2025-11-25" else revision
    name = "interop" if mode in ("legacy", "auto") else None
    about = Implementation(name="interop", version="1.0.0")
    async with Client(target, mode=mode, client_info=about, elicitation_callback=answer) as client:
        print("revision", client.protocol_version, flush=True)
        try:
            expect("the server's name", client.server_info and client.server_info.name, name)
            for step in (tools, call, resource, prompt, progress, elicit):
                await step(client)
        except Exception as error:
            # From here on it would be wrapped by every task group that it passes.
            return f"{type(error).__name__}: {error}"


sys.exit(asyncio.run(main()))
