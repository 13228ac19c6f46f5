"""The server of the interop suite, with the first version of the Python SDK: `server.py stdio` or `server.py http <port>`.

It looks at what arrives: a client that sends something else than the suite tells it to gets an error.
"""

import sys

from mcp.server.fastmcp import Context, FastMCP
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


@server.resource("interop://greeting", description="A greeting.", mime_type="text/plain")
def greeting() -> str:
    return "Hello from a resource"


@server.prompt(description="Asks for an explanation.")
def explain(topic: str) -> str:
    expect("the topic", topic, "MCP")
    return f"Explain {topic}, please."


match sys.argv[1:]:
    case ["stdio"]:
        server.run("stdio")
    case ["http", port]:
        server.settings.host, server.settings.port = "127.0.0.1", int(port)
        server.run("streamable-http")
    case _:
        sys.exit("usage: server.py stdio | http <port>")
