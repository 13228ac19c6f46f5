"""The client of the interop suite, with the Python SDK: `client.py <revision> http <url>` or
`client.py <revision> stdio <program> [argument..]`, or `client.py <revision> rolled|killed <url> <name> <seconds>` while
replicas of the server come and go.

The revision may be `auto`. The program prints the one that was agreed on, and a line for each step that went as it
should.
"""

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult, Implementation

sys.path.append(str(Path(__file__).parent.parent / "shared"))
from rolling import Rolling, done, expect  # noqa: E402

# The run, while replicas come and go.
rolling = None


async def answer(_context, ask):
    fields = ask.requested_schema["properties"]
    if rolling and ask.message.startswith("Confirm "):
        return ElicitResult(action="accept", content={"id": rolling.asked(ask.message)})
    expect("the question", ask.message, "Who are you?")
    expect("the fields", {name: field["type"] for name, field in fields.items()}, {"name": "string", "age": "integer"})
    return ElicitResult(action="accept", content={"name": "Ada", "age": 36})


def text_of(result):
    if result.is_error:
        raise RuntimeError(result.content[0].text)
    return result.content[0].text


async def tools(client):
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    expect("the tools", sorted(listed), sorted(["add", "count", "greet"] + (["mark", "confirm"] if rolling else [])))
    expect("the description", listed["add"].description, "Adds two integers.")
    expect("the type of `a`", listed["add"].input_schema["properties"]["a"]["type"], "integer")
    done("tools")


async def call(client):
    result = await client.call_tool("add", {"a": 2, "b": 3})
    text = text_of(result)
    expect("the sum", result.structured_content, {"sum": 5})
    expect("the text", json.loads(text), {"sum": 5})
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


def client_of(target, revision):
    # This client knows one revision with a handshake. With a revision as its mode it asks the server nothing
    # beforehand, and does not get to know its name.
    mode = "legacy" if revision == "2025-11-25" else revision
    about = Implementation(name="interop", version="1.0.0")
    return Client(target, mode=mode, client_info=about, elicitation_callback=answer)


@asynccontextmanager
async def opened(target, revision):
    async with client_of(target, revision) as client:
        print("revision", client.protocol_version, flush=True)
        name = "interop" if revision in ("2025-11-25", "auto") else None
        expect("the server's name", client.server_info and client.server_info.name, name)
        yield client


async def main():
    global rolling
    match sys.argv[1:]:
        case [revision, "http", url]:
            target = url
        case [revision, "stdio", program, *arguments]:
            target = StdioServerParameters(command=program, args=arguments)
        case [revision, "rolled" | "killed" as mode, url, name, seconds]:
            rolling = Rolling(mode, name, seconds)
            return await rolling.run(lambda: opened(url, revision), STEPS + (mark, confirm))
        case _:
            sys.exit("usage: client.py <revision> http <url> | <revision> stdio <program> [argument..]")
    failure = None
    async with opened(target, revision) as client:
        try:
            for step in STEPS:
                await step(client)
        except Exception as error:
            # From here on it would be wrapped by every task group that it passes.
            failure = f"{type(error).__name__}: {error}"
    return failure


sys.exit(asyncio.run(main()))
