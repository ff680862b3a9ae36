"""The names that others build on are there, and everything public says what it is."""

import ast
import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import evenhand as eh
from evenhand import errors

DOCUMENTED = {
    "evenhand": [
        "simulate",
        "save",
        "load",
        "check_policy",
        "Decision",
        "Promise",
        "learners",
        "quotas",
        "__version__",
    ],
    "evenhand.audit": ["promise", "Audit", "ApartAudit", "parity", "Parity"],
    "evenhand.learners": ["UCB1", "KLUCB", "Thompson", "TsallisINF", "EpsilonGreedy", "Adapter"],
    "evenhand.quotas": [
        *("FairLearn", "FairUCB", "DeadlineLearn", "LFG", "HorizonFairUCB"),
        *("BernoulliArms", "LoggedArms"),
    ],
    "evenhand.plots": ["plot_regret", "plot_shares", "plot_shortfall", "plot_cost", "plot_audit"],
}


@pytest.mark.parametrize("package", DOCUMENTED)
def test_documented_names_are_public(package):
    module = importlib.import_module(package)
    assert set(DOCUMENTED[package]) <= set(module.__all__)


@pytest.mark.parametrize("package", DOCUMENTED)
def test_every_public_name_is_there(package):
    module = importlib.import_module(package)
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert hasattr(module, name)


def test_scripts_elsewhere_find_the_audit_among_the_quotas():
    assert eh.quotas.audit is eh.audit.promise


SIGNATURES = {
    eh.quotas.FairLearn: ["learner", "shares", "tolerance=0.0"],
    eh.quotas.FairUCB: ["shares", "tolerance=0.0"],
    eh.quotas.DeadlineLearn: ["learner", "shares", "tolerance=0.0"],
    eh.quotas.LFG: ["shares", "eta"],
    eh.quotas.HorizonFairUCB: ["shares", "horizon", "*tolerance=0.0"],
    eh.quotas.BernoulliArms: ["means"],
    eh.quotas.LoggedArms: ["frame", "arm", "reward"],
    eh.audit.promise: ["frame", "*arm", "*shares", "*tolerance=0.0"],
    eh.learners.EpsilonGreedy: ["epsilon=0.1"],
    eh.simulate: [
        *("policies", "world", "*rounds", "*replications=1", "*seed=None", "*checkpoints=200"),
        *("*jobs=-1", "*backend=None", "*progress=False"),
    ],
}


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda function: function.__name__)
def test_signatures_are_as_documented(function):
    parameters = inspect.signature(function).parameters
    for wanted in SIGNATURES[function]:
        name, _, default = wanted.lstrip("*").partition("=")
        assert name in parameters
        if default:
            assert repr(parameters[name].default) == default
        if wanted.startswith("*"):
            assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    assert not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())


def modules():
    parts = ("learners", "quotas", "simulation", "kernels", "plots", "cli", "experiments", "datasets")
    for info in pkgutil.walk_packages(eh.__path__, "evenhand."):
        part = info.name.split(".")[1]
        top = not info.ispkg and info.name.count(".") == 1 and part != "__main__"
        shared = part in parts and not any(problem in info.name for problem in PROBLEMS_OF_OTHERS)
        if top or shared:
            yield info.name


@cache
def imported():
    """Return what some module imports from another one, by module: that is public."""
    found = defaultdict(set)
    for file in Path(eh.__file__).parent.rglob("*.py*"):
        for node in ast.walk(ast.parse(file.read_text())) if file.suffix in (".py", ".pyi") else ():
            if isinstance(node, ast.ImportFrom):
                package = f"evenhand.{file.parent.name}." if node.level else ""
                found[package + (node.module or "")] |= {one.name for one in node.names if not one.name.startswith("_")}
    return found


PROBLEMS_OF_OTHERS = ("groups", "similarity", "interventions", "sampling")


