"""A FastMCP server with something for each panel of the inspector's page."""

from typing import Annotated, Literal

import anyio
import mcp_types as types
from fastmcp import Context, FastMCP
from fastmcp.apps.config import AppConfig
from fastmcp_tasks import TasksExtension
from pydantic import BaseModel, Field

mcp = FastMCP("panels", version="1.0.0", instructions="Serves the tests of a page.")
mcp.add_extension(TasksExtension(url="memory://"))

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


@mcp.tool(annotations={"readOnlyHint": True})
def echo(message: str) -> str:
    """Returns its message."""
    return f"Echo: {message}"


class Stop(BaseModel):
    city: Annotated[str, Field(description="Where to stop")]
    nights: Annotated[int, Field(ge=1, le=30)] = 1


class Trip(BaseModel):
    traveller: str
    by: Literal["train", "bicycle", "ship"] = "train"
    stops: list[Stop]


@mcp.tool
def plan(trip: Trip) -> str:
    """Plans a trip."""
    stops = ", ".join(f"{stop.city} for {stop.nights}" for stop in trip.stops)
    return f"{trip.traveller} goes by {trip.by}: {stops}"


@mcp.tool
async def count(to: int, ctx: Context, pause: float = 0.05) -> str:
    """Counts, and reports its progress."""
    for number in range(1, to + 1):
        await ctx.report_progress(progress=number, total=to, message=f"number {number}")
        await anyio.sleep(pause)
    return f"counted to {to}"


@mcp.tool
async def speak(ctx: Context) -> str:
    """Sends a log message of each level."""
    for level in LEVELS:
        await ctx.log(f"spoken at {level}", level=level, logger_name="panels")
    return "spoken"


class Person(BaseModel):
    name: str
    age: int


def has_sessions(ctx):
    return ctx.session.protocol_version < "2026"


@mcp.tool(output_schema=None)
async def greet(ctx: Context) -> str | types.InputRequiredResult:
    """Asks for a name, and greets."""
    if has_sessions(ctx):
        answer = await ctx.elicit("Who are you?", response_type=Person)
        return f"Hello {answer.data.name}, {answer.data.age}" if answer.action == "accept" else f"action: {answer.action}"
    if ctx.input_responses is None:
        form = types.ElicitRequestFormParams(message="Who are you?", requested_schema=Person.model_json_schema())
        ask = types.ElicitRequest(method="elicitation/create", params=form)
        return types.InputRequiredResult(input_requests={"person": ask})
    answer = ctx.input_responses["person"]
    if answer.action != "accept":
        return f"action: {answer.action}"
    return f"Hello {answer.content['name']}, {answer.content['age']}"


@mcp.tool(output_schema=None)
async def consent(url: str, ctx: Context) -> str | types.InputRequiredResult:
    """Asks for consent at a URL."""
    if has_sessions(ctx):
        answer = await ctx.session.elicit_url("Please consent.", url, "consent", related_request_id=ctx.request_id)
    elif ctx.input_responses is None:
        params = types.ElicitRequestURLParams(message="Please consent.", url=url)
        ask = types.ElicitRequest(method="elicitation/create", params=params)
        return types.InputRequiredResult(input_requests={"consent": ask})
    else:
        answer = ctx.input_responses["consent"]
    return f"action: {answer.action}"


@mcp.tool(output_schema=None)
async def poem(about: str, ctx: Context) -> str | types.InputRequiredResult:
    """Asks the model of the client for a poem."""
    text = types.TextContent(type="text", text=f"Write a poem about {about}.")
    messages = [types.SamplingMessage(role="user", content=text)]
    if has_sessions(ctx):
        answer = await ctx.session.create_message(messages, max_tokens=99)
    elif ctx.input_responses is None:
        params = types.CreateMessageRequestParams(messages=messages, max_tokens=99)
        ask = types.CreateMessageRequest(method="sampling/createMessage", params=params)
        return types.InputRequiredResult(input_requests={"model": ask})
    else:
        answer = ctx.input_responses["model"]
    return f"The model says: {answer.content.text}"


@mcp.tool(task=True)
async def research(topic: str, seconds: float = 1.5) -> str:
    """Looks into a topic, as a task."""
    await anyio.sleep(seconds)
    return f"All about {topic}"


@mcp.tool(app=AppConfig(resource_uri="ui://panels/card"))
def card(name: str = "Ada") -> str:
    """Shows a card."""
    return f"The card of {name}"


@mcp.resource("ui://panels/card")
def card_view() -> str:
    return """<!doctype html>
<p id="text">waiting</p>
<script>
const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
addEventListener("message", ({ data }) => {
  if (data.id === 1) send({ method: "ui/notifications/initialized" });
  if (data.method !== "ui/notifications/tool-result") return;
  document.getElementById("text").textContent = data.params.content[0].text;
});
const app = { protocolVersion: "2026-01-26", appInfo: { name: "card", version: "1" }, appCapabilities: {} };
send({ id: 1, method: "ui/initialize", params: app });
</script>
"""


@mcp.resource("panels://greeting", mime_type="text/plain")
def greeting() -> str:
    """A greeting."""
    return "Hello from a resource"


@mcp.resource("panels://greeting/{name}")
def greeting_of(name: str) -> str:
    """A greeting for a name."""
    return f"Hello, {name}!"


TOPICS = ["tides", "timber", "tin"]


@mcp.prompt
def explain(topic: str) -> str:
    """Asks for an explanation."""
    return f"Explain {topic}, please."


@mcp.completion
async def complete(_ref, argument, _context):
    return [topic for topic in TOPICS if topic.startswith(argument.value)]


if __name__ == "__main__":
    mcp.run(show_banner=False)
