"""Studies that last: a policy that lives in a file or a database, asked and told by any number of processes.

Nothing that was acknowledged is lost, every decision can be explained, and the log replays to the very same state.
"""

from evenhand.studies import monitors
from evenhand.studies.export import bandit_feedback, bandit_frame
from evenhand.studies.operations import Operation
from evenhand.studies.store import Store
from evenhand.studies.study import Study

__all__ = ["Operation", "Store", "Study", "bandit_feedback", "bandit_frame", "monitors"]
