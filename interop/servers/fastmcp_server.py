"""A FastMCP server that reports progress, asks a person and asks a model."""

from dataclasses import dataclass

import mcp_types as types
from fastmcp import Context, FastMCP

mcp = FastMCP("fastmcp")


@mcp.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@mcp.tool
async def count(to: int, ctx: Context) -> str:
    """Counts, and tells how far it is."""
    for number in range(1, to + 1):
        await ctx.report_progress(progress=number, total=to, message=f"number {number}")
    return f"counted to {to}"


@dataclass
class Person:
    name: str
    age: int


@mcp.tool
async def greet(ctx: Context) -> str:
    """Greets whoever answers."""
    answer = await ctx.elicit("Who are you?", response_type=Person)
    return f"Hello {answer.data.name}, {answer.data.age}" if answer.action == "accept" else answer.action


def ask_model(about: str) -> types.CreateMessageRequestParams:
    text = types.TextContent(type="text", text=f"Write a poem about {about}.")
    return types.CreateMessageRequestParams(messages=[types.SamplingMessage(role="user", content=text)], max_tokens=99)


@mcp.tool
async def poem(about: str, ctx: Context) -> str:
    """Asks a model for a poem, in a session."""
    ask = ask_model(about)
    answer = await ctx.session.create_message(ask.messages, max_tokens=ask.max_tokens)
    return f"The model says: {answer.content.text}"


@mcp.tool
async def interview(ctx: Context) -> str | types.InputRequiredResult:
    """Asks a person and a model at once, where there are no sessions."""
    answers = ctx.input_responses
    if answers is None:
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        form = types.ElicitRequestFormParams(message="Who are you?", requested_schema=schema)
        return types.InputRequiredResult(
            input_requests={
                "person": types.ElicitRequest(method="elicitation/create", params=form),
                "model": types.CreateMessageRequest(method="sampling/createMessage", params=ask_model("you")),
            }
        )
    return f"{answers['person'].content['name']} reads: {answers['model'].content.text}"


@mcp.resource("fastmcp://greeting/{name}")
def greeting(name: str) -> str:
    """A greeting."""
    return f"Hello, {name}!"


@mcp.prompt
def explain(what: str) -> str:
    """Explains something."""
    return f"Explain {what}, please."


if __name__ == "__main__":
    mcp.run(show_banner=False)
