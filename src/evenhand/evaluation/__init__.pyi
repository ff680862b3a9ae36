from .evaluate import evaluate as evaluate
from .findings import Comparison as Comparison, Evaluation as Evaluation
from .promise_cost import under_shares as under_shares
from .refitted import Refitted as Refitted
