"""AnnData's writers of h5ad and zarr files, for nnz's arrays.

AnnData looks its writers up by the exact class of an array, so that those of SciPy's arrays are not found for ours.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import MetaPathFinder
from typing import Any

from . import _matrices  # noqa: F401, whose classes are in the table, too
from ._arrays import CLASSES


def register_writers() -> None:
    """Registers each writer of a class of SciPy's for nnz's of the same name."""
    try:
        # The public functions of AnnData write, but none registers.
        from anndata._io.specs import _REGISTRY as registry

        for (store, kind, modifiers), write in list(registry.write.items()):
            if kind in CLASSES:
                registry.register_write(store, CLASSES[kind], registry.write_specs[kind], modifiers)(write)
    except (AttributeError, ImportError, KeyError, TypeError):
        # A version with another registry: it has the error when it writes.
        pass


class _AtImport(MetaPathFinder):
    """Registers the writers when a program imports AnnData, which `import nnz` does not."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "anndata":
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            # A program may ask for the module without importing it, or import it once more after a failure.
            sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: Any) -> None:
                execute(module)
                sys.meta_path.remove(self)
                register_writers()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


if "anndata" in sys.modules:
    register_writers()
else:
    sys.meta_path.insert(0, _AtImport())
