"""Build the wheel and the sdist, install each alone in a clean environment of each Python, and use it there.

    python -m tests.wheels python3.11 python3.12 ...    # or paths of interpreters; this one by default

`make wheels` runs it. Packages come from the index that pip is set to; environments are made one after another.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def build(folder):
    """Return the sdist and the wheel, built in `folder`; the wheel from the sdist, as installers do."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=REPOSITORY, check=True)
    return sorted(folder.iterdir())


def use(python, package, folder):
    """Install a package into a clean environment and run what it must do there."""
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    own = str(folder / "bin" / "python")
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"MPLBACKEND": "Agg"}
    quiet = ["-q", "--disable-pip-version-check"]
    subprocess.run([own, "-m", "pip", "install", *quiet, str(package)], check=True, env=alone)
    subprocess.run([own, str(REPOSITORY / "tests" / "base_install.py")], check=True, env=alone, cwd=folder)


def main():
    with tempfile.TemporaryDirectory() as place:
        for python in sys.argv[1:] or [sys.executable]:
            for package in build(Path(place) / "dist"):
                print(f"{python}: {package.name}", flush=True)
                use(python, package, Path(place) / "venv")


if __name__ == "__main__":
    main()
