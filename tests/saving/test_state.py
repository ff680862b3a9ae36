"""Save and load: one zip, no pickle, exact continuation, and every file that is not ours refused."""

import io
import json
import math
import pickletools
import zipfile

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, StateFileError
from evenhand.learners import UCB1, Adapter, Thompson
from evenhand.quotas import BernoulliArms, FairLearn, FairUCB
from evenhand.sampling import ArrayPool
from evenhand.saving.state import FORMAT, from_bytes, to_bytes
from tests.saved_files import rewritten
from tests.strategies import Stubborn

SHARES = {"x": 0.2, "y": "1/3", "z": 0.1}


def talk(policy, world, rounds):
    said = []
    for _ in range(rounds):
        decision = policy.ask()
        policy.tell(decision, *world.respond(decision))
        said.append(decision)
    return said


def test_a_loaded_policy_continues_exactly(tmp_path):
    """From its file; the contract asks it of every registered policy."""
    policy, world = FairLearn(Thompson(), SHARES, seed=3), BernoulliArms({"x": 0.3, "y": 0.6, "z": 0.5})
    world.reset(1)
    talk(policy, world, 37)
    late = policy.ask()
    eh.save(policy, tmp_path / "policy.evenhand")
    other = eh.load(tmp_path / "policy.evenhand")
    assert type(other) is type(policy)
    assert other.arms == policy.arms
    assert other.open_tickets == [late.id]
    assert repr(other) == repr(policy)
    for one in (policy, other):
        one.tell(late.id, 1.0)
    world.reset(2)
    first = talk(policy, world, 80)
    world.reset(2)
    assert talk(other, world, 80) == first
    assert to_bytes(other) == to_bytes(policy)


def test_the_file_is_a_zip_of_json_and_arrays_and_nothing_can_be_unpickled(tmp_path):
    policy = FairLearn(Thompson(), SHARES, seed=1)
    talk(policy, world := BernoulliArms([0.1, 0.2, 0.3]), 0)
    world.reset(1)
    talk(policy, world, 20)
    eh.save(policy, tmp_path / "p")
    with zipfile.ZipFile(tmp_path / "p") as archive:
        names = archive.namelist()
        body = json.loads(archive.read("evenhand.json"))
        for name in names:
            with pytest.raises(Exception, match=r".") as no_pickle:
                list(pickletools.genops(archive.read(name)))
            assert isinstance(no_pickle.value, (ValueError, UnicodeDecodeError))
        data = archive.read("arrays")
    assert names == ["evenhand.json", "arrays", "sha256"]
    assert body["format"] == FORMAT
    assert body["object"]["$object"] == "quotas/fair-learn"
    assert len(data) == sum(np.dtype(dtype).itemsize * math.prod(shape) for dtype, shape, _ in body["arrays"])


def test_saving_leaves_no_other_file_behind_and_replaces_the_old_one_whole(tmp_path):
    target = tmp_path / "policy"
    eh.save(UCB1(arms=2), target)
    old = target.read_bytes()
    with pytest.raises(ArgumentError):
        eh.save(FairLearn(Stubborn(0), [0.1, 0.1]), target)
    assert target.read_bytes() == old
    eh.save(UCB1(arms=3), target)
    assert eh.load(target).arms == (0, 1, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["policy"]


@pytest.mark.parametrize(
    ("learner", "refusal"),
    [
        (Stubborn(0), r"config.learner: Stubborn cannot be saved.*@evenhand.register"),
        (
            Adapter(Stubborn(0), choose=lambda one: one.choose(), update=lambda one, i, r: one.update(i, r)),
            r"Adapter cannot be saved: .*Stubborn; give it dump=, load=",
        ),
    ],
    ids=["foreign", "adapter"],
)
def test_a_policy_with_a_foreign_learner_is_refused_by_name(learner, refusal, tmp_path):
    with pytest.raises(ArgumentError, match=refusal):
        eh.save(FairLearn(learner, [0.1, 0.1]), tmp_path / "p")
    assert list(tmp_path.iterdir()) == []


def saved_bytes():
    policy = FairUCB([0.3, 0.3])
    policy.tell(policy.ask(), 1.0)
    return to_bytes(policy)


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "."), text)
    return buffer.getvalue()


