"""One bar for every long call, and nothing where nothing is asked for."""

import pandas as pd
import pytest

import evenhand as eh
from evenhand.display.progress import ProgressBar
from evenhand.errors import ArgumentError

LOG = pd.DataFrame({"item": ["a", "b"] * 50, "click": [1.0, 0.0, 0.0, 0.0] * 25, "p": 0.5})


def test_a_terminal_shows_it_on_standard_error(capsys):
    with ProgressBar("rounds", 10) as bar:
        bar.reach(10, "all [bold]rounds")
    said = capsys.readouterr()
    assert said.out == ""
    assert "all [bold]rounds" in said.err
    assert "100%" in said.err


def evaluate_distribution(shown):
    return eh.evaluate(LOG, {"a": 0.9, "b": 0.1}, arm="item", reward="click", propensity="p", progress=shown)


def replay(shown):
    return eh.evaluate(LOG, eh.learners.UCB1(), arm="item", reward="click", replays=3, progress=shown)


def simulate(shown):
    world = eh.quotas.BernoulliArms([0.7, 0.5])
    return eh.simulate(eh.learners.UCB1(), world, rounds=50, replications=3, seed=1, jobs=1, progress=shown)


def verify(shown):
    study = eh.Study.create(":memory:", eh.learners.UCB1(arms=2), name="one")
    study.ask()
    return study.verify(progress=shown)


CALLS = {"rows": evaluate_distribution, "replays": replay, "rounds": simulate, "replaying": verify}


@pytest.mark.parametrize("counted", CALLS)
def test_every_long_call_shows_one_bar(counted, capsys):
    CALLS[counted](False)
    assert capsys.readouterr() == ("", "")
    CALLS[counted](True)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(counted)
    assert said.err.count(counted) == said.err.count("100%") == 1


def test_an_evaluation_is_the_same_with_and_without_a_bar(capsys):
    assert str(replay(True)) == str(replay(False))
    assert "replays" in capsys.readouterr().err
    with pytest.raises(ArgumentError, match="progress: expected True or False, got 'yes'"):
        replay("yes")
