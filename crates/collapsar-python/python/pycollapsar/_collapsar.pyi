from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, final

from numpy import float32, float64, int64, uint8, uint32
from numpy.typing import NDArray

_Callback = Callable[[int, dict[str, Any]], Any]
_Documents = tuple[NDArray[int64], NDArray[uint32], NDArray[float32], int]
_Topics = tuple[list[float], float, NDArray[float64], bool]
_Place = tuple[int, int, int, int]
_Bytes = bytes | NDArray[uint8]
_Counted = tuple[int, int, list[str], list[float], list[int]]
_Sparse = tuple[tuple[int, int], NDArray[int64], NDArray[uint32], NDArray[float64]]

__all__ = [
    "BugsFit",
    "BugsModel",
    "FittedMixture",
    "MAX_ITERATIONS",
    "MixtureWorker",
    "OnlineMixture",
    "TopicsWorker",
    "__version__",
    "common_vocabulary",
    "complete_topics",
    "count_words",
    "cut_rows",
    "density_picture",
    "first_topics",
    "fit_far_mixture",
    "fit_far_topics",
    "fit_mixture",
    "fit_topics",
    "infer_topics",
    "learn_topics",
    "merge_answers",
    "panic_for_tests",
    "picture_of_topics",
    "quality_of_topics",
    "quantification",
    "quantify",
    "reads_format",
    "shape_of_table",
    "words_of_topics",
]

MAX_ITERATIONS: int
__version__: str

def fit_mixture(
    x: NDArray[float64],
    options: Mapping[str, Any],
    plan: Mapping[str, Any],
    callback: _Callback | None,
) -> dict[str, Any]: ...
def fit_far_mixture(
    options: Mapping[str, Any],
    plan: Mapping[str, Any],
    ask: Callable[[bytes, bool], list[bytes]],
    callback: _Callback | None,
) -> dict[str, Any]: ...
def fit_far_topics(
    options: Mapping[str, Any],
    plan: Mapping[str, Any],
    ask: Callable[[bytes, bool], list[bytes]],
    callback: _Callback | None,
) -> dict[str, Any]: ...
def count_words(file: str | PathLike[str], reading: Mapping[str, Any]) -> _Counted: ...
def common_vocabulary(
    files: list[tuple[str, _Counted]],
    min_docs: int,
    max_docs_share: float,
    max_vocabulary: int | None,
) -> tuple[list[str], bool]: ...
def cut_rows(
    sources: list[tuple[str, int]], chunk_rows: int, workers: int
) -> tuple[int, list[list[_Place]]]: ...
def merge_answers(answers: Sequence[_Bytes]) -> bytes: ...
def shape_of_table(
    file: str | PathLike[str], columns: list[str] | None
) -> tuple[int, list[str]]: ...
def fit_topics(
    documents: _Documents,
    options: Mapping[str, Any],
    plan: Mapping[str, Any],
    callback: _Callback | None,
) -> dict[str, Any]: ...
def infer_topics(
    topics: _Topics, documents: _Documents, jobs: int | None
) -> tuple[NDArray[float64], NDArray[float64], float]: ...
def first_topics(
    prior: tuple[list[float], float], vocabulary: int, seed: int
) -> NDArray[float64]: ...
def learn_topics(
    topics: _Topics, documents: _Documents, online: dict[str, Any], jobs: int | None
) -> tuple[NDArray[float64], int, float, float]: ...
def complete_topics(
    topics: _Topics, observed: _Documents, evaluated: _Documents, jobs: int | None
) -> tuple[float, float]: ...
def quality_of_topics(topics: _Topics, documents: _Documents, count: int) -> dict[str, Any]: ...
def picture_of_topics(
    topics: _Topics, words: list[str], topic: int | None, relevance: float
) -> str: ...
def density_picture(name: str, chains: list[list[float]]) -> str: ...
def words_of_topics(
    topics: _Topics, count: int, relevance: float
) -> list[list[tuple[int, float, float]]]: ...
def quantify(
    source: Any, options: dict[str, Any], jobs: int | None
) -> dict[str, Any]: ...
def reads_format(path: str | PathLike[str]) -> str: ...
def quantification(folder: str | PathLike[str]) -> dict[str, Any]: ...
def panic_for_tests() -> None: ...
@final
class FittedMixture:
    def __new__(cls, json: str) -> FittedMixture: ...
    def __reduce__(self) -> tuple[type[FittedMixture], tuple[str]]: ...
    def score(
        self, x: NDArray[float64], jobs: int | None
    ) -> tuple[NDArray[float64], NDArray[float64]]: ...
    def score_mixed(
        self,
        x: NDArray[float64],
        categories: list[tuple[int, NDArray[int64]]],
        jobs: int | None,
    ) -> tuple[NDArray[float64], NDArray[float64]]: ...
    def impute(
        self, x: NDArray[float64], jobs: int | None
    ) -> tuple[NDArray[float64], NDArray[float64]]: ...
    def impute_draws(
        self, x: NDArray[float64], count: int, seed: int, jobs: int | None
    ) -> NDArray[float64]: ...
    def sample(self, component: int, count: int, seed: int) -> NDArray[float64]: ...
    def picture(self, x: NDArray[float64], labels: list[int], columns: list[str]) -> str: ...
    def picture_of_components(self, columns: list[str]) -> str: ...

