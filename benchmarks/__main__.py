"""Run all benchmarks, one process each: `python -m benchmarks [--out DIR]`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for the figures as JSON")
    out = parser.parse_args().out
    environment = dict(os.environ)
    if out is not None:
        environment["BENCHMARKS_OUT"] = str(out.absolute())
    codes = [
        subprocess.run([sys.executable, "-m", f"benchmarks.{file.stem}"], cwd=HERE.parent, env=environment).returncode
        for file in sorted(HERE.glob("bench_*.py"))
    ]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
