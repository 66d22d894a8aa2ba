"""Tables with categorical columns: frames, or arrays some of whose columns are named, as numbers and codes of levels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

#: Columns of text with more levels than this are names where rows hardly share them.
_FEW = 20


class Mixed:
    """Rows as numbers, NaN where one is missing, and codes of levels, -1 where one is missing."""

    def __init__(self, values, codes):
        self.values, self.codes = values, codes

    def __len__(self) -> int:
        return len(self.values)


class Columns:
    """Which columns of a table are categorical, and what their levels are."""

    def __init__(self, places: list[int], names: list[str], levels: list[np.ndarray]):
        self.places, self.names, self.levels = places, names, levels

    def of(self, X, estimator, reset: bool) -> Mixed:
        """A table like that of the fit."""
        X = _with_axes(X)
        # It checks names and the number of columns, and leaves what they hold to us.
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        codes = [
            _codes(_column(X, place), levels, name)
            for place, name, levels in zip(self.places, self.names, self.levels)
        ]
        others = [place for place in range(X.shape[1]) if place not in self.places]
        if not others:
            return Mixed(np.empty((X.shape[0], 0)), codes)
        part = X.iloc[:, others] if _is_frame(X) else np.asarray(X)[:, others]
        values = check_array(part, dtype=np.float64, order="C", ensure_all_finite="allow-nan")
        return Mixed(values, codes)


def columns_of(X: Any, categorical: Any) -> Columns | None:
    """The categorical columns of a table: those named, and those that are so by the type that a frame says; None where there is none."""
    by_type = [] if not _is_frame(X) else [d for d, kind in enumerate(X.dtypes) if _is_level(kind)]
    named = list(categorical) if categorical is not None else []
    if not by_type and not named:
        return None
    X = _with_axes(X)
    given = [str(name) for name in X.columns] if _is_frame(X) else None
    places = {_place(column, given, X.shape[1]) for column in named}
    names, levels = [], []
    every = sorted(places.union(by_type))
    for place in every:
        name = given[place] if given is not None else f"column {place}"
        found = _levels(_column(X, place))
        present = int((~_missing(_column(X, place))).sum())
        each = len(found) == present and present > 1
        if place not in places and (each or (len(found) > _FEW and 2 * len(found) > present)):
            raise ValueError(
                f"column {name!r} has {len(found)} levels in {present} rows, expected levels that rows share;"
                f" try X.drop(columns={name!r}) or categorical=[{name!r}]"
            )
        names.append(name)
        levels.append(found)
    return Columns(every, names, levels)


def refuse(X: Any, categorical: Any, what: str) -> None:
    """Refuses categorical columns where they are not known."""
    if categorical is not None or (_is_frame(X) and any(_is_level(kind) for kind in X.dtypes)):
        raise ValueError(f"{what} knows no categorical columns, expected numbers alone")


def _is_frame(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns")


def _is_level(kind: Any) -> bool:
    """Whether a column of a frame is categorical by its type: categories, booleans, text."""
    return (
        hasattr(kind, "categories")
        or getattr(kind, "kind", "") in "bOSU"
        or str(kind).startswith(("string", "boolean", "bool"))
    )


def _with_axes(X: Any) -> Any:
    if _is_frame(X):
        return X
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got an array of {X.ndim} axes instead")
    return X


def _place(column: Any, names: list[str] | None, count: int) -> int:
    if names is not None and str(column) in names:
        return names.index(str(column))
    whole = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
    if whole and 0 <= column < count:
        return int(column)
    expected = f"0 to {count - 1}" if names is None else f"a name of X or 0 to {count - 1}"
    raise ValueError(f"categorical has the column {column!r}, expected {expected}")


def _column(X: Any, place: int) -> np.ndarray:
    return np.asarray(X.iloc[:, place] if _is_frame(X) else X[:, place], dtype=object)


def _missing(column: np.ndarray) -> np.ndarray:
    """None, NaN and what pandas has in their place: nothing else differs from itself, or cannot say so."""

    def is_missing(x: Any) -> bool:
        try:
            return x is None or bool(x != x)
        except TypeError:
            return True

    return np.fromiter((is_missing(x) for x in column), dtype=bool, count=len(column))


def _name(x: Any) -> Any:
    """Whole numbers are the same levels whatever type they have."""
    if isinstance(x, (bool, np.bool_)):
        return bool(x)
    if isinstance(x, (float, np.floating)) and float(x).is_integer():
        return int(x)
    return x.item() if isinstance(x, np.generic) else x


def _levels(column: np.ndarray) -> np.ndarray:
    found = {_name(x) for x in column[~_missing(column)]}
    try:
        ordered = sorted(found)
    except TypeError:
        ordered = sorted(found, key=lambda x: (str(type(x)), str(x)))
    levels = np.empty(len(ordered), dtype=object)
    levels[:] = ordered
    return levels


def _codes(column: np.ndarray, levels: np.ndarray, name: str) -> np.ndarray:
    places = {level: code for code, level in enumerate(levels)}
    codes = np.full(len(column), -1, dtype=np.int64)
    missing = _missing(column)
    for row, x in enumerate(column):
        if missing[row]:
            continue
        code = places.get(_name(x))
        if code is None:
            known = ", ".join(repr(level) for level in levels[:12])
            raise ValueError(
                f"row {row} has the level {_name(x)!r} in {name!r}, expected one that the fit knows"
                f" ({known}{', ...' if len(levels) > 12 else ''}), or None where it is missing"
            )
        codes[row] = code
    return codes
