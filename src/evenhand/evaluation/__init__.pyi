from .distributions import under_shares as under_shares
from .effects import Effects as Effects, effects as effects
from .evaluate import evaluate as evaluate
from .findings import Comparison as Comparison, Evaluation as Evaluation
from .refitted import Refitted as Refitted
