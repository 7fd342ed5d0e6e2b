"""Where Gradio takes longest, at the import and in the browser, with the same result.

At every import it parses the source of each component class and writes a type stub beside it, which only an editor
reads: a third of the import's time. It leaves out classes that have no file, so its own are said to have none while it
is imported.

In the browser its script looks through all handlers for each component, and through all components for each value that
comes or goes: most of the time in which a page opens. `QuickPage` serves the script with an index in these places.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send


@contextmanager
def _without_files() -> Iterator[None]:
    """Have `inspect` say that Gradio's classes come from no file."""
    known = inspect.getfile

    def getfile(described: Any) -> str:
        if isinstance(described, type) and described.__module__.startswith("gradio."):
            raise OSError(f"{described.__name__} is left without a type stub")
        return known(described)

    inspect.getfile = getfile  # type: ignore[assignment]  # takes whatever is described
    try:
        yield
    finally:
        inspect.getfile = known


with _without_files():
    import gradio

SCRIPTS = Path(gradio.__file__).parent / "templates" / "frontend" / "assets"
QUICKER = {  # what stands in the script, and what is served in its place
    # The events of a component: not all handlers are looked through for each one.
    "let n=t.filter(t=>t.targets.find(([t])=>t===e.id))"
    ".map(t=>{let n=t.targets.find(([t])=>t===e.id);return n?n[1]:null}).filter(Boolean);":
    "let a=this.by_target??=new WeakMap,i=a.get(t);if(!i){a.set(t,i=new Map);for(let d of t){let s=new Set;"
    "for(let[c,v]of d.targets)s.has(c)||(s.add(c),v&&(i.has(c)?i.get(c).push(v):i.set(c,[v])))}}"
    "let n=[...i.get(e.id)??[]];",
    # The component of an id: the tree of components is walked through once, and anew after a part of it is replaced.
    "function Z(e,t){if(e.id===t)return e;"
    "if(e.children)for(let n of e.children){let e=Z(n,t);if(e)return e}return null}":
    "var by_root=new WeakMap;function Z(e,t){let a=by_root.get(e);if(!a){by_root.set(e,a=new Map);"
    "let f=n=>{a.has(n.id)||a.set(n.id,n);if(n.children)for(let c of n.children)f(c)};f(e)}return a.get(t)??null}",
    "a.children=i.children,": "a.children=i.children,by_root=new WeakMap,",
}  # fmt: skip


def quick_scripts() -> dict[str, bytes]:
    """Return those of Gradio's scripts in which something is quicker, by their paths on the server."""
    found = {}
    for file in SCRIPTS.glob("core-*.js"):
        written = script = file.read_text(encoding="utf-8")
        for slow, quick in QUICKER.items():
            script = script.replace(slow, quick)
        if script != written:
            found[f"/assets/{file.name}"] = script.encode()
    return found


class QuickPage:
    """Middleware that serves these scripts; those of another Gradio, in which nothing of it is found, as they are."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._scripts = quick_scripts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        script = self._scripts.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "GET" else None
        if script is None:
            await self._app(scope, receive, send)
            return
        kept = {"cache-control": "max-age=3600"}  # its name stays the same when this program's part of it changes
        await Response(script, media_type="text/javascript", headers=kept)(scope, receive, send)
