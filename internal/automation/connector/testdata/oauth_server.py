"""An MCP server of FastMCP whose users sign in at FastMCP's own authorization server."""

import sys

from fastmcp import FastMCP
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from mcp.server.auth.settings import ClientRegistrationOptions

port = int(sys.argv[1])
address = f"http://127.0.0.1:{port}"
mcp = FastMCP(
    "notes",
    auth=InMemoryOAuthProvider(
        base_url=address,
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["read"], default_scopes=["read"]),
        required_scopes=["read"],
    ),
)


@mcp.resource("note://plan", name="plan", description="The plan", mime_type="text/markdown")
def plan() -> str:
    return "# Plan\n\nBuild a harbour."


@mcp.resource("note://{name}/text", mime_type="text/plain")
def note(name: str) -> str:
    return f"The note {name}."


@mcp.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


mcp.run(transport="http", host="127.0.0.1", port=port, path="/mcp")
