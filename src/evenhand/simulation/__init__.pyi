from .frames import frame as frame, latex as latex, sweep as sweep
from .gymnasium_worlds import from_gymnasium as from_gymnasium, to_gymnasium as to_gymnasium
from .simulate import simulate as simulate
from .world import KernelWorld as KernelWorld, WorldKernels as WorldKernels
