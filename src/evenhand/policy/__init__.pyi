from .kernel_policy import KernelPolicy as KernelPolicy
from .kernel_set import (
    Kernels as Kernels,
    certain as certain,
    drawn as drawn,
    unknown as unknown,
    FORCED as FORCED,
    reason as reason,
)
