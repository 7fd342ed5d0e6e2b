"""Send a PDF and ask about it by plain HTTP, as from any language: pip install httpx

    python examples/ask_with_http.py http://127.0.0.1:7860 report.pdf "How often are the meters read?"

A token (`pdfqa tokens add NAME`) is needed unless the server runs on this computer: PDFQA_TOKEN=pdfqa_…
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx


def steps(client: httpx.Client, endpoint: str, **arguments: Any) -> Iterator[dict[str, Any]]:
    """Call an endpoint and yield what it streams (server-sent events); raises RuntimeError with the server's words."""
    begun = client.post(f"/gradio_api/call/v2/{endpoint}", json=arguments)
    begun.raise_for_status()
    event = ""
    with client.stream("GET", f"/gradio_api/call/v2/{endpoint}/{begun.json()['event_id']}") as lines:
        for line in lines.iter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            elif name == "data" and event == "error":
                raise RuntimeError(json.loads(value)["error"])
            elif name == "data" and event in ("generating", "complete") and (data := json.loads(value)):
                yield data[0]


def main(url: str, pdf: str, question: str) -> None:
    """Read the PDF in, search in it, and print the answer with its sources."""
    token = os.environ.get("PDFQA_TOKEN", "")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with httpx.Client(base_url=url, headers=headers, timeout=600) as client:
        with Path(pdf).open("rb") as file:
            sent = client.post("/gradio_api/upload", files={"files": file})
        sent.raise_for_status()
        uploaded = {"path": sent.json()[0], "orig_name": Path(pdf).name, "meta": {"_type": "gradio.FileData"}}
        *_, read = steps(client, "ingest", file=uploaded)
        (document,) = read["documents"]
        print(f"{document['filename']}: {document['state']}, {document['pages']} pages")
        *_, found = steps(client, "search", question=question, k=3, documents=[document["document_id"]])
        for hit in found["hits"]:
            print(f"{hit['rank']}. p. {', '.join(map(str, hit['pages']))}: {' '.join(hit['text'].split())[:80]}…")
        *_, answer = steps(client, "ask", question=question, documents=[document["document_id"]])
        print(f"\n{answer['answer']}")
        for citation in answer["citations"]:
            print(f"[{citation['number']}] {citation['filename']}, p. {citation['page']}: {citation['quote']}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
