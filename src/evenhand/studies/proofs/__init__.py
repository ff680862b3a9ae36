"""Proofs: a study's log in other hands, with one root that states the promise, and verifiers that need no package."""
