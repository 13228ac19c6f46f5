"""A proxy with `fastmcp`, as its documentation sets it up: fastmcp_proxy.py PORT PROGRAM [ARGUMENT..]"""
import sys

from fastmcp.server import create_proxy

port, program, *arguments = sys.argv[1:]
config = {"mcpServers": {"bench": {"command": program, "args": arguments}}}
create_proxy(config, name="bench").run(
    "http", host="127.0.0.1", port=int(port), log_level="error", show_banner=False
)
