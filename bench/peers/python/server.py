"""The server of the benchmark with the official Python SDK (`mcp`): server.py stdio | http PORT [json]"""
import sys

from mcp.server import MCPServer

mcp = MCPServer("bench", log_level="ERROR")


@mcp.tool(description="Add two integers", structured_output=False)
async def add(a: int, b: int) -> str:
    return str(a + b)


@mcp.tool(description="Return the text unchanged", structured_output=False)
async def echo(text: str) -> str:
    return text


@mcp.tool(description="Return a text of the given size", structured_output=False)
async def payload(bytes: int) -> str:
    return "x" * bytes


async def dummy(query: str, limit: int = 0) -> str:
    return "ok"


for i in range(100):
    mcp.add_tool(dummy, name=f"dummy_{i:03}", description=f"Dummy tool number {i}", structured_output=False)

if sys.argv[1:2] == ["http"]:
    mcp.run(
        "streamable-http",
        port=int(sys.argv[2]),
        json_response=sys.argv[3:4] == ["json"],
        max_request_body_size=64 << 20,
        max_sessions=None,
    )
else:
    mcp.run("stdio")
