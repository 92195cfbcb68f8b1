"""Maps over the workers of a cluster: Dask, Ray, Spark."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tensorgen.engines.optional import needed
from tensorgen.engines.shares import Function, answer, shares, trees
from tensorgen.engines.trees import whole

Map = Callable[[Function, Sequence[Any]], list[Any]]


def dask_map(
    client: Any, *, together: int | None = None, blas_threads: int | None = 1
) -> Map:
    """Return a map over the workers of a `distributed.Client`.

    Tasks of a worker that dies are done by others; a block that fails is not tried
    again.
    """
    needed("distributed")
    dumps = needed("cloudpickle").dumps

    def mapped(function: Function, blocks: Sequence[Any]) -> list[Any]:
        tasks = shares(blocks, together, sum(client.nthreads().values()))
        run = partial(_answer_of_bytes, dumps(partial(answer, function, blas_threads)))
        futures = client.map(run, [*map(dumps, tasks)], pure=False, retries=0)
        try:
            return whole(trees(client.gather(futures)))
        finally:
            client.cancel(futures)

    return mapped


def ray_map(
    *, together: int | None = None, blas_threads: int | None = 1, **options: Any
) -> Map:
    """Return a map over the workers of Ray; options are those of `ray.remote`."""
    ray = needed("ray")
    remote = ray.remote(_answer_by_parts).options(**{"max_retries": 0, **options})

    def mapped(function: Function, blocks: Sequence[Any]) -> list[Any]:
        workers = int(ray.cluster_resources().get("CPU", 1))
        run = ray.put(function)
        found = [
            remote.remote(run, blas_threads, share)
            for share in shares(blocks, together, workers)
        ]
        try:
            return whole(trees(ray.get(found)))
        finally:
            for reference in found:
                ray.cancel(reference)

    return mapped


def spark_map(
    context: Any, *, together: int | None = None, blas_threads: int | None = 1
) -> Map:
    """Return a map over the executors of a `pyspark.SparkContext`."""
    needed("pyspark")

    def mapped(function: Function, blocks: Sequence[Any]) -> list[Any]:
        tasks = shares(blocks, together, context.defaultParallelism)
        sent = context.broadcast(function)

        def run(share: Any) -> Any:
            return answer(sent.value, blas_threads, share)

        try:
            found = context.parallelize(tasks, len(tasks)).map(run).collect()
            return whole(trees(found))
        finally:
            sent.destroy()

    return mapped


def _answer_of_bytes(run: bytes, share: bytes) -> Any:
    """Return an answer of Dask, which would deliver arrays at odd addresses.

    Their products have other bits: there is no BLAS for them.
    """
    return pickle.loads(run)(pickle.loads(share))


def _answer_by_parts(function: Function, blas_threads: int | None, share: Any) -> Any:
    """Return an answer of Ray, which takes no partial functions."""
    return answer(function, blas_threads, share)
