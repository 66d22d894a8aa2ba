"""Documents that may be fitted: files of counts or of texts, sparse matrices, texts of a Ray Dataset; each is a source, cut
into chunks of so many documents."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from .._collapsar import TopicsWorker, common_vocabulary, count_words
from ._dataset import Place

#: Documents of a chunk.
CHUNK_DOCUMENTS = 1024

#: Documents, what words are, words, how often each is there, documents with it.
Counted = tuple[int, int, list[str], list[float], list[int]]

#: What words are that numbers without names stand for.
_NUMBERS = 2

#: How files begin that lie beside documents and are none.
_BESIDE = ("vocab", "words", "docs", "README")


class Documents(Protocol):
    """Some documents of the corpus, which any worker can load."""

    name: str

    #: Whether it is in the memory of this process.
    here: bool

    def shape(self) -> Counted:
        """How many documents there are, and their words."""

    def fill(self, worker: TopicsWorker, place: Place) -> None:
        """Has a worker hold some of the documents."""

    def stored(self, place: Place, put: Callable[[Any], Any]) -> Documents:
        """The same where others can load it: `put` stores a value and returns a reference."""


class FileDocuments:
    """A file, which every worker can open."""

    here = False

    def __init__(self, path: str, reading: dict[str, Any]) -> None:
        self.name, self.path, self.reading = str(path), os.path.abspath(path), reading

    def shape(self) -> Counted:
        return count_words(self.path, self.reading)

    def fill(self, worker: TopicsWorker, place: Place) -> None:
        worker.read(place, self.name, self.path, self.reading)

    def stored(self, place: Place, put: Callable[[Any], Any]) -> Documents:
        return self


class MatrixDocuments:
    """A matrix of counts in this process, a document a row."""

    here = True

    def __init__(self, name: str, matrix: Any, first: int = 0) -> None:
        self.name, self.matrix, self.first = name, bags(matrix), first

    def shape(self) -> Counted:
        rows, words = self.matrix.shape
        return rows, _NUMBERS, [str(word + 1) for word in range(words)], [1.0] * words, [1] * words

    def fill(self, worker: TopicsWorker, place: Place) -> None:
        _, first, rows, _ = place
        own = self.matrix[first - self.first : first - self.first + rows]
        starts = np.ascontiguousarray(own.indptr, dtype=np.int64)
        words = np.ascontiguousarray(own.indices, dtype=np.uint32)
        worker.hold(place, self.name, (starts, words, np.ascontiguousarray(own.data, dtype=np.float32)))

    def stored(self, place: Place, put: Callable[[Any], Any]) -> Documents:
        _, first, rows, _ = place
        return RemoteDocuments(self.name, put(self.matrix[first : first + rows]), first)


class RemoteDocuments:
    """A matrix of counts in Ray's object store."""

    here = False

    def __init__(self, name: str, reference: Any, first: int = 0) -> None:
        self.name, self.reference, self.first = name, reference, first

    def _loaded(self) -> MatrixDocuments:
        import ray

        return MatrixDocuments(self.name, ray.get(self.reference), self.first)

    def shape(self) -> Counted:
        return self._loaded().shape()

    def fill(self, worker: TopicsWorker, place: Place) -> None:
        self._loaded().fill(worker, place)

    def stored(self, place: Place, put: Callable[[Any], Any]) -> Documents:
        return self


class BlockTexts:
    """Texts in a column of a block of a Ray Dataset."""

    here = False

    def __init__(self, name: str, reference: Any, column: str, reading: dict[str, Any]) -> None:
        self.name, self.reference, self.column = name, reference, column
        self.reading = {**reading, "format": "jsonl", "text_column": "text"}

    def _read(self, work: Callable[[str], Any]) -> Any:
        """What `work` makes of a file with the texts, read by the package's own reader."""
        import json

        import ray
        from ray.data.block import BlockAccessor

        block = BlockAccessor.for_block(ray.get(self.reference)).to_numpy([self.column])
        texts = block[self.column] if isinstance(block, dict) else block
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "texts.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps({"text": str(text)}) + "\n" for text in texts)
            return work(path)

    def shape(self) -> Counted:
        return self._read(lambda path: count_words(path, self.reading))

    def fill(self, worker: TopicsWorker, place: Place) -> None:
        self._read(lambda path: worker.read(place, self.name, path, self.reading))

    def stored(self, place: Place, put: Callable[[Any], Any]) -> Documents:
        return self


def bags(matrix: Any) -> sp.csr_matrix:
    """Counts as workers take them: entries of zero and repeated ones are put right."""
    found = sp.csr_matrix(matrix)
    if found.ndim != 2:
        raise ValueError(f"an array with {found.ndim} axes, expected 2 (documents, words)")
    if not found.has_canonical_format or (found.data == 0).any():
        found = found.copy()
        found.sum_duplicates()
        found.eliminate_zeros()
    return found


