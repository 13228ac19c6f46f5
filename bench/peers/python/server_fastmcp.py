"""The server of the benchmark with `fastmcp`: server_fastmcp.py stdio | http PORT [json]"""
import sys

from fastmcp import FastMCP
from fastmcp.tools import Tool

mcp = FastMCP("bench")


@mcp.tool(description="Add two integers", output_schema=None)
async def add(a: int, b: int) -> str:
    return str(a + b)


@mcp.tool(description="Return the text unchanged", output_schema=None)
async def echo(text: str) -> str:
    return text


@mcp.tool(description="Return a text of the given size", output_schema=None)
async def payload(bytes: int) -> str:
    return "x" * bytes


async def dummy(query: str, limit: int = 0) -> str:
    return "ok"


for i in range(100):
    mcp.add_tool(Tool.from_function(dummy, name=f"dummy_{i:03}", description=f"Dummy tool number {i}", output_schema=None))

if sys.argv[1:2] == ["http"]:
    mcp.run(
        "http",
        host="127.0.0.1",
        port=int(sys.argv[2]),
        json_response=sys.argv[3:4] == ["json"],
        log_level="error",
        show_banner=False,
    )
else:
    mcp.run("stdio", show_banner=False)
