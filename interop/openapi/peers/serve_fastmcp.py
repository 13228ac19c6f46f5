"""The tools that `fastmcp` makes of a document, on stdio: serve_fastmcp.py DOCUMENT"""
import json
import sys

import httpx2
from fastmcp import FastMCP

with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
client = httpx2.AsyncClient(base_url="https://api.example.com")
FastMCP.from_openapi(document, client=client).run(show_banner=False)