@pytest.mark.parametrize("name", sorted(modules()))
def test_everything_public_has_a_docstring(name):
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip()
    for thing in [getattr(module, each) for each in imported().get(name, ()) if hasattr(module, each)]:
        if not str(getattr(thing, "__module__", "")).startswith("evenhand"):
            continue
        if inspect.isclass(thing) or callable(thing):
            thing = getattr(thing, "function", thing)
            assert (thing.__doc__ or "").strip(), f"{name}.{thing.__name__}"
        if inspect.isclass(thing):
            for method, member in vars(thing).items():
                plain = getattr(member, "__func__", member)
                if not method.startswith("_") and inspect.isfunction(plain) and not inherits_doc(thing, method):
                    assert (plain.__doc__ or "").strip(), f"{name}.{thing.__name__}.{method}"


def inherits_doc(cls, method):
    """A method that fills in one of its bases is described there."""
    return any(hasattr(base, method) for base in cls.__mro__[1:])


def test_the_tree_of_errors_is_the_one_that_is_drawn():
    drawn = re.findall(r"[├└]── (\w+)", errors.__doc__)
    depth = {name: line.index("──") for line in errors.__doc__.splitlines() for name in re.findall(r"── (\w+)", line)}
    path = {}
    for name in drawn:
        cls = getattr(errors, name)
        path[depth[name]] = cls
        parents = [at for at in path if at < depth[name]]
        parent = path[max(parents)] if parents else errors.EvenhandError
        assert cls.__bases__[0] is parent
    everything = {
        name for name, thing in vars(errors).items() if inspect.isclass(thing) and issubclass(thing, Exception)
    }
    assert everything == {*drawn, "EvenhandError"}
    assert issubclass(errors.ArgumentError, ValueError)
    assert issubclass(errors.MissingExtraError, ImportError)
    assert set(errors.__all__) == everything | {"Refusal", "Wording", "expected"}


def test_importing_evenhand_loads_nothing_heavy():
    import subprocess
    import sys

    heavy = {"pandas", "xarray", "matplotlib", "sklearn", "torch", "joblib", "typer", "rich", "pooch", "dask"}
    code = f"import sys, evenhand; print(sorted({heavy!r} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


NAMES = [name for name in eh.__all__ if inspect.ismodule(getattr(eh, name))]
PACKAGES = [f"evenhand.{name}" for name in NAMES]


@pytest.mark.parametrize("package", ["evenhand", *PACKAGES])
def test_a_package_lists_its_public_names_and_nothing_else(package):
    module = importlib.import_module(package)
    assert sorted(dir(module)) == sorted(module.__all__)
    assert len(module.__all__) > 1
    for name in dir(module):
        assert getattr(module, name) is not None


@pytest.mark.parametrize("package", NAMES)
def test_every_package_is_an_attribute_without_an_import(package):
    import subprocess
    import sys

    code = f"import evenhand as eh; assert '{package}' in dir(eh); print(eh.{package}.__name__, *dir(eh.{package}))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == [f"evenhand.{package}", *sorted(getattr(eh, package).__all__)]


@pytest.mark.parametrize("use_jedi", [True, False], ids=["jedi", "dir"])
def test_the_tab_key_of_ipython_offers_public_names_alone(use_jedi):
    from IPython.core.completer import IPCompleter, provisionalcompleter

    shell = IPCompleter(namespace={"eh": eh})
    shell.use_jedi = use_jedi
    shell.jedi_compute_type_timeout = 0
    for package in ("", ".groups", ".datasets", ".plots"):
        text = f"eh{package}."
        with provisionalcompleter():
            offered = {each.text.lstrip(".") for each in shell.completions(text, len(text))}
        module = importlib.import_module(f"evenhand{package}")
        public = {name for name in module.__all__ if not name.startswith("_")}
        assert {name for name in offered if not name.startswith("_")} == public


def test_a_loader_is_an_attribute_of_the_data_sets():
    assert len(eh.datasets.load_diabetes()) == 442
    with pytest.raises(AttributeError, match=r"evenhand\.datasets attribute load_nothing"):
        _ = eh.datasets.load_nothing
