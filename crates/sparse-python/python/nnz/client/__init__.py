"""Matrices of a server (`nnz serve`), used as local ones.

>>> import nnz.client, numpy as np, scipy.sparse as sp
>>> c = nnz.client.connect("http://127.0.0.1:8700")
>>> h = c.put(sp.eye_array(3, format="csr"), "identity")
>>> h @ np.ones(3)
array([1., 1., 1.])

Arrays are sent from the memory where they lie and received into that of the result. Requests that were refused because
the server is busy, or whose connection broke, are sent again after a while where that has no effect a second time.
"""

from __future__ import annotations

import os
import ssl
from typing import Any

from ._asyncio import AsyncClient, AsyncJob, AsyncMatrix
from ._requests import ConvergenceWarning, IncompleteListWarning, Listing, ServerError
from ._sync import Client, Job, Matrix

__all__ = [
    "AsyncClient",
    "AsyncJob",
    "AsyncMatrix",
    "Client",
    "ConvergenceWarning",
    "IncompleteListWarning",
    "Job",
    "Listing",
    "Matrix",
    "ServerError",
    "connect",
    "connect_async",
]


def connect(
    url: str | None = None,
    *,
    token: str | None = None,
    verify: str | os.PathLike[str] | None = None,
    cert: str | os.PathLike[str] | tuple[str | os.PathLike[str], str | os.PathLike[str]] | None = None,
    **options: Any,
) -> Client:
    """A client of the server at `url`, or that of the variable `NNZ_SERVER`; the options are those of :class:`Client`.

    Without a `token` that of `NNZ_TOKEN` is sent. `verify` is a PEM file of the authorities whose certificates are trusted,
    in place of those of the system. `cert` is a PEM file with a certificate for servers that ask for one, or that and a file
    with its key. Without them the variables `NNZ_SERVER_CA`, `NNZ_SERVER_CERT` and `NNZ_SERVER_KEY` name these files. A
    `context` takes the place of all of them.
    """
    url = url or os.environ.get("NNZ_SERVER")
    if not url:
        raise ValueError("a URL such as http://127.0.0.1:8700 is needed, here or in NNZ_SERVER")
    if verify is not None or cert is not None:
        if options.get("context") is not None:
            raise ValueError("context, and verify or cert: one of the two is needed")
        if not url.startswith("https:"):
            raise ValueError(f"verify and cert are for TLS, and {url!r} has none: https:// is needed")
    if url.startswith("https:") and "context" not in options:
        options["context"] = _context(verify, cert)
    return Client(url, token=token or os.environ.get("NNZ_TOKEN"), **options)


def _context(verify: Any, cert: Any) -> ssl.SSLContext:
    """The certificates of a connection: those that are given, else those that the environment names."""
    if isinstance(verify, bool):
        raise ValueError(f"verify={verify}: a PEM file of authorities is needed; servers are always verified")
    authorities = os.environ.get("NNZ_SERVER_CA") if verify is None else verify
    context = ssl.create_default_context(cafile=authorities or None)
    if cert is None and os.environ.get("NNZ_SERVER_CERT"):
        cert = os.environ["NNZ_SERVER_CERT"], os.environ.get("NNZ_SERVER_KEY")
    if cert is not None:
        context.load_cert_chain(*(cert if isinstance(cert, tuple) else (cert,)))
    return context


def connect_async(url: str | None = None, **options: Any) -> AsyncClient:
    """As :func:`connect`, for asyncio. SciPy's operators call the server and wait: `sync` of the client has them."""
    return AsyncClient(connect(url, **options))
