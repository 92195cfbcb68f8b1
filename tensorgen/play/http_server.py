"""The server: a page and its files, examples, and jobs."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tensorgen.explanation.style import STYLE, lights
from tensorgen.play.budgets import Budget, BusyError, Workers
from tensorgen.play.gallery import gallery
from tensorgen.play.guard import Guard, new_token

if TYPE_CHECKING:
    from starlette.types import ASGIApp

ADDRESS = "127.0.0.1"
JOBS = ("compile", "explain", "check", "time")
LIGHTS = 60
"""How many values of a function light up while one points at them."""
FILES = {"/": "page.html", "/page.css": "page.css", "/page.js": "page.js"}
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


def application(token: str, workers: Workers) -> ASGIApp:
    """Return what answers requests whose path starts with the token."""

    async def asked(request: Request) -> Response:
        job = request.path_params["job"]
        if job not in JOBS:
            raise HTTPException(404)
        given = await _given(request, workers.budget.request)
        try:
            answer = await workers.run(job, given, request.is_disconnected)
        except BusyError:
            raise HTTPException(503, "too much is being computed; ask again") from None
        return JSONResponse(answer)

    async def examples(request: Request) -> Response:
        return JSONResponse(gallery())

    routes = [Route(path, _file(name)) for path, name in FILES.items()]
    routes += [Route("/examples", examples), Route("/run/{job}", asked, methods=_POST)]
    return Guard(Starlette(routes=routes), token)


_POST = ["POST"]


async def _given(request: Request, most: int) -> dict[str, Any]:
    """Return what the page sent, or refuse it."""
    if request.headers.get("content-type") != "application/json":
        raise HTTPException(415, "JSON is expected")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise HTTPException(413, f"more than {most:,} bytes")
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, "this is no JSON") from None
    if not isinstance(given, dict):
        raise HTTPException(400, "an object is expected")
    return given


def _file(name: str) -> Callable[[Request], Response]:
    """Return what answers with a file of the page."""
    text = (files("tensorgen.play") / "page" / name).read_text(encoding="utf-8")
    if name == "page.css":  # sections look as on a page of `tensorgen explain`
        text = "\n".join([STYLE, lights(LIGHTS), text])
    kind = _TYPES[name.rpartition(".")[2]]

    def answer(request: Request) -> Response:
        return Response(text, media_type=f"{kind}; charset=utf-8")

    return answer


def serve(port: int, tell: Callable[[str], None]) -> None:
    """Answer until interrupted; `tell` hears the address of the page first.

    Raises `OSError` where the port is taken, and `KeyboardInterrupt` in the end.
    """
    token = new_token()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        if os.name == "posix":  # elsewhere it would let others listen here as well
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((ADDRESS, port))
        listening.listen()
        tell(f"http://{ADDRESS}:{listening.getsockname()[1]}/{token}/")
        # No log of requests: their paths hold the token.
        workers = Workers(Budget())
        threading.Thread(target=workers.warm, daemon=True).start()
        config = uvicorn.Config(
            *(application(token, workers), ADDRESS),
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        uvicorn.Server(config).run(sockets=[listening])
        # It ends when it is interrupted alone, and has perhaps swallowed that.
        raise KeyboardInterrupt
