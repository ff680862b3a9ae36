"""evenhand: software that decides fairly while it learns.

    import evenhand as eh

    policy = eh.quotas.FairUCB({"ads": 0.2, "news": 0.3, "sports": 0.3})
    decision = policy.ask()
    policy.tell(decision, reward)

Each problem has a package: `quotas`, `groups`, `interventions`, `sampling`, `similarity`. `eh.simulate` plays policies
in worlds, `eh.check_policy` checks any policy against the contract, and `eh.Study` keeps a policy in a file or a
database. Every name is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
