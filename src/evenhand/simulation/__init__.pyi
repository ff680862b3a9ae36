from .frames import frame as frame, latex as latex, sweep as sweep
from .simulate import simulate as simulate
from .world import KernelWorld as KernelWorld, WorldKernels as WorldKernels
