"""Deploy the service on a local Ray cluster as docs/workers.md says, kill replicas, print what happened.

python -m tests.service.ray_replicas KEY
"""

import json
import sys
from pathlib import Path

import httpx

from tests.waiting import until

DOCS = Path(__file__).parents[2] / "docs" / "workers.md"
ADDRESS = "http://127.0.0.1:8000/studies/ads"
PATIENCE = 300
REPLICAS = 4


def example() -> str:
    """Return the program of the page that deploys the service."""
    blocks = DOCS.read_text().split("```python\n")[1:]
    return next(block.split("```")[0] for block in blocks if "serve.deployment" in block)


def replicas() -> list[str]:
    import ray

    names = [found["name"] for found in ray.util.list_named_actors(all_namespaces=True)]
    return sorted(name for name in names if name.startswith("SERVE_REPLICA"))


def main(key: str) -> None:
    import ray
    from ray import serve

    ray.init(num_cpus=REPLICAS + 1, include_dashboard=False, log_to_driver=False)
    serve.start(logging_config={"log_level": "ERROR", "enable_access_log": False})
    exec(compile(example(), str(DOCS), "exec"), {"__name__": "__main__"})
    client = httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=60)
    acknowledged, killed = [], []

    def decide(more: int) -> None:
        wanted = len(acknowledged) + more

        def decided() -> bool:
            try:
                answer = client.post(f"{ADDRESS}/ask", json={})
            except httpx.TransportError:
                return False
            if answer.is_success:
                acknowledged.append(answer.json()["id"])
                client.post(f"{ADDRESS}/tell", json={"ticket": answer.json()["ticket"], "reward": 0.5})
            return len(acknowledged) >= wanted

        until(decided, 0.0)

    decide(60)
    for _ in range(2):
        killed += replicas()[:2]
        for name in killed[-2:]:
            ray.kill(ray.get_actor(name, namespace="serve"))
        decide(60)
    until(lambda: len(set(replicas()) - set(killed)) == REPLICAS, 0.2)
    decide(20)
    print(json.dumps({"acknowledged": acknowledged, "killed": killed, "replicas": replicas()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
