"""`tensorgen play`: a page to type formulas on, and to read what becomes of them."""

from __future__ import annotations

import webbrowser
from threading import Thread

import click

from tensorgen.cli import streams


@click.command("play")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Where to listen on this machine; by default a free port.",
)
@click.option("--no-browser", is_flag=True, help="Open no browser; print the address.")
def command(port: int, no_browser: bool) -> None:
    """Serve a page to type formulas on, to this machine alone (needs Starlette).

    Whoever has its address can use it: it contains a secret.
    """
    try:
        from tensorgen.play.http_server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        message = "play needs Starlette and uvicorn: pip install 'tensorgen[web]'"
        raise click.UsageError(message) from error

    def tell(address: str) -> None:
        streams.say(f"{address}\npress Ctrl-C to leave")
        if not no_browser:
            # A browser that stays in the terminal must not keep the server waiting.
            Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    serve(port, tell)
