"""`couplet openapi` with the Python SDK as its client: `client.py <couplet> <petstore.json>`.

Every style of parameters, every kind of body and every security scheme is called, and so is a pet store of the shape of a
public document, over stdio and HTTP. The program prints a line for each part that went as it should.
"""

import asyncio
import base64
import json
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path

from mcp import Client, StdioServerParameters

import api

LIST = ["blue", "a,b", "é/&"]
OBJECT = {"r": "100", "g": "x y"}
CREDENTIALS = {
    "inHeader": "header-key",
    "inQuery": "query key",
    "inCookie": "cookie;key",
    "login": "ann:pass:word",
    "token": "a-bearer-token",
    "client": "client:client-secret",
    "oidc": "an-access-token",
}


def expect(what, found, expected):
    if found != expected:
        raise AssertionError(f"{what}: expected {expected!r}, found {found!r}")


async def call(client, tool, arguments=None):
    """Calls a tool; returns its structured content, or else its text."""
    result = await client.call_tool(tool, arguments or {})
    if result.is_error:
        raise RuntimeError(result.content[0].text)
    return result.structured_content or result.content[0].text


async def refused(client, tool, arguments=None):
    """Calls a tool that fails; returns what it says."""
    result = await client.call_tool(tool, arguments or {})
    expect(f"{tool} fails", result.is_error, True)
    return result.content[0].text


async def parameters(client, _api):
    for tool, value, expected in [
        ("pathSimple", LIST, "blue,a%2Cb,%C3%A9%2F%26"),
        ("pathSimple", OBJECT, "r,100,g,x%20y"),
        ("pathSimpleExploded", OBJECT, "r=100,g=x%20y"),
        ("pathLabel", LIST, ".blue,a%2Cb,%C3%A9%2F%26"),
        ("pathLabelExploded", LIST, ".blue.a%2Cb.%C3%A9%2F%26"),
        ("pathLabelExploded", OBJECT, ".r=100.g=x%20y"),
        ("pathMatrix", LIST, ";value=blue,a%2Cb,%C3%A9%2F%26"),
        ("pathMatrixExploded", LIST, ";value=blue;value=a%2Cb;value=%C3%A9%2F%26"),
        ("pathMatrixExploded", OBJECT, ";r=100;g=x%20y"),
    ]:
        seen = await call(client, tool, {"value": value})
        segment = seen["path"].split("/")[4]
        # The members of an object have no order.
        split = lambda text: sorted(text.replace(";", ",").replace(".", ",").split(","))
        expect(tool, split(segment), split(expected))
    for tool, value, expected in [
        ("queryForm", LIST, [["value", item] for item in LIST]),
        ("queryForm", OBJECT, [[key, value] for key, value in OBJECT.items()]),
        ("querySpace", ["a", "b"], [["value", "a b"]]),
        ("queryPipe", ["a", "b"], [["value", "a|b"]]),
        ("queryDeep", OBJECT, [[f"value[{key}]", value] for key, value in OBJECT.items()]),
        ("queryReserved", "a/b?c&d=e", [["value", "a/b?c&d=e"]]),
    ]:
        seen = await call(client, tool, {"value": value})
        expect(tool, sorted(seen["query"]), sorted(expected))
    expect("joined", (await call(client, "queryFormJoined", {"value": LIST}))["raw_query"], "value=blue,a%2Cb,%C3%A9%2F%26")
    expect("JSON", json.loads((await call(client, "queryJson", {"value": OBJECT}))["query"][0][1]), OBJECT)
    expect("reserved", (await call(client, "queryReserved", {"value": "a/b?c"}))["raw_query"], "value=a/b?c")
    for tool, value, expected in [
        ("header", ["a", "b"], "a,b"),
        ("headerExploded", {"r": "1", "g": "2"}, "g=2,r=1"),
    ]:
        found = (await call(client, tool, {"X-Value": value}))["headers"]["x-value"]
        expect(tool, ",".join(sorted(found.split(","))), expected)
    expect("cookie", (await call(client, "cookie", {"value": "a; session=b"}))["cookies"], {"value": "a; session=b"})
    for tool, arguments in [
        ("pathSimple", {"value": "../admin"}),
        ("pathSimple", {"value": ""}),
        ("header", {"X-Value": "a\r\nX-Key: b"}),
        ("queryForm", {"value": {"key": "mine"}}),
    ]:
        await refused(client, tool, arguments)


