"""A small stand-in for the service: the page's files under a strict policy, and answers that tests change at will."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from evenhand.service.middleware import SECURITY

PAGE = Path(__file__).resolve().parents[3] / "src" / "evenhand" / "service" / "page"
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
POLICY = dict(SECURITY)[b"content-security-policy"].decode()
BEGAN = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
SHARES = {"a": 0.2, "b": 0.3, "c": 0.1}
"""What the study "ads" promises."""
READ, REPORT = "read-key", "report-key"
OWED = "owed its share"


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


class Played:
    """A study of quotas, played by a rule without chance: whoever is furthest behind when owed, else a fixed order."""

    def __init__(self, name: str, shares: dict[str, float], decisions: int = 0, **more: Any) -> None:
        self.name, self.shares, self.more = name, shares, more
        self.pulls = dict.fromkeys(shares, 0)
        self.log: list[dict[str, Any]] = []
        self.statistics: list[tuple[tuple[int, ...], float | None, float | None, int]] = []
        self.rewards: list[float] = []
        self.owed_so_far = 0
        for _ in range(decisions):
            self.decide()

    def decide(self) -> None:
        now = len(self.log) + 1
        behind = {arm: share * now - self.pulls[arm] for arm, share in self.shares.items()}
        arm = max(behind, key=lambda label: behind[label])
        owed = behind[arm] >= 1
        arm = arm if owed else self._liked(now)
        self.pulls[arm] += 1
        self.owed_so_far += owed
        status = "forgotten" if now % 97 == 0 else "told" if now % 41 else "open"
        at = BEGAN + timedelta(seconds=7 * now)
        index = list(self.shares).index(arm)
        reward = None
        if status == "told":
            reward = round(((now * 7919) % 100) / 100 * (0.4 + 0.5 * index / len(self.shares)), 2)
            self.rewards.append(reward)
        self.statistics.append(
            (tuple(self.pulls.values()), mean(self.rewards), mean(self.rewards[-100:]), self.owed_so_far)
        )
        self.log.append(
            {
                "id": now,
                "at": at.isoformat(),
                "arm": arm,
                "index": index,
                "reason": OWED if owed else "highest upper confidence bound",
                "probabilities": None if owed else self._chances(index),
                "status": status,
                "reward": reward,
                "told_at": (at + timedelta(seconds=90)).isoformat() if status == "told" else None,
                "age_seconds": 9000.0 - 7 * now,
            }
        )

    def _liked(self, now: int) -> str:
        labels = list(self.shares)
        return labels[-1] if (now * 31) % 100 < 70 or len(labels) < 3 else labels[(now * 17) % len(labels)]

    def _chances(self, index: int) -> list[float]:
        rest = 0.3 / max(1, len(self.shares) - 1)
        return [0.7 if i == index else rest for i in range(len(self.shares))]

    def listed(self) -> dict[str, Any]:
        state = self.state()
        kept = {True: "kept", False: "broken", None: None}[(state["promise"] or {"kept": None})["kept"]]
        return {key: state[key] for key in ("name", "policy", "created", "decisions", "open")} | {"promise": kept}

    def state(self) -> dict[str, Any]:
        now = len(self.log)
        told = [entry for entry in self.log if entry["status"] == "told"]
        arms = []
        for arm, share in self.shares.items():
            rewards = [entry["reward"] for entry in told if entry["arm"] == arm]
            owed = [entry["id"] for entry in self.log if entry["arm"] == arm and entry["reason"] == OWED]
            arms.append(
                {
                    "label": arm,
                    "decisions": self.pulls[arm],
                    "share": self.pulls[arm] / now if now else None,
                    "promised": share,
                    "owed": share * now - self.pulls[arm],
                    "reward": mean(rewards),
                    "last_owed_round": owed[-1] if owed else None,
                }
            )
        state = {
            "name": self.name,
            "policy": "quotas/fair-ucb",
            "feedback": "reward",
            "created": BEGAN.isoformat(),
            "sequence": now + len(told),
            "decisions": now,
            "told": len(told),
            "forgotten": len([entry for entry in self.log if entry["status"] == "forgotten"]),
            "open": len([entry for entry in self.log if entry["status"] == "open"]),
            "arms": arms,
            "promise": {
                "when": "at every round",
                "kept": True,
                "tolerance": 0.0,
                "broken_from": 1.0,
                "worst_shortfall": 0.9,
                "worst_arm": arms[0]["label"],
                "worst_round": 3,
            },
            "reward": {"mean": mean(self.rewards), "recent": mean(self.rewards[-100:]), "window": 100},
            "bias": None,
            "groups": None,
        }
        return state | self.more

    def series(self, query: dict[str, str]) -> dict[str, Any]:
        first, last = int(query.get("first", 1)), min(int(query.get("last", len(self.log))), len(self.log))
        steps = int(query.get("points", 400)) - 1
        rounds = sorted({first + (last - first) * k // steps for k in range(steps + 1)}) if self.log else []
        moments = [self.statistics[t - 1] for t in rounds]
        counts = [moment[0] for moment in moments]
        return {
            "round": rounds,
            "at": [self.log[t - 1]["at"] for t in rounds],
            "labels": list(self.shares),
            "shares": [[row[i] / t for row, t in zip(counts, rounds, strict=True)] for i in range(len(self.shares))],
            "promised": list(self.shares.values()),
            "shortfall": [
                [share * t - row[i] for row, t in zip(counts, rounds, strict=True)]
                for i, share in enumerate(self.shares.values())
            ],
            "reward_mean": [moment[1] for moment in moments],
            "reward_recent": [moment[2] for moment in moments],
            "forced": [moment[3] for moment in moments],
        }

    def decisions(self, query: dict[str, str]) -> dict[str, Any]:
        before, limit = int(query.get("before", len(self.log) + 1)), int(query.get("limit", 50))
        fitting = [
            entry
            for entry in (self.log if query.get("order") == "oldest" else reversed(self.log))
            if entry["id"] < before
            and query.get("arm", entry["arm"]) == entry["arm"]
            and query.get("reason", entry["reason"]) == entry["reason"]
            and ("open" not in query or entry["status"] == "open")
        ]
        return {"decisions": fitting[:limit], "next": fitting[limit - 1]["id"] if len(fitting) > limit else None}

    def forced(self, query: dict[str, str]) -> dict[str, Any]:
        forced = [entry for entry in reversed(self.log) if entry["reason"] == OWED][: int(query.get("limit", 100))]
        return {"forced": [{"id": e["id"], "round": e["id"], "at": e["at"], "arm": e["arm"]} for e in forced]}

    def decision(self, number: int) -> dict[str, Any]:
        more = {
            "given": {"contexts": [[0.5, 1.25]] * len(self.shares)},
            "version": "1",
            "random_state": "5f0c",
            "key": None,
        }
        return self.log[number - 1] | more | {"actor": "a1b2"}


class Fake:
    """What is served; `studies` may be changed while it runs.

    While `answers` is not set they wait; `held` is set when one does.
    """

    def __init__(self, *studies: Played) -> None:
        self.studies = {study.name: study for study in studies}
        self.keys = {READ}
        self.answers = threading.Event()
        self.answers.set()
        self.held = threading.Event()
        self.asked: list[str] = []
        self.problems: list[str] = []
        self.closed = False
        """Whether what takes long is refused."""
        self.unlisted = False
        """Whether the list of studies fails."""

    def audit(self, study: Played) -> tuple[int, Any]:
        """Answer an audit; `problems` are those that it finds."""
        state = study.state()
        kept = {name: state["promise"][name] for name in ("worst_shortfall", "worst_arm", "worst_round")}
        counts = {name: state[name] for name in ("decisions", "told", "forgotten", "open")}
        return 200, {
            "ok": not self.problems,
            "problems": self.problems,
            "notes": [],
            "entries": state["sequence"],
            "digest": "5f0c" * 16,
            "promise": "at every round",
            "promise_kept": True,
            "rounds_in_violation": 0,
            **kept,
            **counts,
        }

    def answer(self, path: str, query: dict[str, str], key: str) -> tuple[int, Any]:
        if key == REPORT:
            return 403, problem("RoleError", "this key may report; reading needs a key with the role read")
        if key not in self.keys:
            return 401, problem("AuthenticationError", "the key is unknown, or was revoked")
        _, *parts = map(unquote, path.strip("/").split("/"))
        if not parts and self.unlisted:
            return 503, problem("StoreError", "the store cannot be reached; try again")
        if not parts:
            return 200, {"studies": [study.listed() for study in self.studies.values()]}
        if parts[0] not in self.studies:
            return 404, problem("UnknownStudyError", f"no study {parts[0]!r} is in the store")
        study = self.studies[parts[0]]
        match parts[1:]:
            case []:
                return 200, study.state()
            case ["series"]:
                return 200, study.series(query)
            case ["audit"]:
                return self.audit(study)
            case ["forced"]:
                return 200, study.forced(query)
            case ["decisions"]:
                return 200, study.decisions(query)
            case ["decisions", number] if 0 < int(number) <= len(study.log):
                return 200, study.decision(int(number))
        return 404, problem("UnknownTicketError", "no such decision was taken in this study")


def problem(name: str, message: str) -> dict[str, Any]:
    return {"error": {"name": name, "message": message}}


@contextmanager
def served(fake: Fake, port: int = 0):
    """Serve `fake` on 127.0.0.1 in a thread; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            if address.path.startswith("/studies"):
                query = {name: values[0] for name, values in parse_qs(address.query).items()}
                key = self.headers.get("Authorization", "").removeprefix("Bearer ")
                fake.asked.append(self.path)
                if not fake.answers.is_set():
                    fake.held.set()
                    assert fake.answers.wait(30)
                if fake.closed and ("first" in query or address.path.endswith("/history")):
                    busy = problem("BusyError", "4 series of some rounds are running already")
                    self.send(503, "application/json", json.dumps(busy).encode())
                    return
                if address.path.endswith("/history"):
                    self.send(200, "text/csv", f"{query['format']} {query['form']}".encode())
                    return
                status, body = fake.answer(address.path, query, key)
                self.send(status, "application/json", json.dumps(body).encode())
                return
            file = PAGE / ("index.html" if address.path == "/" else address.path.removeprefix("/page/"))
            if file.is_file():
                self.send(200, TYPES.get(file.suffix, "text/plain"), file.read_bytes())
            else:
                self.send(404, "text/plain", b"")

        def send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
