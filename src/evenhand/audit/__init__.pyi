from .parity import Parity as Parity, parity as parity
from .rates import Rates as Rates, rates as rates
