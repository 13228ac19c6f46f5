"""`from_openapi.py SPEC OUT`: the tools that FastMCP makes of a document, as `tools/list` has them.

`from_openapi.py --json SPEC OUT` only writes a document in YAML as JSON, for libraries that read nothing else.
"""

import asyncio
import json
import resource
import sys
import time
from pathlib import Path

if sys.argv[1] == "--json":
    import yaml

    Path(sys.argv[3]).write_text(json.dumps(yaml.load(Path(sys.argv[2]).read_text(), Loader=yaml.CSafeLoader), default=str))
    sys.exit()

from fastmcp import Client, FastMCP  # noqa: E402

try:
    import httpx2 as httpx
except ImportError:
    import httpx


async def main(spec, out):
    start = time.perf_counter()
    document = json.loads(Path(spec).read_text())
    api = httpx.AsyncClient(base_url="https://api.example.com")
    server = FastMCP.from_openapi(openapi_spec=document, client=api)
    async with Client(server) as client:
        tools = await client.list_tools()
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    text = json.dumps({"tools": listed})
    seconds = time.perf_counter() - start
    Path(out).write_text(text)
    print(json.dumps({"seconds": seconds, "kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


asyncio.run(main(*sys.argv[1:]))
