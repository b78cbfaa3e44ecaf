"""SciPy's sparse matrices, in which `*` multiplies matrices, for programs that were written for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ._arrays import CLASSES, FORMATS, Coo, Csc, Csr, Products, ours


class _Containers(Products):
    """The classes of the results of SciPy's methods, for all matrices."""

    _csr_container = property(lambda _: csr_matrix)
    _csc_container = property(lambda _: csc_matrix)
    _coo_container = property(lambda _: coo_matrix)
    _bsr_container = property(lambda _: bsr_matrix)
    _dia_container = property(lambda _: dia_matrix)
    _dok_container = property(lambda _: dok_matrix)
    _lil_container = property(lambda _: lil_matrix)

    def __pow__(self, *arguments: Any, **options: Any) -> Any:
        # To the power of 0 SciPy's result is an array of its own class.
        return ours(super().__pow__(*arguments, **options))


class _Compressed(_Containers):
    """The common methods of CSR and CSC that differ from those of arrays."""

    #: SciPy looks at the elements of wider indices, and makes them int32 where they fit.
    _LARGEST = {np.dtype("i"): np.iinfo("i").max}

    def _sum_along(self, axis: int) -> Any:
        sums = super()._sum_along(axis)
        return None if sums is None else self._ascontainer(sums if axis == 0 else sums[:, None])


class csr_matrix(_Compressed, Csr, sp.csr_matrix):
    """:class:`scipy.sparse.csr_matrix` on all cores."""


class csc_matrix(_Compressed, Csc, sp.csc_matrix):
    """:class:`scipy.sparse.csc_matrix` on all cores."""


class coo_matrix(_Containers, Coo, sp.coo_matrix):
    """:class:`scipy.sparse.coo_matrix`, which becomes CSR and CSC on all cores."""


class bsr_matrix(_Containers, sp.bsr_matrix):
    """:class:`scipy.sparse.bsr_matrix`, which becomes the classes here."""


class dia_matrix(_Containers, sp.dia_matrix):
    """:class:`scipy.sparse.dia_matrix`, which becomes the classes here."""


class dok_matrix(_Containers, sp.dok_matrix):
    """:class:`scipy.sparse.dok_matrix`, which becomes the classes here."""


class lil_matrix(_Containers, sp.lil_matrix):
    """:class:`scipy.sparse.lil_matrix`, which becomes the classes here."""


CLASSES |= {getattr(sp, f"{format}_matrix"): globals()[f"{format}_matrix"] for format in FORMATS}
