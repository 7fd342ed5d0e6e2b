"""Use the tools that assistants get from `pdfqa serve --mcp`: pip install "mcp<2"

    python examples/ask_with_mcp.py http://127.0.0.1:7860 "How often are the meters read?"

A token (`pdfqa tokens add NAME`) is needed unless the server runs on this computer: PDFQA_TOKEN=pdfqa_…
"""

from __future__ import annotations

import asyncio
import os
import sys

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, question: str) -> None:
    """Print the tools, the documents, and the answer with its sources."""
    token = os.environ.get("PDFQA_TOKEN", "")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx.AsyncClient(headers=headers, timeout=600) as client,
        streamable_http_client(f"{url.rstrip('/')}/gradio_api/mcp/", http_client=client) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        for tool in (await session.list_tools()).tools:
            print(f"{tool.name}: {(tool.description or '').partition('.')[0]}.")
        for name, arguments in (("list_documents", {}), ("ask", {"question": question})):
            result = await session.call_tool(name, arguments)
            print(f"\n# {name}{' failed' if result.isError else ''}")
            for part in result.content:
                print(getattr(part, "text", ""))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