async def bodies(client, _api):
    pet = {"name": "Rex & co", "tags": ["a", "b"], "owner": {"id": 7}}
    for tool, method, kind in [("bodyJson", "POST", "application/json"), ("bodyMerge", "PATCH", "application/merge-patch+json")]:
        seen = await call(client, tool, pet)
        expect(tool, (seen["method"], seen["headers"]["content-type"], seen["body"]), (method, kind, pet))
    expect("list", (await call(client, "bodyList", {"body": [pet]}))["body"], [pet])
    form = await call(client, "bodyForm", pet)
    expect("form", sorted(form["body"]), [["name", "Rex & co"], ["owner", '{"id":7}'], ["tags", "a"], ["tags", "b"]])
    deep = await call(client, "bodyFormDeep", pet)
    expect("deep form", sorted(deep["body"]), [["name", "Rex & co"], ["owner[id]", "7"], ["tags", "a,b"]])
    data = bytes(range(256)) + b"\r\n--couplet"
    encoded = base64.b64encode(data).decode()
    files = {"picture": {"base64": encoded, "filename": 'a"b.png'}, "pages": [{"text": "one"}, {"text": "two"}]}
    parts = await call(client, "bodyParts", files | {"note": "hi", "owner": {"id": 7}})
    text = lambda content: base64.b64encode(content.encode()).decode()
    expect(
        "parts",
        sorted(parts["body"], key=str),
        [
            ["note", None, "text/plain", text("hi")],
            ["owner", None, "application/json", text('{"id":7}')],
            ["pages", "file", "application/octet-stream", text("one")],
            ["pages", "file", "application/octet-stream", text("two")],
            ["picture", "a%22b.png", "image/png", encoded],
        ],
    )
    expect("text", (await call(client, "bodyText", {"body": "hé"}))["body"], "hé")
    expect("XML", (await call(client, "bodyXml", {"body": "<a/>"}))["body"], "<a/>")
    expect("bytes", (await call(client, "bodyBytes", {"body": {"base64": encoded}}))["body"], encoded)


async def schemes(client, server):
    basic = "Basic " + base64.b64encode(b"ann:pass:word").decode()
    for tool, authorization, key, query, cookies in [
        ("authHeader", None, "header-key", [], {}),
        ("authQuery", None, None, [["key", "query key"]], {}),
        ("authCookie", None, None, [], {"session": "cookie;key"}),
        ("authBearer", "Bearer a-bearer-token", None, [], {}),
        ("authClient", "Bearer granted-1", None, [], {}),
        ("authClient", "Bearer granted-1", None, [], {}),
        ("authOidc", "Bearer an-access-token", None, [], {}),
        ("authBoth", basic, "header-key", [], {}),
        ("authEither", None, None, [["key", "query key"]], {}),
        ("authBasic", basic, None, [], {}),
        ("authNone", None, None, [], {}),
    ]:
        seen = await call(client, tool)
        found = seen["headers"].get("authorization"), seen["headers"].get("x-key"), seen["query"], seen["cookies"]
        # Long secrets are removed from what the model sees.
        is_long = authorization and len(authorization.split(" ")[1]) >= 16
        hidden = authorization.split(" ")[0] + " [redacted]" if is_long else authorization
        expect(tool, found, (hidden, key, query, cookies))
    expect("tokens", server.granted, 1)
    said = await refused(client, "authUnset")
    expect("the error names what is missing", ("`unset`" in said, "A key is needed." in said), (True, True))
    listed = (await client.list_tools()).tools
    named = {name for tool in listed if tool.name.startswith("auth") for name in tool.input_schema["properties"]}
    expect("no credential is an argument", named, set())


