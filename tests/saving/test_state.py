"""Save and load: one zip, no pickle, exact continuation, and every file that is not ours refused."""

import io
import json
import math
import pickletools
import zipfile

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, RegistryError, StateFileError
from evenhand.learners import UCB1, Thompson
from evenhand.quotas import FairLearn, FairUCB
from evenhand.sampling import ArrayPool
from evenhand.saving.saved import fill
from evenhand.saving.state import FORMAT, from_bytes, to_bytes
from tests.saved_files import rewritten
from tests.strategies import Stubborn

SHARES = {"x": 0.2, "y": "1/3", "z": 0.1}


def test_a_policy_is_loaded_from_its_file_as_it_was(tmp_path):
    """The contract asks of every registered policy that it continues exactly."""
    policy = FairLearn(Thompson(), SHARES, seed=3)
    policy.tell(policy.ask(), 1.0)
    late = policy.ask()
    eh.save(policy, tmp_path / "policy.evenhand")
    other = eh.load(tmp_path / "policy.evenhand")
    assert type(other) is type(policy)
    assert (other.arms, other.open_tickets, repr(other)) == (policy.arms, [late.id], repr(policy))
    for one in (policy, other):
        one.tell(late.id, 1.0)
    assert [policy.ask() for _ in range(9)] == [other.ask() for _ in range(9)]
    assert to_bytes(other) == to_bytes(policy)


def test_the_file_is_a_zip_of_json_and_arrays_and_nothing_can_be_unpickled(tmp_path):
    eh.save(FairLearn(Thompson(), SHARES, seed=1), tmp_path / "p")
    with zipfile.ZipFile(tmp_path / "p") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for content in members.values():
        with pytest.raises(ValueError, match=r"."):
            list(pickletools.genops(content))
    assert list(members) == ["evenhand.json", "arrays", "sha256"]
    body = json.loads(members["evenhand.json"])
    assert (body["format"], body["object"]["$object"]) == (FORMAT, "quotas/fair-learn")
    sizes = [np.dtype(dtype).itemsize * math.prod(shape) for dtype, shape, _ in body["arrays"]]
    assert len(members["arrays"]) == sum(sizes) > 0


def test_saving_leaves_no_other_file_behind_and_replaces_the_old_one_whole(tmp_path):
    target = tmp_path / "policy"
    eh.save(UCB1(arms=2), target)
    old = target.read_bytes()
    with pytest.raises(ArgumentError, match=r"config.learner: Stubborn cannot be saved.*@evenhand.register"):
        eh.save(FairLearn(Stubborn(0), [0.1, 0.1]), target)
    assert target.read_bytes() == old
    eh.save(UCB1(arms=3), target)
    assert eh.load(target).arms == (0, 1, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["policy"]


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


def another_number(body, arrays):
    body["object"]["snapshot"]["tickets"]["next"] += 1


def a_bit_of_an_array(body, arrays):
    arrays[len(arrays) // 2] ^= 1


@pytest.mark.parametrize("change", [another_number, a_bit_of_an_array])
def test_what_was_not_saved_so_is_refused_by_name(change):
    with pytest.raises(StateFileError, match=r"^state: damaged or edited by hand: its content is not what was saved"):
        from_bytes(rewritten(saved_bytes(), change, signed=False))


def test_a_forged_file_runs_nothing():
    with pytest.raises(RegistryError, match=r"no entry is named 'os.system'"):
        from_bytes(edited(object={"$object": "os.system", "snapshot": {}}))


def test_an_array_of_a_class_that_has_changed_since_is_refused_by_name():
    for kept in (np.zeros(1), np.zeros(3, np.float32)):
        with pytest.raises(StateFileError, match=r"saved state\.sums: expected an array float64 \(3,\), got"):
            fill(np.zeros(3), kept, "state.sums")


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
