from .parity import Parity as Parity, parity as parity
