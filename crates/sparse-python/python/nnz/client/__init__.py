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
from ._requests import IncompleteListWarning, Listing, ServerError
from ._sync import Client, Job, Matrix

__all__ = [
    "AsyncClient",
    "AsyncJob",
    "AsyncMatrix",
    "Client",
    "IncompleteListWarning",
    "Job",
    "Listing",
    "Matrix",
    "ServerError",
    "connect",
    "connect_async",
]


def connect(url: str | None = None, *, token: str | None = None, **options: Any) -> Client:
    """A client of the server at `url`, or that of the variable `NNZ_SERVER`; the options are those of :class:`Client`.

    Without a `token` that of `NNZ_TOKEN` is sent. Without a `context` the certificates of `NNZ_SERVER_CA` are trusted, and
    that of `NNZ_SERVER_CERT` with the key of `NNZ_SERVER_KEY` is shown to servers that ask for one, all of them PEM files,
    if these variables are set.
    """
    url = url or os.environ.get("NNZ_SERVER")
    if not url:
        raise ValueError("a URL such as http://127.0.0.1:8700 is needed, here or in NNZ_SERVER")
    authorities, certificate = os.environ.get("NNZ_SERVER_CA"), os.environ.get("NNZ_SERVER_CERT")
    if (authorities or certificate) and url.startswith("https:") and "context" not in options:
        options["context"] = ssl.create_default_context(cafile=authorities)
        if certificate:
            options["context"].load_cert_chain(certificate, os.environ.get("NNZ_SERVER_KEY"))
    return Client(url, token=token or os.environ.get("NNZ_TOKEN"), **options)


def connect_async(url: str | None = None, **options: Any) -> AsyncClient:
    """As :func:`connect`, for asyncio. SciPy's operators call the server and wait: `sync` of the client has them."""
    return AsyncClient(connect(url, **options))
