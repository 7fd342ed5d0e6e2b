"""Write the table of all measures into docs/metrics.md: `python scripts/metrics_table.py [PAGE]`.

The table stands between two comments of the page and is made of what the measures say about themselves.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pdfqa_core.metrics.catalogue import markdown_table  # noqa: E402

START, END = "<!-- table -->", "<!-- end of table -->"


def main() -> None:
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "metrics.md"
    before, start, rest = page.read_text("utf-8").partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise SystemExit(f"{page} has no {START} … {END}.")
    text = f"{before}{START}\n\n{markdown_table()}\n\n{END}{after}"
    changed = text != page.read_text("utf-8")
    page.write_text(text, "utf-8")
    print(f"{page}: {'written' if changed else 'up to date'}")


if __name__ == "__main__":
    main()
