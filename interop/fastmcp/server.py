"""The server of the interop suite, with FastMCP: `server.py stdio` or `server.py http <port>`.

It looks at what arrives: a client that sends something else than the suite tells it to gets an error.
"""

import sys

import anyio
import mcp_types as types
from fastmcp import Context, FastMCP
from pydantic import BaseModel

server = FastMCP("interop", version="1.0.0")


def expect(what, found, expected):
    if found != expected:
        raise ValueError(f"{what}: {found!r}, not {expected!r}")


class Sum(BaseModel):
    sum: int


@server.tool(description="Adds two integers.")
def add(a: int, b: int) -> Sum:
    expect("the numbers", (a, b), (2, 3))
    return Sum(sum=a + b)


@server.tool(description="Counts, and tells how far it is.")
async def count(to: int, ctx: Context) -> str:
    expect("the number", to, 3)
    for n in range(1, to + 1):
        await ctx.report_progress(n, to, f"step {n}")
    return f"counted to {to}"


class Person(BaseModel):
    name: str
    age: int


def has_sessions(ctx):
    return ctx.session.protocol_version == "2025-11-25"


@server.tool(description="Asks for a name and greets.", output_schema=None)
async def greet(ctx: Context) -> str | types.InputRequiredResult:
    question = "Who are you?"
    if has_sessions(ctx):
        person = (await ctx.elicit(question, response_type=Person)).data
    elif ctx.input_responses is None:
        form = types.ElicitRequestFormParams(message=question, requested_schema=Person.model_json_schema())
        ask = types.ElicitRequest(method="elicitation/create", params=form)
        return types.InputRequiredResult(input_requests={"person": ask})
    else:
        person = Person(**ctx.input_responses["person"].content)
    expect("the answer", person, Person(name="Ada", age=36))
    return f"Hello {person.name}, {person.age}"


@server.tool(description="Asks the model of the client for the id.", output_schema=None)
async def ask(id: str, ctx: Context) -> str | types.InputRequiredResult:
    text = types.TextContent(type="text", text=f"Say {id}")
    messages = [types.SamplingMessage(role="user", content=text)]
    if has_sessions(ctx):
        answer = await ctx.session.create_message(messages, max_tokens=100, related_request_id=ctx.request_id)
    elif ctx.input_responses is None:
        params = types.CreateMessageRequestParams(messages=messages, max_tokens=100)
        ask = types.CreateMessageRequest(method="sampling/createMessage", params=params)
        return types.InputRequiredResult(input_requests={"model": ask})
    else:
        answer = ctx.input_responses["model"]
    expect("the answer of the model", answer.content.text, id)
    return f"said {id}"


# What became of the calls of `wait`.
calls = {}


@server.tool(description="Waits to be cancelled.")
async def wait(id: str) -> str:
    calls[id] = "running"
    try:
        await anyio.sleep(30)
        calls[id] = "ended"
    finally:
        calls[id] = "ended" if calls[id] == "ended" else "cancelled"
    return f"waited {id}"


@server.tool(description="Says what became of a call of `wait`.")
def waited(id: str) -> str:
    return calls.get(id, "unknown")


@server.tool(description="Reports a step at which the stream is cut, and two more afterwards.")
async def stall(id: str, ctx: Context) -> str:
    for n in (1, 2, 3):
        await ctx.report_progress(n, 3, f"cut {id} here" if n == 1 else f"{id} {n}")
        await anyio.sleep(0.4)
    return f"stalled {id}"


@server.completion
async def complete(_ref, argument, _context):
    return [topic for topic in ("MCP", "tides") if topic.startswith(argument.value)]


@server.resource("interop://greeting", description="A greeting.", mime_type="text/plain")
def greeting() -> str:
    return "Hello from a resource"


@server.prompt(description="Asks for an explanation.")
def explain(topic: str) -> str:
    expect("the topic", topic, "MCP")
    return f"Explain {topic}, please."


match sys.argv[1:]:
    case ["stdio", *_]:
        server.run("stdio", show_banner=False)
    case ["http", port]:
        server.run("http", host="127.0.0.1", port=int(port), show_banner=False)
    case _:
        sys.exit("usage: server.py stdio | http <port>")