@final
class MixtureWorker:
    def __new__(cls, count: int, chunk_rows: int, columns: int, threads: int) -> MixtureWorker: ...
    @property
    def rows(self) -> int: ...
    def hold(self, piece: _Place, x: NDArray[float64]) -> None: ...
    def read(
        self, piece: _Place, file: str | PathLike[str], columns: list[str] | None
    ) -> None: ...
    def answer(self, task: _Bytes) -> bytes: ...

@final
class TopicsWorker:
    def __new__(
        cls, count: int, chunk_rows: int, vocabulary: tuple[list[str], bool], threads: int
    ) -> TopicsWorker: ...
    @property
    def rows(self) -> int: ...
    @property
    def passes(self) -> int: ...
    def hold(
        self,
        piece: _Place,
        name: str,
        documents: tuple[NDArray[int64], NDArray[uint32], NDArray[float32]],
    ) -> None: ...
    def read(
        self, piece: _Place, name: str, file: str | PathLike[str], reading: Mapping[str, Any]
    ) -> None: ...
    def answer(self, task: _Bytes) -> bytes: ...

@final
class OnlineMixture:
    def __new__(cls, json: str) -> OnlineMixture: ...
    def __reduce__(self) -> tuple[type[OnlineMixture], tuple[str]]: ...
    @staticmethod
    def begin(
        x: NDArray[float64],
        given: Mapping[str, Any],
        schedule: tuple[float, float, float],
        seed: int,
        jobs: int | None,
    ) -> OnlineMixture: ...
    def learn(
        self,
        x: NDArray[float64],
        weights: NDArray[float64] | None,
        known: NDArray[int64] | None,
        batch_size: int,
        schedule: tuple[float, float, float],
        jobs: int | None,
    ) -> tuple[float, float]: ...
    def fitted(self) -> tuple[dict[str, Any], FittedMixture, int]: ...

@final
class BugsModel:
    def __new__(cls, source: str) -> BugsModel: ...
    def fit(
        self,
        given: list[tuple[str, NDArray[float64] | _Sparse]],
        inits: list[list[tuple[str, NDArray[float64] | _Sparse]]],
        options: Mapping[str, Any],
        plan: Mapping[str, Any],
        callback: _Callback | None,
    ) -> tuple[BugsFit, dict[str, Any]]: ...
    def check(
        self,
        given: list[tuple[str, NDArray[float64] | _Sparse]],
        collapse: list[str],
        explicit: list[str],
    ) -> dict[str, Any]: ...
    def svg(self) -> str: ...

@final
class BugsFit:
    def svg(self) -> str: ...
    def messages(self) -> NDArray[float64]: ...
    def unknowns(self) -> list[str]: ...
    def enumerated(self) -> dict[str, Any] | None: ...
    def classes(self) -> tuple[list[str], list[str]]: ...
    def verdict(self, converged: bool) -> tuple[str, str, dict[str, Any]]: ...
    def rows(
        self, names: list[str] | None
    ) -> tuple[list[tuple[str, str, list[int]]], NDArray[float64]]: ...
    def forest(self, names: list[str] | None) -> str: ...
    def draws(
        self, names: list[str] | None, count: int, seed: int
    ) -> tuple[list[tuple[str, str, list[int]]], NDArray[float64]]: ...
