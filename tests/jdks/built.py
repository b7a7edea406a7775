"""What was built, for the scripts here."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tyrion():
    """The program to try: the one that TYRION names, or else the newest that was built."""
    if os.environ.get("TYRION"):
        return os.environ["TYRION"]
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = [path for path in target.glob("*/tyrion") if path.is_file()]
    if not built:
        raise SystemExit("no tyrion is built")
    return str(max(built, key=lambda path: path.stat().st_mtime))
