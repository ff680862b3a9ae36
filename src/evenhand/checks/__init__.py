"""The contract, checked on everything in the registry and, by `check_policy`, on any policy.

    same seed          two copies with one seed decide alike, whatever they are told
    one kernel         compiled loop = online object = the same kernels as plain Python
    save and load      a policy saved mid-conversation, tickets open, goes on exactly as the original
    tickets            tells may come late and out of order; a second and an unknown one is refused, nothing changes
    bad input          what cannot be a reward is refused, nothing changes
    promise            what the policy promises holds, at every round
    reasons            a play is called owed where floors alone would refuse another, and only there
    learns             it does worse where every reward is turned into its opposite
    labels             arms by other names: the same decisions by other names
    numbers            settings as whole numbers, floats or numpy's: the same policy
    threads            several threads get tickets of their own, one round after another, and the promise holds
    arguments          made anew from get_params() it is the same, and each argument is stated and changes something

A check that does not apply is skipped by name, with the reason.
"""

from evenhand.checks.contract import Check, check_policy, check_registered, check_world, examples

__all__ = ["Check", "check_policy", "check_registered", "check_world", "examples"]