async def busy(client, server):
    await call(client, "busy")
    expect("retries", [path for _, path in server.seen].count("/v1/busy"), 3)


async def pets(client, server):
    rex = {"name": "Rex", "photoUrls": ["u"], "tags": [{"name": "dog"}], "status": "available"}
    added = await call(client, "addPet", rex)
    rex |= {"id": 7}
    expect("added", added, rex)
    expect("one", await call(client, "getPetById", {"petId": 7}), rex)
    expect("found", await call(client, "findPetsByStatus", {"status": ["sold", "available"]}), {"result": [rex]})
    await call(client, "updatePetWithForm", {"petId": 7, "name": "Max & co", "status": "sold"})
    expect("renamed", server.pets[7]["name"], "Max & co")
    expect("counted", await call(client, "getInventory"), {"sold": 1})
    picture = {"petId": 7, "additionalMetadata": "x", "file": {"base64": "AAEC", "media_type": "image/png"}}
    expect("stored", "file=image/png" in (await call(client, "uploadFile", picture))["message"], True)
    await call(client, "createUsersWithListInput", {"body": [{"username": "ann", "email": "a@b.c"}]})
    expect("user", (await call(client, "getUserByName", {"username": "ann"}))["email"], "a@b.c")
    login = {"username": "ann", "password": "p"}
    expect("login", await call(client, "loginUser", login), {"result": "logged in"})
    said = await refused(client, "loginUser", {"username": "bob", "password": "p"})
    expect("an error of the document", "Invalid username" in said, True)
    await call(client, "deletePet", {"petId": 7})
    said = await refused(client, "getPetById", {"petId": 7})
    expect("gone", ("404" in said, "Pet not found" in said), (True, True))


@asynccontextmanager
async def over_stdio(couplet, words, env):
    target = StdioServerParameters(command=couplet, args=["openapi", *words], env=env)
    async with Client(target) as client:
        yield client


@asynccontextmanager
async def over_http(couplet, words, env):
    words = [couplet, "openapi", *words, "--http", "127.0.0.1:0"]
    process = await asyncio.create_subprocess_exec(*words, env=env, stderr=asyncio.subprocess.PIPE)
    try:
        while b"serving at " not in (line := await asyncio.wait_for(process.stderr.readline(), 60)):
            if not line:
                raise RuntimeError("it does not serve")
        async with Client(line.decode().split("serving at ")[1].strip()) as client:
            yield client
    finally:
        process.terminate()
        await process.wait()


async def main(couplet, petstore):
    shapes = Path(__file__).with_name("shapes.yaml")
    env = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    env |= {f"SHAPES_{name.upper()}": value for name, value in CREDENTIALS.items()}
    env |= {"PETSTORE_TOKEN": api.BEARER.removeprefix("Bearer "), "PETSTORE_KEY": api.KEY, "NO_COLOR": "1"}
    for name, transport in [("stdio", over_stdio), ("http", over_http)]:
        server = api.start()
        port = server.server_address[1]
        auth = [word for name in CREDENTIALS for word in ("--auth", f"{name}=env:SHAPES_{name.upper()}")]
        words = [str(shapes), "--variable", f"port={port}", "--allow-private", *auth]
        async with transport(couplet, words, env) as client:
            for part in (parameters, bodies, schemes, busy):
                await part(client, server)
                print(name, part.__name__, "ok", flush=True)
        auth = ["--auth", "petstore_auth=env:PETSTORE_TOKEN", "--auth", "api_key=env:PETSTORE_KEY"]
        words = [petstore, "--base-url", f"http://127.0.0.1:{port}/v2", *auth]
        async with transport(couplet, words, env) as client:
            await pets(client, server)
            print(name, "pets ok", flush=True)


asyncio.run(main(*sys.argv[1:]))
