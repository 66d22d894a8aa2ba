"""What may be fitted: files, arrays, blocks of a Ray Dataset; each is a source, cut into chunks of so many rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .._collapsar import MixtureWorker, shape_of_table

#: Rows of a chunk.
CHUNK_ROWS = 16_384

#: Source, first row in it, rows, number of the first chunk.
Place = tuple[int, int, int, int]

#: Endings of the files that are taken from a folder.
_TABLES = (".csv", ".tsv", ".npy", ".parquet", ".csv.gz", ".tsv.gz")


class Source(Protocol):
    """Some rows of the data, which any worker can load."""

    name: str

    #: Whether it is in the memory of this process.
    here: bool

    def shape(self) -> tuple[int, list[str]]:
        """How many rows there are, and the names of the columns."""

    def fill(self, worker: MixtureWorker, place: Place) -> None:
        """Has a worker hold some of the rows."""

    def stored(self, place: Place, put: Callable[[Any], Any]) -> Source:
        """The same where others can load it: `put` stores a value and returns a reference."""


class FileSource:
    """A table in a file, which every worker can open."""

    here = False

    def __init__(self, path: str, columns: list[str] | None) -> None:
        self.name, self.path, self.columns = str(path), os.path.abspath(path), columns

    def shape(self) -> tuple[int, list[str]]:
        mapped = self._mapped()
        if mapped is not None:
            return len(mapped), numbered(mapped)
        return shape_of_table(self.path, self.columns)

    def fill(self, worker: MixtureWorker, place: Place) -> None:
        mapped = self._mapped()
        if mapped is None:
            worker.read(place, self.path, self.columns)
            return
        _, first, rows, _ = place
        worker.hold(place, matrix(mapped[first : first + rows]))

    def stored(self, place: Place, put: Callable[[Any], Any]) -> Source:
        return self

    def _mapped(self) -> np.ndarray | None:
        """A plain array of all its columns, of which only the rows that are wanted are read."""
        if self.columns is not None or not self.path.endswith(".npy"):
            return None
        try:
            array = np.load(self.path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError):
            # The package's own reader says what is wrong with it.
            return None
        plain = array.ndim == 2 and array.dtype.kind in "fiu"
        return array if plain else None


class ArraySource:
    """An array in this process."""

    here = True

    def __init__(self, name: str, array: Any) -> None:
        self.name, self.array = name, matrix(array)

    def shape(self) -> tuple[int, list[str]]:
        return len(self.array), numbered(self.array)

    def fill(self, worker: MixtureWorker, place: Place) -> None:
        _, first, rows, _ = place
        worker.hold(place, self.array[first : first + rows])

    def stored(self, place: Place, put: Callable[[Any], Any]) -> Source:
        _, first, rows, _ = place
        return RemoteSource(self.name, put(self.array[first : first + rows]), None, first)


class RemoteSource:
    """An array, or a block of a Ray Dataset, in Ray's object store."""

    here = False

    def __init__(self, name: str, reference: Any, columns: list[str] | None, first: int = 0):
        self.name, self.reference, self.columns, self.first = name, reference, columns, first

    def load(self) -> tuple[Any, list[str]]:
        """The rows, and the names of their columns."""
        import ray

        found = ray.get(self.reference)
        if isinstance(found, np.ndarray):
            return matrix(found), numbered(found)
        from ray.data.block import BlockAccessor

        columns = BlockAccessor.for_block(found).to_numpy()
        names = self.columns or list(columns)
        parts = [np.asarray(columns[name], dtype=np.float64) for name in names]
        if len(parts) == 1 and parts[0].ndim == 2:
            return matrix(parts[0]), numbered(parts[0])
        return matrix(np.column_stack(parts)), names

    def shape(self) -> tuple[int, list[str]]:
        array, names = self.load()
        return len(array), names

    def fill(self, worker: MixtureWorker, place: Place) -> None:
        _, first, rows, _ = place
        first -= self.first
        worker.hold(place, self.load()[0][first : first + rows])

    def stored(self, place: Place, put: Callable[[Any], Any]) -> Source:
        return self


def matrix(array: Any) -> np.ndarray:
    """Rows of numbers as workers take them."""
    found = np.ascontiguousarray(array, dtype=np.float64)
    if found.ndim != 2:
        raise ValueError(f"an array with {found.ndim} axes, expected 2 (rows, columns)")
    return found


def numbered(array: np.ndarray) -> list[str]:
    """Names of columns that have none."""
    return [str(number + 1) for number in range(array.shape[1])]


class Dataset:
    """Rows to fit, and how they are cut.

    Parameters
    ----------
    data : path, array, Ray Dataset, or a list of paths, arrays or references to arrays in Ray's object store
        A folder is all the tables in it, in the order of their names. Files are NPY, Parquet, CSV and TSV.
    columns : list of str, default=None
        The columns to take, by name or by index from 1; all where it is None.
    chunk_rows : int, default=16384
        Rows of a chunk. Another number changes the last digits of a fit; another engine or number of workers does not.
    """

    def __init__(
        self, data: Any, *, columns: Sequence[str] | None = None, chunk_rows: int = CHUNK_ROWS
    ) -> None:
        self.columns = None if columns is None else [str(name) for name in columns]
        self.chunk_rows = int(chunk_rows)
        self.sources = list(_sources(data, self.columns))

    @classmethod
    def of(cls, data: Any) -> Dataset:
        """A data set as it is, or made of what it may be made of."""
        return data if isinstance(data, cls) else cls(data)

    def checked(self, shapes: list[tuple[int, list[str]]]) -> list[str]:
        """The names of the columns, which all sources have."""
        if not shapes:
            raise ValueError("no files or arrays, expected at least one")
        names = shapes[0][1]
        for source, (_, own) in zip(self.sources, shapes):
            if own != names:
                first, shown = self.sources[0].name, ", ".join(own)
                raise ValueError(
                    f"{source.name} has columns {shown}, expected {', '.join(names)} as {first} has"
                )
        return names


def _sources(data: Any, columns: list[str] | None) -> list[Source]:
    if isinstance(data, (str, os.PathLike)):
        return [FileSource(str(path), columns) for path in _files(Path(data))]
    if hasattr(data, "iter_internal_ref_bundles"):
        return _blocks(data, columns)
    if not isinstance(data, (list, tuple)):
        data = [data]
    sources: list[Source] = []
    for number, part in enumerate(data, start=1):
        name = f"array {number}"
        if isinstance(part, (str, os.PathLike)):
            sources.extend(FileSource(str(path), columns) for path in _files(Path(part)))
        elif type(part).__name__ == "ObjectRef":
            sources.append(RemoteSource(name, part, columns))
        else:
            if columns is not None:
                raise ValueError("columns= is for files; select those of arrays beforehand")
            sources.append(ArraySource(name, part))
    return sources


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.name.endswith(_TABLES))
    if not found:
        raise ValueError(f"{path}: no table in this folder, expected files named *.csv, *.npy, ...")
    return found


def _blocks(data: Any, columns: list[str] | None) -> list[Source]:
    bundles = data.materialize().iter_internal_ref_bundles()
    blocks = [block for bundle in bundles for block in bundle.blocks]
    filled = [
        getattr(block, "ref", None) or block[0]
        for block in blocks
        if (getattr(block, "metadata", None) or block[1]).num_rows
    ]
    return [
        RemoteSource(f"block {number}", reference, columns)
        for number, reference in enumerate(filled, start=1)
    ]
