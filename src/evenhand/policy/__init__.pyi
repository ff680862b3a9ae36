from .kernel_set import Kernels as Kernels, certain as certain, drawn as drawn, unknown as unknown
from .policy import KernelPolicy as KernelPolicy
from .reasons import FORCED as FORCED, reason as reason
