"""The log-in of the Python SDK, as in login.mjs."""

import asyncio
import os
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamablehttp_client
from mcp.shared.auth import OAuthClientMetadata

BASE = os.environ["RAGD_MCP_URL"]
CALLBACK = "http://127.0.0.1:9/callback"


class Memory:
    """Keeps what a client must remember."""

    token = client = None

    async def get_tokens(self):
        return self.token

    async def set_tokens(self, token):
        self.token = token

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Browser:
    async def open(self, address):
        self.asked = parse_qs(urlsplit(address).query)
        async with httpx.AsyncClient() as client:
            for _ in range(10):
                answer = await client.get(address)
                assert answer.is_redirect, (address, answer.status_code, answer.text)
                address = urljoin(address, answer.headers["Location"])
                if address.startswith(CALLBACK):
                    found = parse_qs(urlsplit(address).query)
                    self.code, self.state = found["code"][0], found.get("state", [None])[0]
                    return

    async def answer(self):
        return self.code, self.state


async def main():
    for address in [BASE, BASE + "/handbook", BASE.replace("/mcp", "/t/acme/mcp/handbook")]:
        browser = Browser()
        metadata = OAuthClientMetadata(
            client_name="login", redirect_uris=[CALLBACK], token_endpoint_auth_method="none",
            grant_types=["authorization_code"], response_types=["code"],
        )
        login = OAuthClientProvider(address, metadata, Memory(), browser.open, browser.answer)
        async with streamablehttp_client(address, auth=login) as (read, write, _):
            async with ClientSession(read, write) as session:
                await session.initialize()
                assert (await session.list_tools()).tools
        assert browser.asked["resource"] == [address], browser.asked
        assert os.environ["RAGD_SCOPE_PREFIX"] + "read" in browser.asked["scope"][0].split(), browser.asked


asyncio.run(main())
