"""Functions over blocks give one digest, whoever computes them, and say what failed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tensorgen.engines import (
    BrokenPoolError,
    dask_map,
    dask_rows,
    executor_map,
    ray_map,
    spark_map,
)
from tests.engines import logistic
from tests.engines.conftest import Given

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
LOST = 5  # the block that fails
SAYS = "[Errno 2] No such file or directory: 'rows.npy'"


def absent(name: str) -> pytest.MarkDecorator:
    """Leave a test to those who have a library that is too large to ask for."""
    missing = importlib.util.find_spec(name) is None
    return pytest.mark.skipif(missing, reason=f"no {name}")


def spoilt(given: Given, deed: Any, marker: Path | None = None) -> list[Any]:
    """The blocks, one of which does something else first."""
    blocks = list(given.blocks)
    blocks[LOST] = logistic.OfBlock(blocks[LOST], deed, marker)
    return blocks


def names_the_block(given: Given, map: Any) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        logistic.digest(given.module, spoilt(given, logistic.spoil), map)
    assert str(caught.value) == SAYS
    assert caught.value.__notes__ == [f"in block {LOST}"]


@pytest.mark.parametrize("over_blocks", [map, lambda f, x: [f(y) for y in x]])
def test_any_map_names_a_block_that_fails(given: Given, over_blocks: Any) -> None:
    names_the_block(given, over_blocks)


def test_maps_name_a_block_that_fails_in_any_function() -> None:
    with ThreadPoolExecutor(2) as pool, pytest.raises(ZeroDivisionError) as caught:
        executor_map(pool, together=2)(lambda k: 1 / (k - LOST), range(9))
    assert caught.value.__notes__ == [f"in block {LOST}"]


def test_held_blocks_have_the_digest_of_blocks_in_files(given: Given) -> None:
    assert logistic.digest(given.module, logistic.held()) == given.digest


@pytest.mark.parametrize("together", [None, 1, 2, 3, 100])
def test_threads_have_the_same_digest(given: Given, together: int | None) -> None:
    with ThreadPoolExecutor(3) as pool:
        over_threads = executor_map(pool, together=together)
        assert logistic.digest(given.module, given.blocks, over_threads) == given.digest
        names_the_block(given, over_threads)


@pytest.mark.parametrize("together", [None, 4])
def test_processes_have_the_same_digest(given: Given, together: int | None) -> None:
    pool = partial(ProcessPoolExecutor, 2)
    with executor_map(pool, together=together) as over_processes:
        for blocks in given.blocks, logistic.held():
            found = logistic.digest(given.module, blocks, over_processes)
            assert found == given.digest
        names_the_block(given, over_processes)


def test_an_error_that_cannot_be_sent_is_told(given: Given) -> None:
    with executor_map(partial(ProcessPoolExecutor, 2)) as over_processes:
        blocks = spoilt(given, logistic.spoil_unsent)
        with pytest.raises(RuntimeError, match="Unsent: rows and columns") as caught:
            logistic.digest(given.module, blocks, over_processes)
    assert caught.value.__notes__ == [f"in block {LOST}"]


def test_a_pool_that_loses_a_process_is_built_anew(
    given: Given, tmp_path: Path
) -> None:
    made: list[Executor] = []

    def pool() -> Executor:
        made.append(ProcessPoolExecutor(2))
        return made[-1]

    with executor_map(pool) as over_processes:
        blocks = spoilt(given, logistic.die, tmp_path / "died")
        (tmp_path / "died").touch()  # not yet
        loss = given.module.LossProblem.over(blocks, map=over_processes)
        v = [0.5] * logistic.COLUMNS
        before = loss.hvp(v, v)
        (tmp_path / "died").unlink()
        assert loss.hvp(v, v).tobytes() == before.tobytes()
    assert len(made) == 2


def test_a_pool_that_breaks_again_is_an_error(given: Given, tmp_path: Path) -> None:
    blocks = spoilt(given, logistic.die)
    with (
        executor_map(partial(ProcessPoolExecutor, 2)) as over_processes,
        pytest.raises(BrokenPoolError, match=r"at block \d+ or one behind, twice"),
    ):
        logistic.digest(given.module, blocks, over_processes)
    with (
        ProcessPoolExecutor(2) as pool,
        pytest.raises(BrokenPoolError, match="give what makes a pool"),
    ):
        logistic.digest(given.module, blocks, executor_map(pool))


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two processes of Dask."""
    from distributed import Client, LocalCluster

    silent = {"dashboard_address": ":0", "silence_logs": 60}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **silent) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("together", [None, 1])
def test_dask_has_the_same_digest(
    given: Given, client: Any, together: int | None
) -> None:
    over_workers = dask_map(client, together=together)
    # Arrays that Dask sends itself are at odd addresses: their products go around BLAS.
    for blocks in given.blocks, logistic.held():
        assert logistic.digest(given.module, blocks, over_workers) == given.digest
    names_the_block(given, over_workers)


def test_chunks_of_dask_arrays_are_computed_by_workers(
    given: Given, client: Any
) -> None:
    import dask.array

    chunks = {"X": (logistic.AT_ONCE, 3), "y": logistic.AT_ONCE}
    arrays = {
        name: dask.array.from_array(array, chunks[name]).map_blocks(lambda x: x + 0.0)
        for name, array in logistic.rows().items()
    }
    found = logistic.digest(given.module, dask_rows(arrays), dask_map(client))
    assert found == given.digest


def test_workers_of_dask_that_die_are_done_without(
    given: Given, client: Any, tmp_path: Path
) -> None:
    marker = tmp_path / "died"
    marker.touch()
    blocks = spoilt(given, logistic.die, marker)
    loss = given.module.LossProblem.over(blocks, map=dask_map(client))
    v = [0.5] * logistic.COLUMNS
    before = loss.hvp(v, v)
    marker.unlink()
    assert loss.hvp(v, v).tobytes() == before.tobytes()
    assert marker.exists()


def ranks(given: Given, count: int, *more: str) -> list[str]:
    """What each rank has found."""
    return on_ranks(HERE / "on_ranks.py", count, str(given.folder), *more)


def on_ranks(script: Path, count: int, *arguments: str) -> list[str]:
    """What a script prints on that many ranks."""
    mpiexec = shutil.which("mpiexec", path=os.path.dirname(sys.executable)) or "mpiexec"
    run = subprocess.run(
        [mpiexec, "-n", str(count), sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_any_number_of_ranks_has_the_same_digest(given: Given, count: int) -> None:
    assert ranks(given, count) == count * [given.digest]


def test_all_ranks_hear_of_a_block_that_fails(given: Given) -> None:
    assert ranks(given, 2, str(LOST)) == 2 * [f"{SAYS} in block {LOST}"]


@absent("ray")
def test_ray_has_the_same_digest(given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    paths = os.pathsep.join([str(given.folder), str(ROOT)])
    monkeypatch.setenv("PYTHONPATH", paths)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        assert logistic.digest(given.module, given.blocks, ray_map()) == given.digest
        names_the_block(given, ray_map())
    finally:
        ray.shutdown()


@absent("pyspark")
def test_spark_has_the_same_digest(
    given: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark import SparkContext

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")  # a name may not be resolved
    paths = os.pathsep.join([str(given.folder), str(ROOT)])
    monkeypatch.setenv("PYTHONPATH", paths)
    with SparkContext("local[2]") as context:
        over_executors = spark_map(context)
        found = logistic.digest(given.module, given.blocks, over_executors)
        assert found == given.digest
        names_the_block(given, over_executors)
