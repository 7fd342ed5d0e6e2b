"""What browsers are told of every answer: it loads nothing from elsewhere, nobody frames it, no address leaves it."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SPACE = ".hf.space"  # how the names of Hugging Face Spaces end, which are shown in a frame of huggingface.co
FRAMES_OF_SPACES = "https://huggingface.co https://*.hf.space"
POLICY = {
    "default-src": "'self'",
    "script-src": "'self' 'unsafe-inline' 'unsafe-eval'",  # Gradio makes functions of the scripts of its events
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "media-src": "'self' data: blob:",
    "connect-src": "'self' data: blob:",
    "worker-src": "'self' blob:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
}


class SafeHeaders:
    """Middleware that adds them. `names` are those of the server: a Space of Hugging Face may stand in its frame."""

    def __init__(self, app: ASGIApp, *, names: Iterable[str] = ()) -> None:
        self._app = app
        space = any(name.strip().lower().endswith(SPACE) for name in names)
        policy = {**POLICY, "frame-ancestors": f"'self' {FRAMES_OF_SPACES}" if space else "'self'"}
        self._headers = {
            "content-security-policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
            "referrer-policy": "same-origin",  # with no-referrer the forms of the page would have no origin
            "x-content-type-options": "nosniff",
            **({} if space else {"x-frame-options": "SAMEORIGIN"}),  # it can name no other page
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with these headers."""

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        await self._app(scope, receive, told)
