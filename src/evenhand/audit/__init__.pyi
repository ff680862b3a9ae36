from .findings import Audit as Audit
from .parity import Parity as Parity, parity as parity
from .promises import promise as promise
from .separate_logs import ApartAudit as ApartAudit
from .rates import Rates as Rates, rates as rates
