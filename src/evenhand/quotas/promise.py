"""A promise and its audit, exported here beside the rules that keep the promise."""

from evenhand.audit.findings import Audit
from evenhand.audit.promises import audit
from evenhand.audit.separate_logs import ApartAudit
from evenhand.promises.promise import Promise

__all__ = ["ApartAudit", "Audit", "Promise", "audit"]
