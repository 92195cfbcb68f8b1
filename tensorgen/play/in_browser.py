"""What answers the page in a browser without a server, where Python is Pyodide.

The page's own script calls it in a worker, which it ends when the time of a job is
over: `page/answers_here.js` and `page/python_worker.js`.
"""

from __future__ import annotations

import json

from tensorgen.play.requests import Budget, RefusedError, read_request
from tensorgen.play.worker import work

BUDGET = Budget(seconds=120.0)
"""Python takes two or three times as long there, and nobody else waits for it."""


def answer(job: str, body: str) -> str:
    """Return as JSON what a page gets for a request of a job, whose body is JSON."""
    try:
        told = work(job, read_request(body.encode(), BUDGET))
    except RefusedError as error:
        told = {"stopped": error.why}
    return json.dumps(told)