def edited(**values):
    return rewritten(saved_bytes(), lambda body, _: body.update(values), signed=True)


def test_a_file_cut_off_anywhere_is_refused():
    data = saved_bytes()
    for length in {0, 1, 4, 30, len(data) // 3, len(data) // 2, len(data) - 30, len(data) - 1}:
        with pytest.raises(StateFileError, match="truncated, damaged or not a state file"):
            from_bytes(data[:length])


def test_a_module_of_evenhand_that_lacks_a_name_is_a_defect_and_no_damaged_file(monkeypatch):
    def broken(snapshot):
        raise ImportError("cannot import name 'reason'", name="evenhand.kernels.reasons")

    data = saved_bytes()
    monkeypatch.setattr(FairUCB, "restored", broken)
    with pytest.raises(ImportError, match="cannot import name"):
        from_bytes(data)


FOREIGN = {
    "no zip": b"not a zip at all",
    "another zip": zipped(other__txt="hello"),
    "empty": edited(object={"$object": "quotas/fair-ucb", "snapshot": {}}),
    "no arrays": edited(arrays=None),
    "fewer arrays": edited(arrays=[]),
    "no array": edited(object={"$object": "learners/ucb1", "snapshot": {"$array": 4000}}),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file_is_refused(kind, tmp_path):
    (tmp_path / "foreign").write_bytes(FOREIGN[kind])
    with pytest.raises(StateFileError, match="foreign: truncated, damaged or not a state file"):
        eh.load(tmp_path / "foreign")


@pytest.mark.parametrize("format", [FORMAT - 1, FORMAT + 1])
def test_another_format_is_refused_with_the_mend(format):
    assert from_bytes(edited(format=FORMAT)).round == 1
    said = f"written in format {format}, but this evenhand reads only format {FORMAT}; load it with the evenhand that"
    with pytest.raises(StateFileError, match=said):
        from_bytes(edited(format=format))


def test_what_is_not_there_or_is_a_folder_is_refused(tmp_path):
    policy = FairUCB([0.2, 0.2])
    with pytest.raises(StateFileError, match="nothing: cannot be read: No such file"):
        eh.load(tmp_path / "nothing")
    with pytest.raises(StateFileError, match="cannot be read: Is a directory"):
        eh.load(tmp_path)
    with pytest.raises(StateFileError, match="cannot be written: Is a directory"):
        eh.save(policy, tmp_path)
    with pytest.raises(StateFileError, match=r"p\.state: cannot be written: No such file or directory"):
        eh.save(policy, tmp_path / "absent" / "p.state")
    assert list(tmp_path.iterdir()) == []


def test_a_saved_policy_is_readable_as_other_files_are(tmp_path):
    (tmp_path / "plain").touch()
    eh.save(FairUCB([0.2, 0.2]), tmp_path / "p.state")
    assert (tmp_path / "p.state").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("path", [None, 3, b"state", ["state"], 1.5], ids=repr)
def test_what_is_no_path_is_refused(path):
    policy = eh.quotas.FairUCB([0.2, 0.3])
    for door in (lambda: eh.load(path), lambda: eh.save(policy, path)):
        with pytest.raises(ArgumentError, match="path: expected the path of a file, got"):
            door()


def test_large_arrays_are_compressed(tmp_path):
    rng = np.random.default_rng(0)
    pool = ArrayPool(rng.integers(0, 9, (2000, 100)), rng.integers(0, 2, 2000), group=["u", "v"] * 1000)
    eh.save(pool, tmp_path / "pixels")
    with zipfile.ZipFile(tmp_path / "pixels") as archive:
        place = archive.getinfo("arrays")
    assert (eh.load(tmp_path / "pixels").X == pool.X).all()
    assert place.compress_size < place.file_size / 3
