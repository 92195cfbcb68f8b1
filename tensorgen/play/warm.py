"""What all jobs do at first, done once: imported where their processes are forked from.

They inherit what was imported, the prelude as it was read, and the frame of modules as
it was laid out.
"""

from tensorgen.play.worker import work

for _job in ("compile", "explain"):
    work(_job, {"expression": "norm(A @ x - y)**2", "order": "second"})
