from .schemes import (
    mann_kendall as mann_kendall,
    rademacher_deviation as rademacher_deviation,
    vc_deviation as vc_deviation,
)
from .certification import Certification as Certification
from .schemes import EpsilonGreedySampler as EpsilonGreedySampler, GreedySampler as GreedySampler
from .collected import Collected as Collected
from .labelling.collection import collect as collect, group_errors as group_errors
from .labelling.label_queue import LabelQueue as LabelQueue
from .labelling.label_items import Task as Task
from .labelling.label_tables import (
    agreement_table as agreement_table,
    annotations_table as annotations_table,
    labelled_table as labelled_table,
    progress_table as progress_table,
)
from .measures import confidence_sequence as confidence_sequence, fairness_report as fairness_report
from .one_look import certify_once as certify_once
from .models.estimators import EstimatorModel as EstimatorModel
from .models.logistic import LogisticModel as LogisticModel
from .schemes import OptimisticSampler as OptimisticSampler
from .pools.pools import ArrayPool as ArrayPool, label_pairs as label_pairs
from .pools.table_pool import TablePool as TablePool
from .problem import Draw as Draw
from .reweighting import Reweighted as Reweighted, minimax_reweighting as minimax_reweighting
from .sampler import Sampler as Sampler
from .schemes import ProportionalSampler as ProportionalSampler, UniformSampler as UniformSampler
from .worlds import SyntheticModel1 as SyntheticModel1, SyntheticModel2 as SyntheticModel2
