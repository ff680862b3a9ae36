"""Refusals that name what there is: the nearest few, and what was probably meant."""

from evenhand.errors import nearest, wanted_one_of


def test_a_few_names_are_all_listed_in_their_order():
    assert wanted_one_of("column", ["b", "a"], "zzz") == "column: expected one of ['b', 'a'], got 'zzz'"


def test_many_names_are_cut_to_the_nearest_and_the_rest_is_counted():
    known = [f"feature {i}" for i in range(43)] + ["reward"]
    said = wanted_one_of("column", known, "Rewrad")
    assert said.startswith("column: expected one of ['reward', 'feature 0', ")
    assert said.endswith(" and 36 more, got 'Rewrad'; did you mean 'reward'?")


def test_the_case_of_letters_makes_no_difference_and_no_guess_is_made_from_afar():
    assert nearest("ARM", ["reward", "arm"]) == ["arm"]
    assert nearest("quantity", ["arm", "reward"]) == []
    assert nearest(17, [16, 177]) == ["177"]
