"""Puts the compiled reading side into its page.

web/pack.py VERSION tyrion_web.wasm PAGE

The same bytes come of the same module. Refuses what is larger than is promised.
"""

import base64
import gzip
import pathlib
import sys

# With what is made of it, as much fits into the memory that web/build.sh allows.
MOST_FILE = 512 << 20
# Whoever gets the page by mail or from a server gets it compressed.
MOST_COMPRESSED = 4 << 20


def main(version: str, module: str, to: str) -> None:
    wasm = gzip.compress(pathlib.Path(module).read_bytes(), compresslevel=9, mtime=0)
    page = pathlib.Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    values = {"VERSION": version, "MOST": str(MOST_FILE), "WASM": base64.b64encode(wasm).decode()}
    for name, value in values.items():
        mark = "{{" + name + "}}"
        if mark not in page:
            sys.exit(f"pack.py: page.html has no {mark}")
        page = page.replace(mark, value)
    written = page.encode()
    compressed = len(gzip.compress(written, compresslevel=9, mtime=0))
    if compressed > MOST_COMPRESSED:
        sys.exit(f"pack.py: {compressed} bytes compressed, of at most {MOST_COMPRESSED}")
    pathlib.Path(to).write_bytes(written)
    print(f"{to}: {len(written)} bytes, {compressed} compressed")


main(*sys.argv[1:])
