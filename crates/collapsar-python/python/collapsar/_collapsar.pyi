from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, final

from numpy import float32, float64, int64, uint32
from numpy.typing import NDArray

_Callback = Callable[[int, dict[str, Any]], Any]
_Documents = tuple[NDArray[int64], NDArray[uint32], NDArray[float32], int]
_Topics = tuple[list[float], float, NDArray[float64]]
_Sparse = tuple[tuple[int, int], NDArray[int64], NDArray[uint32], NDArray[float64]]

__all__ = [
    "BugsFit",
    "BugsModel",
    "__version__",
    "alignment_names",
    "class_names",
    "complete_topics",
    "fit_mixture",
    "fit_topics",
    "genes_of",
    "infer_topics",
    "panic_for_tests",
    "quality_of_topics",
    "quantification",
    "quantify",
    "sample_mixture",
    "score_mixture",
    "transcript_lengths",
    "words_of_topics",
]

__version__: str

def fit_mixture(
    x: NDArray[float64],
    wanted: Mapping[str, Any],
    plan: Mapping[str, Any],
    callback: _Callback | None,
) -> dict[str, Any]: ...
def score_mixture(
    x: NDArray[float64], fitted: Mapping[str, Any], threads: int
) -> tuple[NDArray[float64], NDArray[float64]]: ...
def sample_mixture(fitted: Mapping[str, Any], count: int, seed: int) -> NDArray[float64]: ...
def fit_topics(
    documents: _Documents,
    wanted: Mapping[str, Any],
    plan: Mapping[str, Any],
    callback: _Callback | None,
) -> dict[str, Any]: ...
def infer_topics(
    topics: _Topics, documents: _Documents, threads: int
) -> tuple[NDArray[float64], NDArray[float64], float]: ...
def complete_topics(
    topics: _Topics, observed: _Documents, evaluated: _Documents, threads: int
) -> tuple[float, float]: ...
def quality_of_topics(topics: _Topics, documents: _Documents, count: int) -> dict[str, Any]: ...
def words_of_topics(
    topics: _Topics, count: int, relevance: float
) -> list[list[tuple[int, float, float]]]: ...
def quantify(source: Any, wanted: Mapping[str, Any]) -> dict[str, Any]: ...
def transcript_lengths(
    path: str | PathLike[str],
) -> tuple[list[str], list[float], list[float], list[str | None]]: ...
def alignment_names(path: str | PathLike[str], gencode: bool) -> list[str]: ...
def genes_of(path: str | PathLike[str], names: list[str]) -> list[str | None]: ...
def class_names(path: str | PathLike[str]) -> list[str]: ...
def quantification(folder: str | PathLike[str]) -> dict[str, Any]: ...
def panic_for_tests() -> None: ...
@final
class BugsModel:
    def __new__(cls, source: str) -> BugsModel: ...
    def fit(
        self,
        given: list[tuple[str, NDArray[float64] | _Sparse]],
        wanted: Mapping[str, Any],
        plan: Mapping[str, Any],
        callback: _Callback | None,
    ) -> tuple[BugsFit, dict[str, Any]]: ...
    def svg(self) -> str: ...

@final
class BugsFit:
    def svg(self) -> str: ...
    def messages(self) -> NDArray[float64]: ...
    def unknowns(self) -> list[tuple[str, int, bool, bool]]: ...
    def classes(self) -> list[tuple[list[str], str, bool]]: ...
    def rows(
        self, arrays: list[str]
    ) -> tuple[list[tuple[str, str, list[int]]], NDArray[float64]]: ...
    def draws(
        self, arrays: list[str], count: int, seed: int
    ) -> tuple[list[tuple[str, str, list[int]]], NDArray[float64]]: ...
