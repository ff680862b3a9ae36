"""What is installed alone, what an extra adds, and what stands on PyPI."""

import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from importlib.metadata import requires
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.data.files import read_table
from evenhand.datasets import fetching
from evenhand.errors import EvenhandError, MissingExtraError
from evenhand.extras import EXTRAS, optional

REPOSITORY = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
HOME = PROJECT["urls"]["Source"]
PROBLEM = next(eh.interventions.SimulatedTrial._examples()).problem


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_that_pip_installs_alone_is_enough_for_all_that_is_promised_of_it():
    script = REPOSITORY / "tests" / "base_install.py"
    done = subprocess.run([sys.executable, str(script), "--block"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "all of it works" in done.stdout


@pytest.mark.parametrize(
    ("module", "extra", "use"),
    [
        ("pyarrow", "data", lambda folder: read_table(folder / "log.parquet")),
        ("pyarrow", "data", lambda folder: eh.audit.promise(str(folder / "*.parquet"), arm="arm", shares=0.1)),
        ("pooch", "data", lambda folder: fetching.fetch("nothing", "0", "http://localhost/nothing")),
        ("highspy", "interventions", lambda folder: PROBLEM.allocate([1] * len(PROBLEM.candidates), 10)),
        ("sqlalchemy", "studies", lambda folder: eh.studies.__getattr__("Study")),
        ("fairlearn.metrics", "fairlearn", lambda folder: eh.sampling.fairness_report(None, [], [], groups=[])),
    ],
)
def test_what_needs_an_extra_says_how_to_install_it(module, extra, use, tmp_path, monkeypatch):
    (tmp_path / "log.parquet").write_bytes(b"PAR1")
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"needs {module.split('.')[0]}: pip install 'evenhand\[{extra}\]'"):
        use(tmp_path)


def test_a_package_of_no_extra_is_installed_by_its_own_name():
    with pytest.raises(MissingExtraError, match=r"^this task needs no_such_package: pip install no_such_package$"):
        optional("no_such_package.part", "this task")
    assert issubclass(MissingExtraError, (EvenhandError, ImportError))


def test_every_extra_that_a_message_names_installs_the_package():
    extras = PROJECT["optional-dependencies"]
    for package, extra in EXTRAS.items():
        named = {re.match(r"[\w-]+", line)[0].replace("-", "_") for line in extras[extra]}
        assert package in named, extra
    alone = {re.match(r"[\w-]+", line)[0] for line in PROJECT["dependencies"]}
    assert alone.isdisjoint(EXTRAS)


def test_all_stands_for_extras_that_are_there():
    (own,) = PROJECT["optional-dependencies"]["all"]
    named = set(re.fullmatch(r"evenhand\[(.*)\]", own)[1].split(","))
    assert {"data", "interventions", "postgresql", "service", "studies", "client"} <= named
    assert named <= set(PROJECT["optional-dependencies"])
    assert requires("evenhand")


def test_the_home_of_the_project_is_one_everywhere():
    assert all(url.startswith(HOME) for url in PROJECT["urls"].values())
    citation = dict(re.findall(r"^([\w-]+): *(.*)$", (REPOSITORY / "CITATION.cff").read_text(), re.MULTILINE))
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= set(citation)
    assert (citation["url"], citation["repository-code"]) == (HOME, HOME)
    assert (citation["version"], citation["license"]) == (eh.__version__, PROJECT["license"])
    bibtex = (REPOSITORY / "docs" / "simulation.md").read_text().partition("@software{")[2]
    cited = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", bibtex, re.MULTILINE))
    own = {name: citation[name].strip('"') for name in ("title", "version", "license", "url")}
    assert cited == own | {"author": "{The evenhand developers}"}
    assert "authors:\n  - name: The evenhand developers\n" in (REPOSITORY / "CITATION.cff").read_text()
    assert "please cite it by its\n[CITATION.cff](CITATION.cff)" in (REPOSITORY / "README.md").read_text()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_link_on_pypi_is_absolute_and_names_a_file_that_is_there(tmp_path):
    import hatch_fancy_pypi_readme  # noqa: F401

    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = message_from_bytes(archive.read(name))
    readme = metadata.get_payload()
    links = re.findall(r"\]\(([^)\s]+)\)", readme)
    assert len(links) > 20
    for link in links:
        where = re.fullmatch(r"https://(?:github\.com/(.+?)/blob|raw\.githubusercontent\.com/(.+?))/main/(.+)", link)
        assert where, link
        assert (where[1] or where[2]) == HOME.removeprefix("https://github.com/")
        assert (REPOSITORY / where[3].partition("#")[0]).is_file(), link
    assert "](docs/" in (REPOSITORY / "README.md").read_text()
    assert "studies" in metadata.get_all("Provides-Extra")
