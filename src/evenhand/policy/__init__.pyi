from .policy import (
    FORCED as FORCED,
    KernelPolicy as KernelPolicy,
    Kernels as Kernels,
    certain as certain,
    drawn as drawn,
    reason as reason,
    unknown as unknown,
)
