"""Packs the Python package and a compiled library into a wheel: `pack_wheel.py LIBRARY FOLDER`.

CI compiles the library with the rest of the workspace; maturin, which `pip install` runs, would compile everything again.
The wheel is for the Python and the machine that run this script.
"""

import base64
import hashlib
import re
import sys
import sysconfig
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent


def main(library: str, folder: str) -> None:
    workspace = (ROOT / "../../Cargo.toml").read_text()
    version = re.search(r'^version = "(.+?)"', workspace, re.MULTILINE)[1]
    project = (ROOT / "pyproject.toml").read_text()
    dependencies = re.search(r"^dependencies = \[(.+?)\]", project, re.MULTILINE)[1]
    requires = "".join(f"Requires-Dist: {name}\n" for name in re.findall(r'"(.+?)"', dependencies))
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    tag = f"cp310-abi3-{platform}"
    about = f"nnz-{version}.dist-info"
    files = {
        str(path.relative_to(ROOT / "python")): path.read_bytes()
        for path in sorted((ROOT / "python/nnz").rglob("*"))
        if path.suffix in (".py", ".pyi", ".typed")
    }
    files["nnz/_native.abi3.so"] = Path(library).read_bytes()
    files[f"{about}/METADATA"] = f"Metadata-Version: 2.1\nName: nnz\nVersion: {version}\n{requires}".encode()
    files[f"{about}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: pack_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    )
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    # Stored as it is: it is installed on this machine, and to pack a library without optimization takes seconds.
    with zipfile.ZipFile(Path(folder) / f"nnz-{version}-{tag}.whl", "w") as wheel:
        for name, data in files.items():
            wheel.writestr(name, data)


def digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main(*sys.argv[1:])
