from .export import bandit_frame as bandit_frame
from .log.operations import Operation as Operation
from .store.storage import Storage as Storage
from .store.store import Store as Store
from .study import Study as Study
