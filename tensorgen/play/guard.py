"""Who may ask at all: a page that was opened by its address, on this machine.

Any page that is open in a browser can send requests to this machine, and so can any
program on it. So every path starts with a secret, the host that was asked must be
this machine by its own name: not one of another's that leads here (DNS rebinding), and
a request that says from which page it comes must come from one of that host.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost")
POLICY = "; ".join(
    (
        "default-src 'none'",
        *(f"{what}-src 'self'" for what in ("script", "style", "connect")),
        "img-src 'self' data:",
        *(f"{what} 'none'" for what in ("base-uri", "form-action", "frame-ancestors")),
    )
)
"""No script or style but those of files, and nothing from elsewhere."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def new_token() -> str:
    """Return a secret that nobody guesses, of characters that addresses may hold."""
    return secrets.token_urlsafe(24)


class Guard:
    """Lets requests with the token through, without it in their path."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or say why not."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # there are no other connections

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self._refusal(scope)
        if answer is not None:
            await answer(scope, receive, sent)
            return
        path = scope["path"].removeprefix(f"/{self._token.decode()}")
        inner = {**scope, "path": path, "raw_path": path.encode()}
        await self._app(inner, receive, sent)

    def _refusal(self, scope: Scope) -> Response | None:
        asked = Headers(scope=scope).getlist("host")
        if len(asked) != 1 or asked[0].partition(":")[0] not in HOSTS:
            return PlainTextResponse("this is not the name of this machine", 421)
        origins = Headers(scope=scope).getlist("origin")
        if any(origin != f"http://{asked[0]}" for origin in origins):
            return PlainTextResponse("this comes from a page of another origin", 403)
        path = scope["path"]
        given = [*path.split("/"), ""][1].encode("utf-8", "replace")
        if not secrets.compare_digest(given, self._token):
            return PlainTextResponse("open the address printed by tensorgen play", 403)
        if path.count("/") == 1:  # what a page asks for is relative to its folder
            return RedirectResponse(f"{path}/")
        return None
