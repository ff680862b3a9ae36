"""A service's studies, used from Python: `Client` and `AsyncClient` ask and tell over HTTP.

    with Client("http://localhost:8000", key="eh_both_...") as client:
        study = client.study("ads")
        decision = study.ask()
        study.tell(decision, 1.0)

Requests that fail on the way are repeated; an ask has an idempotency key, so that a repeated one returns the same
decision. Importing this package loads no policies and no numerical libraries: it needs httpx alone
(`pip install 'evenhand[client]'`). `evenhand.client.openfeature` is a provider of OpenFeature flags.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
