from .bounds import regret_bound as regret_bound, violations_bound as violations_bound
from .exact_learners import EllipsoidDistance as EllipsoidDistance
from .exact_learners import KnownDistance as KnownDistance
from .known_rewards import KnownRewardLipschitz as KnownRewardLipschitz
from .lipschitz_ucb import LipschitzUCB as LipschitzUCB
from .moments import MomentDistance as MomentDistance
from .oracles import MahalanobisOracle as MahalanobisOracle
from .pair_queue import PairQueue as PairQueue
from .posterior import PosteriorDistance as PosteriorDistance
from .program import FairProgram as FairProgram, fair_distribution as fair_distribution
from .exact_learners import ProjectedVolumeDistance as ProjectedVolumeDistance
from .scale import Scale as Scale
from .worlds import LinearContexts as LinearContexts, TableIndividuals as TableIndividuals
