"""What the programs in Python share."""

import json
import os
import urllib.request
from urllib.parse import urlsplit

URL = os.environ["RAGD_MCP_URL"]
ORIGIN = "{0.scheme}://{0.netloc}".format(urlsplit(URL))


def rpc(method, body):
    request = urllib.request.Request(f"{ORIGIN}/ragd.v1.{method}", json.dumps(body).encode(), {
        "Content-Type": "application/json", "Authorization": "Bearer " + os.environ["RAGD_ACME_KEY"],
    })
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


async def pages(session):
    page = await session.list_tools()
    listed = page.tools
    while page.nextCursor:
        page = await session.list_tools(page.nextCursor)
        listed += page.tools
    return listed


async def names(session):
    return [tool.name for tool in await pages(session)]
