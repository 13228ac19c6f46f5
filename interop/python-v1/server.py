"""The server of the interop suite, with the first version of the Python SDK: `server.py stdio` or `server.py http <port>`.

It looks at what arrives: a client that sends something else than the suite tells it to gets an error.
"""

import sys
from pathlib import Path

import anyio
from mcp.server.fastmcp import Context, FastMCP
from mcp.types import Completion, SamplingMessage, TextContent
from pydantic import BaseModel

server = FastMCP("interop", log_level="ERROR")


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


@server.tool(description="Asks for a name and greets.", structured_output=False)
async def greet(ctx: Context) -> str:
    person = (await ctx.elicit("Who are you?", Person)).data
    expect("the answer", person, Person(name="Ada", age=36))
    return f"Hello {person.name}, {person.age}"


# What became of the calls of `wait`. There may be several processes of this server, which share a file.
ledger = Path(sys.argv[2]) if sys.argv[1:2] == ["stdio"] and sys.argv[2:] else None
lines = []


def note(line):
    if ledger:
        with ledger.open("a") as file:
            file.write(f"{line}\n")
    else:
        lines.append(line)


def noted():
    return ledger.read_text().splitlines() if ledger and ledger.exists() else lines


@server.tool(description="Waits to be cancelled.", structured_output=False)
async def wait(id: str) -> str:
    note(f"running {id}")
    end = "cancelled"
    try:
        await anyio.sleep(30)
        end = "ended"
    finally:
        note(f"{end} {id}")
    return f"waited {id}"


@server.tool(description="Says what became of a call of `wait`.", structured_output=False)
def waited(id: str) -> str:
    states = ("cancelled", "ended", "running")
    return next((state for state in states if f"{state} {id}" in noted()), "unknown")


@server.tool(description="Reports a step at which the stream is cut, and two more afterwards.", structured_output=False)
async def stall(id: str, ctx: Context) -> str:
    for n in (1, 2, 3):
        await ctx.report_progress(n, 3, f"cut {id} here" if n == 1 else f"{id} {n}")
        await anyio.sleep(0.4)
    return f"stalled {id}"


@server.tool(description="Asks the model of the client for the id.", structured_output=False)
async def ask(id: str, ctx: Context) -> str:
    question = SamplingMessage(role="user", content=TextContent(type="text", text=f"Say {id}"))
    answer = await ctx.session.create_message([question], max_tokens=100, related_request_id=ctx.request_id)
    expect("the answer of the model", answer.content.text, id)
    return f"said {id}"


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
        server.settings.host, server.settings.port = "127.0.0.1", int(port)
        server.run("streamable-http")
    case _:
        sys.exit("usage: server.py stdio | http <port>")