class Corpus:
    """Documents to fit topics to, and how they are cut.

    Parameters
    ----------
    data : path, matrix, Ray Dataset, or a list of paths, matrices or references to matrices in Ray's object store
        Matrices hold how often each document, a row, has each word, a column; sparse ones stay sparse. Files are those of
        ``collapsar topics``: counts as docword, LDA-C, SVMlight and Matrix Market give them, or texts, whose words are counted
        where they are and then made one vocabulary. A folder is all the files in it. A Ray Dataset has texts in the column
        `text_column`.
    vocabulary : path, or list of str, default=None
        The words of files of counts, one a line; the file beside the data where it is None. Of matrices a list of names.
    format : str, default=None
        The format of the files; by their contents where it is None.
    text_column : str, default='text'
        The column or field that holds the text, of tables, JSON lines and Ray Datasets.
    stop_words : str, default=None
        ``'english'``, ``'none'`` or a file of words to drop; English ones of texts where it is None.
    min_length : int, default=2
    keep_numbers : bool, default=False
        What a word of a text is.
    min_docs, max_docs_share, max_vocabulary : int, float, int, default=1, 1.0, None
        Words in fewer documents than `min_docs`, or in more than a fraction of them, are dropped, then all but the most frequent.
    chunk_rows : int, default=1024
        Documents of a chunk. Another number changes the last digits of a fit; another engine or number of workers does not.
    """

    def __init__(
        self,
        data: Any,
        *,
        vocabulary: str | os.PathLike[str] | Sequence[str] | None = None,
        format: str | None = None,
        text_column: str | None = None,
        stop_words: str | None = None,
        min_length: int = 2,
        keep_numbers: bool = False,
        min_docs: int = 1,
        max_docs_share: float = 1.0,
        max_vocabulary: int | None = None,
        chunk_rows: int = CHUNK_DOCUMENTS,
    ) -> None:
        file, self.names = None, None
        if isinstance(vocabulary, (str, os.PathLike)):
            file = os.path.abspath(vocabulary)
        elif vocabulary is not None:
            self.names = [str(word) for word in vocabulary]
        self.chunk_rows = int(chunk_rows)
        self.filters = (int(min_docs), float(max_docs_share), max_vocabulary)
        reading = {
            "format": format,
            "vocabulary": file,
            "text_column": text_column,
            "stop_words": stop_words,
            "min_length": int(min_length),
            "keep_numbers": bool(keep_numbers),
        }
        self.sources = list(_sources(data, reading))

    @classmethod
    def of(cls, data: Any) -> Corpus:
        """A corpus as it is, or made of what it may be made of."""
        return data if isinstance(data, cls) else cls(data)

    def words(self, shapes: list[Counted]) -> tuple[list[str], bool]:
        """The vocabulary, and whether numbers of words are positions in it."""
        if not shapes:
            raise ValueError("no files or matrices, expected at least one")
        matrices = [isinstance(source, (MatrixDocuments, RemoteDocuments)) for source in self.sources]
        if any(matrices):
            if not all(matrices):
                raise ValueError("matrices and files, expected either alone")
            return self._columns(shapes)
        if self.names is not None:
            raise ValueError("vocabulary is a list, expected a file with a word a line for files of counts")
        files = [(source.name, shape) for source, shape in zip(self.sources, shapes)]
        return common_vocabulary(files, *self.filters)

    def _columns(self, shapes: list[Counted]) -> tuple[list[str], bool]:
        widths = [len(shape[2]) for shape in shapes]
        for source, width in zip(self.sources, widths):
            if width != widths[0]:
                first = self.sources[0].name
                raise ValueError(f"{source.name} has {width} words, expected {widths[0]} as {first} has")
        if self.filters != (1, 1.0, None):
            raise ValueError("min_docs= and the like are for files; drop columns of matrices beforehand")
        names = self.names or shapes[0][2]
        if len(names) != widths[0]:
            raise ValueError(f"vocabulary has {len(names)} words, expected {widths[0]} as the matrices")
        return names, True


def _sources(data: Any, reading: dict[str, Any]) -> list[Documents]:
    if isinstance(data, (str, os.PathLike)):
        return [FileDocuments(str(path), reading) for path in _files(Path(data))]
    if hasattr(data, "iter_internal_ref_bundles"):
        return _blocks(data, reading)
    if not isinstance(data, (list, tuple)):
        data = [data]
    sources: list[Documents] = []
    for number, part in enumerate(data, start=1):
        name = f"matrix {number}"
        if isinstance(part, (str, os.PathLike)):
            sources.extend(FileDocuments(str(path), reading) for path in _files(Path(part)))
        elif type(part).__name__ == "ObjectRef":
            sources.append(RemoteDocuments(name, part))
        else:
            sources.append(MatrixDocuments(name, part))
    return sources


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    listed = (file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    found = sorted(file for file in listed if not file.name.startswith(_BESIDE))
    if not found:
        raise ValueError(f"{path}: no file in this folder, expected files of documents")
    return found


def _blocks(data: Any, reading: dict[str, Any]) -> list[Documents]:
    bundles = data.materialize().iter_internal_ref_bundles()
    blocks = [block for bundle in bundles for block in bundle.blocks]
    filled = [
        getattr(block, "ref", None) or block[0]
        for block in blocks
        if (getattr(block, "metadata", None) or block[1]).num_rows
    ]
    column = reading["text_column"] or "text"
    return [
        BlockTexts(f"block {number}", reference, column, reading)
        for number, reference in enumerate(filled, start=1)
    ]
