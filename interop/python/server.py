"""The server of the interop suite, with the Python SDK: `server.py stdio` or `server.py http <port>`.

It looks at what arrives: a client that sends something else than the suite tells it to gets an error.
"""

import sys
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve, Sample
from mcp_types import Completion, CreateMessageResult, SamplingMessage, TextContent
from pydantic import BaseModel

server = MCPServer("interop", version="1.0.0", log_level="ERROR")


def expect(what, found, expected):
    if found != expected:
        raise ValueError(f"{what}: {found!r}, not {expected!r}")


class Sum(BaseModel):
    sum: int


@server.tool(description="Adds two integers.")
def add(a: int, b: int) -> Sum:
    expect("the numbers", (a, b), (2, 3))
    return Sum(sum=a + b)


@server.tool(description="Counts, and tells how far it is.", structured_output=False)
async def count(to: int, ctx: Context) -> str:
    expect("the number", to, 3)
    for n in range(1, to + 1):
        await ctx.report_progress(n, to, f"step {n}")
    return f"counted to {to}"


class Person(BaseModel):
    name: str
    age: int


def ask() -> Elicit[Person]:
    return Elicit("Who are you?", Person)


@server.tool(description="Asks for a name and greets.", structured_output=False)
async def greet(person: Annotated[Person, Resolve(ask)]) -> str:
    expect("the answer", person, Person(name="Ada", age=36))
    return f"Hello {person.name}, {person.age}"


# What became of the calls of `wait`.
calls = {}


@server.tool(description="Waits to be cancelled.", structured_output=False)
async def wait(id: str) -> str:
    calls[id] = "running"
    try:
        await anyio.sleep(30)
        calls[id] = "ended"
    finally:
        calls[id] = "ended" if calls[id] == "ended" else "cancelled"
    return f"waited {id}"


@server.tool(description="Says what became of a call of `wait`.", structured_output=False)
def waited(id: str) -> str:
    return calls.get(id, "unknown")


@server.tool(description="Reports a step at which the stream is cut, and two more afterwards.", structured_output=False)
async def stall(id: str, ctx: Context) -> str:
    for n in (1, 2, 3):
        await ctx.report_progress(n, 3, f"cut {id} here" if n == 1 else f"{id} {n}")
        await anyio.sleep(0.4)
    return f"stalled {id}"


def ask_model(id: str) -> Sample:
    question = TextContent(type="text", text=f"Say {id}")
    return Sample([SamplingMessage(role="user", content=question)], max_tokens=100)


@server.tool(description="Asks the model of the client for the id.", structured_output=False)
async def ask(id: str, answer: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    expect("the answer of the model", answer.content.text, id)
    return f"said {id}"


@server.tool(description="Reports that the greeting has changed.", structured_output=False)
async def touch(ctx: Context) -> str:
    await ctx.notify_resource_updated("interop://greeting")
    return "touched"


@server.completion()
async def complete(_ref, argument, _context):
    return Completion(values=[topic for topic in ("MCP", "tides") if topic.startswith(argument.value)])


@server.resource("interop://greeting", description="A greeting.", mime_type="text/plain")
def greeting() -> str:
    return "Hello from a resource"


@server.prompt(description="Asks for an explanation.")
def explain(topic: str) -> str:
    expect("the topic", topic, "MCP")
    return f"Explain {topic}, please."


match sys.argv[1:]:
    case ["stdio", *_]:
        server.run("stdio")
    case ["http", port]:
        server.run("streamable-http", host="127.0.0.1", port=int(port))
    case _:
        sys.exit("usage: server.py stdio | http <port>")
