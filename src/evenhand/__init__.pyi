from . import (
    audit as audit,
    client as client,
    datasets as datasets,
    errors as errors,
    evaluation as evaluation,
    groups as groups,
    interventions as interventions,
    learners as learners,
    plots as plots,
    quotas as quotas,
    sampling as sampling,
    similarity as similarity,
    simulation as simulation,
    studies as studies,
    trials as trials,
)
from .checks import check_policy as check_policy, check_world as check_world
from .data.encoding import Encoder as Encoder
from .evaluation import (
    Comparison as Comparison,
    Effects as Effects,
    Evaluation as Evaluation,
    effects as effects,
    evaluate as evaluate,
)
from .promises.promise import Promise as Promise
from .protocol import Decision as Decision
from .registry import register as register
from .saving.state import load as load, save as save
from .simulation import simulate as simulate
from .studies import Study as Study
from .version import __version__ as __version__
