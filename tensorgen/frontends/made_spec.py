"""What can be done with a spec that was made in Python: code, modules, checks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tensorgen.errors import Remark, Source, SpecError
from tensorgen.loading import LoadedModule, generated, loaded, warn_of

if TYPE_CHECKING:
    from tensorgen.explanation.shown import Explanation
    from tensorgen.verify import Finding


class Verified:
    """What `verify` found: true if nothing is wrong, and a table as text."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings

    def __bool__(self) -> bool:
        from tensorgen.verify import BAD

        return not any(x.verdict in BAD for x in self.findings)

    def __str__(self) -> str:
        from tensorgen.verify import table

        return table(self.findings).rstrip("\n")

    def __repr__(self) -> str:
        return str(self)


class MadeSpec:
    """A spec that was made in Python, and what comes of it.

    Every method raises `SpecError` where the spec is wrong.
    """

    @property
    def spec(self) -> str:
        """The text of the spec, as it would stand in a file."""
        return self._source().text

    def source(
        self,
        backend: str = "numpy",
        mode: str = "cross-country",
        allow_external: bool = False,
    ) -> str:
        """Return the source of the module, as `tensorgen.generate` does."""
        remarks: list[Remark] = []
        with self._told():
            _, text = generated(
                self._source(),
                backend,
                mode,
                allow_external=allow_external,
                note=remarks.append,
            )
        warn_of(remarks)
        return text

    def load(
        self,
        backend: str = "numpy",
        mode: str = "cross-country",
        allow_external: bool = False,
    ) -> LoadedModule:
        """Return the module, built in memory, as `tensorgen.load` does."""
        remarks: list[Remark] = []
        with self._told():
            module = loaded(
                self._source(), backend, mode, allow_external, note=remarks.append
            )
        warn_of(remarks)
        return module

    def explain(
        self,
        function: str | None = None,
        backend: str = "numpy",
        mode: str = "cross-country",
        allow_external: bool = False,
    ) -> Explanation:
        """Return what the functions are, as `tensorgen.explain` does."""
        from tensorgen.explanation.shown import explanation

        with self._told():
            return explanation(self._source(), function, backend, mode, allow_external)

    def verify(self, seed: int = 0) -> Verified:
        """Compare all that the module computes with the spec, as `tensorgen verify`.

        At random points, of which `seed` chooses others. Functions from outside are not
        called.
        """
        from tensorgen.spec.read import read_spec
        from tensorgen.verify import Subject, Verification

        with self._told():
            verification = Verification(read_spec(self._source()), seed)
            module = self.load()
        name = f"{module.spec_name}_numpy"
        subject = Subject(name, module, f"module = {module.spec_name}.load()")
        return Verified([*verification.verify(subject), *self._compared(verification)])

    def _source(self) -> Source:
        """Return the text of the spec under a name for messages."""
        raise NotImplementedError

    def _compared(self, verification: Any) -> list[Finding]:
        """Return what else is compared with the spec."""
        return []

    def _about(self, error: SpecError) -> SpecError:
        """Return an error about the spec as one about what it was made of."""
        return error

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except SpecError as error:
            raise self._about(error) from None
