"""Pictures of fits: Vega-Lite specifications, which notebooks show."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

# What notebooks know the specifications by.
MIME = "application/vnd.vegalite.v5+json"


class Plot:
    """A picture as a Vega-Lite specification with its data; the same that pages of `collapsar report` draw.

    Notebooks show it where it is the last thing of a cell. With Altair, `to_altair` gives a chart that can be changed.

    Examples
    --------
    >>> from pycollapsar import Plot
    >>> plot = Plot({"mark": "point", "data": {"values": [{"x": 1}]}, "encoding": {"x": {"field": "x", "type": "quantitative"}}})
    >>> plot
    <pycollapsar.Plot: point>
    >>> plot.to_dict()["mark"]
    'point'
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec

    def __repr__(self) -> str:
        mark = self._spec.get("mark", "layers")
        shown = self._spec.get("description") or (mark if isinstance(mark, str) else mark["type"])
        return f"<pycollapsar.Plot: {shown}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {MIME: self._spec, "text/plain": repr(self)}

    def to_dict(self) -> dict[str, Any]:
        """The specification; a copy."""
        copy: dict[str, Any] = json.loads(json.dumps(self._spec))
        return copy

    def to_altair(self) -> Any:
        """The picture as a chart of Altair, which has to be installed."""
        import altair

        return altair.Chart.from_dict(self.to_dict())

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the specification to a file of JSON, for the editor of Vega and other programs."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self._spec, file)


def plot_of(text: str) -> Plot:
    """The picture of what the extension wrote."""
    return Plot(json.loads(text))


def bundle_of(estimator: Any, usual: dict[str, Any]) -> dict[str, Any]:
    """What notebooks show of an estimator: once it is fitted its picture, in the place of scikit-learn's diagram, which notebooks
    would prefer to it. Where scikit-learn is asked for text there is no diagram, and no picture either."""
    if "text/html" not in usual or not hasattr(estimator, "converged_"):
        return usual
    shown = {mime: of for mime, of in usual.items() if mime != "text/html"}
    return {**estimator.plot()._repr_mimebundle_(), **shown}
