"""Collapsed variational inference in conjugate-exponential models.

- `BayesianGaussianMixture`: scikit-learn's class of that name, with a better climb
- `LatentDirichletAllocation`: scikit-learn's class of that name, collapsed
- `Model`: any conjugate model in the BUGS language
- `Plot`: a picture of a fit, which notebooks show
- `quant`, `read_quant`: how abundant transcripts are, from reads
- `CollapsarError`, `ModelError`, `DataError`, `SettingError`: what goes wrong

The two estimators need scikit-learn (``pip install scikit-learn``) and are imported when they are
first used; the rest needs NumPy alone.
"""

from typing import TYPE_CHECKING, Any

from ._collapsar import __version__
from ._errors import CollapsarError, DataError, ModelError, SettingError
from ._model import Fit, Model
from ._plot import Plot
from ._quant import Quantification, quant, read_quant

if TYPE_CHECKING:
    from ._mixture import BayesianGaussianMixture
    from ._topics import LatentDirichletAllocation

__all__ = [
    "BayesianGaussianMixture",
    "CollapsarError",
    "DataError",
    "Fit",
    "LatentDirichletAllocation",
    "Model",
    "ModelError",
    "Plot",
    "Quantification",
    "SettingError",
    "__version__",
    "quant",
    "read_quant",
]

_ESTIMATORS = {
    "BayesianGaussianMixture": "_mixture",
    "LatentDirichletAllocation": "_topics",
}


def __getattr__(name: str) -> Any:
    if name not in _ESTIMATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"pycollapsar.{name} needs scikit-learn; try pip install scikit-learn"
        ) from error
    found = getattr(import_module(f".{_ESTIMATORS[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
