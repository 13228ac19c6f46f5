"""A round trip with generated clients: `GENERATE_SERVERS` has the command lines of the servers, `GENERATE_FOLDER` a
folder that the server of files may write to.
"""

from __future__ import annotations

import asyncio
import json
import os

from everything import Everything
from filesystem import Filesystem, ToolError
from mcp import Client, StdioServerParameters
from mcp_types import TextContent
from sqlite import Sqlite

SERVERS: dict[str, list[str]] = json.loads(os.environ["GENERATE_SERVERS"])


def connect(name: str) -> Client:
    command, *args = SERVERS[name]
    return Client(StdioServerParameters(command=command, args=args))


async def with_everything() -> None:
    async with connect("everything") as client:
        everything = Everything(client)
        echo = await everything.echo({"message": "hi"}, timeout=30)
        assert [block.text for block in echo.content if isinstance(block, TextContent)] == ["Echo: hi"]
        weather = await everything.get_structured_content({"location": "Chicago"})
        assert weather["conditions"] and weather["humidity"] > 0
        assert len((await everything.prompt_args_prompt({"city": "Oslo"})).messages) == 1
        assert len((await everything.read_dynamic_text_resource({"resourceId": "1"})).contents) == 1


async def with_filesystem() -> None:
    async with connect("filesystem") as client:
        files = Filesystem(client)
        path = os.environ["GENERATE_FOLDER"] + "/python.txt"
        await files.write_file({"path": path, "content": "one\ntwo\n"})
        assert (await files.read_text_file({"path": path, "head": 1}))["content"].rstrip() == "one"
        try:
            await files.read_text_file({"path": path + ".missing"})
        except ToolError as error:
            assert error.tool == "read_text_file"
        else:
            raise AssertionError("a file that is missing was read")


async def with_sqlite() -> None:
    async with connect("sqlite") as client:
        sqlite = Sqlite(client)
        await sqlite.execute({"sql": "CREATE TABLE python (a, b)"})
        await sqlite.execute({"sql": "INSERT INTO python VALUES (1, 'x')"})
        query = await sqlite.query({"sql": "SELECT * FROM python"})
        assert (query["columns"], query["rows"]) == (["a", "b"], [[1, "x"]])


async def main() -> None:
    await with_everything()
    await with_filesystem()
    await with_sqlite()


asyncio.run(main())
