from .kernel_policy import KernelPolicy as KernelPolicy
from .kernel_set import (
    Kernels as Kernels,
    deterministic as deterministic,
    sampled as sampled,
    unknown_probability as unknown_probability,
    FORCED as FORCED,
    reason as reason,
)
