"""What `pip install evenhand` alone must do: run with any Python in which it is installed, without pytest.

    python tests/base_install.py [--block]    # --block hides the optional packages, where they are installed

Every problem decides, logs are audited, the command line works, and what needs more says which line installs it.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

OPTIONAL = """
fairlearn h5netcdf h5py highspy httpx pooch psycopg pyarrow skorch sqlalchemy starlette structlog torch uvicorn
"""
BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
"""


def problems():
    """Take a decision, or a few, in each of the five problems; audit, evaluate, save, draw."""
    import numpy as np
    import pandas as pd

    import evenhand as eh

    policy = eh.quotas.FairUCB({"ads": 0.2, "news": 0.3, "sports": 0.3}, seed=1)
    decision = policy.ask()
    policy.tell(decision, 1.0)
    assert decision.arm == "ads"
    people = eh.groups.NaiveFair({"ann": "F", "bob": "M", "cid": "M"}, seed=1)
    people.tell(people.ask([[1.0], [0.2], [0.4]]), 30.0)
    lipschitz = eh.similarity.LipschitzUCB(2, seed=1)
    shown = lipschitz.ask([[0.1, 0.2], [0.3, 0.1]])
    lipschitz.tell(shown, 0.5, [])
    sampler = eh.sampling.OptimisticSampler(["a", "b"], seed=1)
    draw = sampler.ask()
    rows = np.random.default_rng(1).random((draw.count, 2))
    sampler.tell(draw, rows, np.arange(draw.count) % 2)
    frame = pd.DataFrame({"sex": ["f", "m"] * 20, "dose": [0, 1, 1, 0] * 10, "cured": [0, 1, 1, 1] * 10})
    model = eh.interventions.CausalModel.fit(frame, "sex -> dose -> cured")
    assert set(model.states) == {"sex", "dose", "cured"}
    log = pd.DataFrame({"item": ["a", "b"] * 200, "click": [1, 0, 0, 1] * 100, "p": 0.5})
    assert eh.audit.promise(log, arm="item", shares={"a": 0.4, "b": 0.4}, tolerance=1).kept
    assert not eh.audit.parity(log, group="item", value="click").rejected
    shares = {"a": 0.9, "b": 0.1}
    assert 0 < eh.evaluate(log, shares, arm="item", reward="click", propensity="p").value < 1
    history = eh.simulate(eh.quotas.FairUCB([0.3, 0.3], seed=1), eh.quotas.BernoulliArms([0.2, 0.7]), rounds=100)
    axes = eh.plots.plot_shares(history)
    assert axes is not None
    with tempfile.TemporaryDirectory() as folder:
        eh.save(policy, Path(folder) / "policy")
        assert eh.load(Path(folder) / "policy").ask() == policy.ask()


def commands(run):
    """Run the commands that need no more; `run` returns exit code, standard output and standard error."""
    simulated = "simulate --data clicks.csv --arm item --reward click --shares 0.1 --rounds 200 --out results"
    code, said, error = run(*simulated.split())
    assert code == 0, error
    assert Path("results/summary.csv").is_file(), said
    assert "history.nc needs h5netcdf: pip install 'evenhand[data]'" in error, error
    code, said, error = run("audit", "clicks.csv", "--arm", "item", "--shares", "0.4", "--tolerance", "1")
    assert code == 0, error
    for words in (("demo", "--out", "demo"), ("list",), ("--help",)):
        code, said, error = run(*words)
        assert code == 0, error


def refusals(run):
    """See that each command that needs an extra says so on one line, without a traceback, and exits with 2."""
    import evenhand as eh
    from evenhand.errors import MissingExtraError

    for words, extra in {
        ("new", "s.evenhand", "--policy", "fair-ucb", "--shares", "a=0.2,b=0.2"): "studies",
        ("verify", "s.evenhand"): "studies",
        ("serve", "--store", "s.evenhand"): "service",
        ("audit", "log.parquet", "--arm", "item", "--shares", "0.1"): "data",
        ("reproduce", "quotas/fig3"): "data",
    }.items():
        code, _, error = run(*words)
        assert code == 2, (words, error)
        assert len(error.splitlines()) == 1, (words, error)
        assert f"pip install 'evenhand[{extra}]'" in error, (words, error)
    for name in ("sqlalchemy", "pyarrow", "highspy"):
        assert sys.modules.get(name) is None, f"{name} was imported"
    said = ""
    try:
        eh.Study.create(":memory:", eh.quotas.FairUCB([0.2, 0.2]))
    except MissingExtraError as error:
        said = str(error)
    assert said == "a study needs sqlalchemy: pip install 'evenhand[studies]'", said


def main():
    import evenhand

    environment = dict(os.environ)
    block, blocker = "--block" in sys.argv, BLOCKER.format(names=OPTIONAL.split())
    if block:
        exec(blocker, {})
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if block:
            Path("site").mkdir()
            Path("site/sitecustomize.py").write_text(blocker)
            environment["PYTHONPATH"] = os.pathsep.join([f"{folder}/site", environment.get("PYTHONPATH", "")])
        Path("clicks.csv").write_text("item,click\n" + "a,1\nb,0\nb,1\na,0\n" * 50)
        Path("log.parquet").write_bytes(b"PAR1")

        def run(*words):
            done = subprocess.run(
                [sys.executable, "-m", "evenhand", *words], capture_output=True, text=True, env=environment
            )
            return done.returncode, done.stdout, done.stderr

        problems()
        commands(run)
        refusals(run)
    print(f"evenhand {evenhand.__version__} at {Path(evenhand.__file__).parent}: all of it works")


if __name__ == "__main__":
    main()
