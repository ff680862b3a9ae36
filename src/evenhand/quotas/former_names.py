"""`eh.quotas.audit`, by which scripts elsewhere still call `eh.audit.promise`; it goes with the next version."""

from evenhand.audit.promises import promise

audit = promise
