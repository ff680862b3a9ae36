from .export import bandit_frame as bandit_frame
from .log.operations import Ask as Ask, Change as Change, Forget as Forget, Operation as Operation, Tell as Tell
from .store.storage import Storage as Storage
from .store.store import Store as Store
from .study import Study as Study
