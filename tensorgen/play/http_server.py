"""The server: a page and its files, examples, and jobs."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tensorgen.play.gallery import gallery
from tensorgen.play.guard import Guard, new_token
from tensorgen.play.page_files import EXAMPLES, FILES, page_file
from tensorgen.play.processes import BusyError, Workers
from tensorgen.play.requests import JOBS, Budget, RefusedError, read_request

if TYPE_CHECKING:
    from starlette.types import ASGIApp

ADDRESS = "127.0.0.1"
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


def application(token: str, workers: Workers) -> ASGIApp:
    """Return what answers requests whose path starts with the token."""

    async def asked(request: Request) -> Response:
        job = request.path_params["job"]
        if job not in JOBS:
            raise HTTPException(404)
        given = await _given(request, workers.budget)
        try:
            answer = await workers.run(job, given, request.is_disconnected)
        except BusyError:
            raise HTTPException(503, "too much is being computed; ask again") from None
        return _json(answer)

    async def examples(request: Request) -> Response:
        return _json(gallery())

    routes = [Route(f"/{path}", _file(name)) for path, name in FILES.items()]
    routes += [Route(f"/{EXAMPLES}", examples)]
    routes += [Route("/run/{job}", asked, methods=_POST)]
    return Guard(Starlette(routes=routes), token)


_POST = ["POST"]


def _json(told: Any) -> Response:
    """An answer: escaped, for half of a pair of surrogates has no other form."""
    return Response(json.dumps(told), media_type="application/json")


async def _given(request: Request, budget: Budget) -> dict[str, Any]:
    """Return what the page sent, or refuse it."""
    if request.headers.get("content-type") != "application/json":
        raise HTTPException(415, "JSON is expected")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > budget.request:
            break
    try:
        return read_request(bytes(body), budget)
    except RefusedError as error:
        raise HTTPException(error.code, error.why) from None


def _file(name: str) -> Callable[[Request], Response]:
    text = page_file(name)
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
