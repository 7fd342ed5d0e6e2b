"""Send a PDF and ask about it, with Gradio's own client: pip install gradio_client

    python examples/ask_with_gradio_client.py http://127.0.0.1:7860 report.pdf "How often are the meters read?"

A token (`pdfqa tokens add NAME`) is needed unless the server runs on this computer: PDFQA_TOKEN=pdfqa_…
"""

from __future__ import annotations

import os
import sys

from gradio_client import Client, handle_file


def main(url: str, pdf: str, question: str) -> None:
    """Read the PDF in, then print the answer as it is written, and its sources."""
    token = os.environ.get("PDFQA_TOKEN", "")
    client = Client(url, headers={"Authorization": f"Bearer {token}"} if token else None, verbose=False)

    job = client.submit(file=handle_file(pdf), api_name="/ingest")
    for step in job:
        if step["done"]:
            (document,) = step["documents"]
            print(f"{document['filename']}: {document['state']}, {document['pages']} pages")
    job.result()  # raises what went wrong, if anything did

    job = client.submit(question=question, documents=[document["document_id"]], api_name="/ask")
    written = ""
    for step in job:
        if not step["done"] and step["answer"].startswith(written):
            print(step["answer"][len(written) :], end="", flush=True)
            written = step["answer"]
        elif step["done"]:
            print(f"\n\n{step['answer']}")
            for citation in step["citations"]:
                print(f"[{citation['number']}] {citation['filename']}, p. {citation['page']}: {citation['quote']}")
    job.result()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
