"""Which tests skip, and that none does where nothing may skip."""

import ast
import runpy
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
CONFTEST = Path(__file__).parents[2] / "conftest.py"
SOURCE = CONFTEST.parent / "src"
MAY_IMPORT_EXTRAS = (
    "evenhand/client/openfeature.py",
    "evenhand/service/",
    "evenhand/sampling/networks.py",
)
TESTS = {
    "test_absent": "import psycopg\ndef test(): pass",
    "test_fixture": """
        import pytest
        @pytest.fixture
        def driver():
            import psycopg
        def test(driver): pass""",
    "test_refusal": """
        from evenhand.errors import MissingExtraError
        def test():
            try:
                import psycopg
            except ImportError as error:
                raise MissingExtraError("needs a driver") from error""",
    "test_doctest": 'def answer():\n    """\n    >>> import psycopg\n    """',
    "test_reason": "import pytest\ndef test(): pytest.skip('no server')",
    "test_data": "import pytest\ndef test(): pytest.skip('no real data sets: nowhere')",
}
REAL_FAILURES = {
    "test_other_module": "import no_such_module_of_ours\ndef test(): pass",
    "test_while_handling": """
        def test():
            try:
                import psycopg
            except ImportError:
                assert 1 == 2""",
    "test_assertion": "def test(): assert 1 == 2",
}


@pytest.fixture
def outcomes(pytester, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    pytester.makeconftest(CONFTEST.read_text())

    def run(name, text):
        pytester.makepyfile(**{name: text})
        done = pytester.runpytest_inprocess("--doctest-modules", "-p", "no:cacheprovider", "-rs")
        return done.parseoutcomes(), done.stdout.str()

    return run


@pytest.mark.parametrize("name", TESTS)
def test_what_is_absent_is_skipped_with_its_reason_unless_nothing_may_skip(name, outcomes, monkeypatch):
    monkeypatch.delenv("EVENHAND_NO_SKIPS", raising=False)
    found, said = outcomes(name, TESTS[name])
    assert set(found) == {"skipped"}
    assert ("evenhand[postgresql]" in said) == (name not in {"test_reason", "test_data"})
    monkeypatch.setenv("EVENHAND_NO_SKIPS", "1")
    found, said = outcomes(name, TESTS[name])
    assert ("skipped" in found) == (name == "test_data")
    assert ("skips where nothing may skip" in said) == (name != "test_data")


@pytest.mark.parametrize("name", REAL_FAILURES)
def test_what_fails_for_another_reason_fails(name, outcomes):
    found, _ = outcomes(name, REAL_FAILURES[name])
    assert set(found) <= {"failed", "errors"}


def test_what_has_passed_here_is_left_out_of_the_rest(pytester):
    pytester.makeconftest(CONFTEST.read_text())
    pytester.makepyfile(test_one="def test_a(): pass\ndef test_b(): assert False\ndef test_c(): pass")
    first = pytester.runpytest_inprocess("-k", "not test_c").parseoutcomes()
    assert first == {"passed": 1, "failed": 1, "deselected": 1}
    pytester.makepyfile(test_one="def test_a(): assert False\ndef test_b(): pass\ndef test_c(): pass")
    assert pytester.runpytest_inprocess("--rest").parseoutcomes() == {"passed": 2, "deselected": 1}
    assert pytester.runpytest_inprocess().parseoutcomes() == {"passed": 2, "failed": 1}
    assert pytester.runpytest_inprocess("--rest").parseoutcomes() == {"failed": 1, "deselected": 2}


def imported(statements):
    """What a module imports as soon as it is imported itself."""
    for statement in statements:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            yield from (f"{statement.module}.{alias.name}" for alias in statement.names)
        elif not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and not (
            isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"
        ):
            yield from imported(getattr(statement, "body", []) + getattr(statement, "orelse", []))


def test_nothing_outside_the_service_and_the_networks_needs_an_extra_to_be_imported():
    extras = tuple(runpy.run_path(str(CONFTEST))["EXTRA_OF"])
    for file in sorted(SOURCE.rglob("*.py")):
        place = file.relative_to(SOURCE).as_posix()
        if not place.startswith(MAY_IMPORT_EXTRAS):
            for name in imported(ast.parse(file.read_text()).body):
                assert name.split(".")[0] not in extras, place
                assert not f"{name}.".startswith(("evenhand.service.", "evenhand.sampling.models.networks.")), place
