"""Models in the BUGS language."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._collapsar import MAX_ITERATIONS, BugsFit, BugsModel, density_picture
from ._errors import DataError, SettingError
from ._plan import Callback, Path, plan, trace, watcher
from ._plot import Plot, plot_of


class Model:
    """A conjugate model in the BUGS language.

    Parameters
    ----------
    text : str
        The model, from ``model {`` to ``}``.

    Raises
    ------
    ModelError
        Where the text is not BUGS; the error points to the place.

    Examples
    --------
    >>> import numpy as np
    >>> import pycollapsar
    >>> model = pycollapsar.Model('''
    ... model {
    ...   for (i in 1:N) { y[i] ~ dnorm(mu, tau) }
    ...   mu ~ dnorm(0, 0.001)
    ...   tau ~ dgamma(0.01, 0.01)
    ... }
    ... ''')
    >>> fit = model.fit({"y": np.array([4.0, 5.0, 6.0]), "N": 3})
    >>> fit.converged
    True
    >>> round(float(fit.mean("mu")), 2)
    5.0
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._model = BugsModel(text)

    def __repr__(self) -> str:
        return f"Model({self.text!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Model, (self.text,)

    def _repr_svg_(self) -> str:
        """The graph, for notebooks; what is collapsed is known only to a fit."""
        return self._model.svg()

    def fit(
        self,
        data: Any = None,
        *,
        method: str = "auto",
        tol: float | None = None,
        max_iter: int = MAX_ITERATIONS,
        n_init: int | None = None,
        seed: int = 0,
        inits: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None,
        posterior: str | None = None,
        n_chains: int = 4,
        collapse: Iterable[str] = (),
        explicit: Iterable[str] = (),
        enumerate: Iterable[str] | None = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        progress: bool = False,
        max_passes: int | None = None,
        max_seconds: float | None = None,
        checkpoint: Path | None = None,
        resume: Path | None = None,
    ) -> Fit:
        """Fits the model to data.

        Parameters
        ----------
        data : mapping or DataFrame, optional
            Arrays by name: numbers, NumPy arrays (NaN is missing), SciPy sparse matrices. The
            columns of a frame are vectors, and its number of rows is N unless a column is.
        method : {'auto', 'vbem', 'fr', 'pr', 'hs', 'lbfgs', 'newton'}, default='auto'
            How to climb.
        tol : float, optional
            The climb has converged when a step raises the bound by less than this many nats; a
            ten-thousand-millionth for each observed number, and 1e-8 at least, where it is None.
        max_iter : int, default=10000
            Most steps of a climb.
        n_init : int, optional
            Climbs, of which the best is kept. Where it is None, one; where there are labels, up to 12 starts
            climb a little way, most are abandoned, and the best climbs to the end.
        seed : int, default=0
            Where climbs begin.
        inits : mapping or iterable of mappings, optional
            Initial values by name (NaN where there is none), or several such, for unknowns of all kinds: a climb
            begins at each. Where there are labels other starts compete with them, unless `n_init` says how many there are.
        posterior : {'mean-field', 'linear-response', 'exact'}, optional
            What results are of: the fit's own distribution, fast and too sure of itself; its means with
            deviations that know of what was not observed; or Markov chains that begin at the fit. Where it is
            None, linear response, or mean field where that would cost more than about a second.
        n_chains : int, default=4
            Markov chains, where the posterior is exact.
        collapse, explicit : iterable of str
            Arrays that are to be collapsed, and arrays that are not to be.
        enumerate : iterable of str, optional
            Arrays of labels for each state of which the model is fitted, the fits being combined by their bounds.
            Where it is None, labels that most of the model meets, such as a change-point, while their states are few;
            none where it is empty.
        n_jobs : int, optional
            Threads; None and -1 mean all processors. Results are the same for any number.
        callback : callable, optional
            Is called with a dictionary after each step; the climb stops where it returns True.
        progress : bool, default=False
            Whether to show a progress bar (needs tqdm).
        max_passes : int, optional
            Most passes over the data of a climb.
        max_seconds : float, optional
            Seconds after which everything stops, and the best so far is kept.
        checkpoint, resume : str or path, optional
            Where to write what is needed to go on, now and then and at the end; and what to go on
            from, with the same data and settings, to the same numbers. They follow one climb.

        Returns
        -------
        Fit

        Raises
        ------
        ModelError
            Where the model lacks data or has an edge that is not conjugate.
        DataError, SettingError
            Where data or a setting cannot be used.
        """
        options = {
            "posterior": posterior,
            "chains": int(n_chains),
            "collapse": list(collapse),
            "explicit": list(explicit),
            "enumerate": None if enumerate is None else list(enumerate),
            "messages": None,
        }
        how = plan(
            method,
            seed,
            tolerance=tol,
            max_iter=max_iter,
            max_passes=max_passes,
            max_seconds=max_seconds,
            restarts=n_init,
            n_jobs=n_jobs,
            checkpoint=checkpoint,
            resume=resume,
        )
        given = _arrays(data)
        begin = _initial(inits)
        watch, close = watcher(callback, progress, None)
        try:
            fit, report = self._model.fit(given, begin, options, how, watch)
        finally:
            close()
        fitted = Fit(self, fit, report, (given, options, how))
        unused = [name + (f" (is {like} meant?)" if like else "") for name, like in report["unused"]]
        if unused:
            warnings.warn(f"nothing reads {', '.join(unused)} of the data", stacklevel=2)
        for idle in report["idle"]:
            warnings.warn(idle, stacklevel=2)
        raised = report["raised"]
        if raised is not None:
            # What was reached can still be used: `except KeyboardInterrupt as stop: stop.fit`.
            raised.fit = fitted
            raise raised
        if not fitted.converged and callback is None:
            warnings.warn(f"the climb has not converged: {fitted.outcome}", stacklevel=2)
        return fitted


    def check(
        self, data: Any, *, collapse: Iterable[str] = (), explicit: Iterable[str] = ()
    ) -> dict[str, Any]:
        """What of the model can be collapsed with these data; fits nothing.

        Parameters
        ----------
        data : mapping or DataFrame
            As in `fit`.
        collapse, explicit : iterable of str
            As in `fit`.

        Returns
        -------
        dict
            'collapsed' and 'explicit': arrays, what is joint in brackets. 'enumerated': arrays of labels
            for each state of which `fit` fits the model, unless told otherwise. 'meetings': pairs that
            cannot both be collapsed, and where they meet, as ``model:line:column``.
            'alternatives': what might be collapsed instead. 'observed', 'summed' and 'predicted': arrays
            that have data, arrays that are summed out and drawn afterwards, arrays that no datum
            depends on, and how many numbers of each.

        Raises
        ------
        ModelError, SettingError
            As `fit` does.

        Examples
        --------
        >>> import pycollapsar
        >>> model = pycollapsar.Model("model { y ~ dnorm(mu, tau) mu ~ dnorm(0, 1) tau ~ dgamma(1, 1) }")
        >>> check = model.check({"y": 1.5})
        >>> len(check["collapsed"]), len(check["explicit"]), check["observed"]
        (1, 1, {'y': 1})
        """
        found = self._model.check(_arrays(data), list(collapse), list(explicit))
        return {**found, **{name: dict(found[name]) for name in ("observed", "summed", "predicted")}}


class Fit:
    """What a model says after a fit.

    Attributes
    ----------
    bound : float
        The lower bound on the log evidence, in nats.
    bounds : ndarray
        Where each climb ended, those that were abandoned early included.
    spread : dict
        How many 'starts' there were, how many were 'abandoned' early, the 'highest', 'median' and 'lowest' bound of the
        others, and how many of those ended 'within_a_nat' of the highest.
    converged : bool
    outcome : str
        Why the climb ended.
    iterations, passes : int
        Steps, and passes over the data.
    seconds : float
    collapsed, explicit : list of str
        What was integrated out, and what was not; what is joint is in brackets.
    """

    def __init__(
        self, model: Model, fit: BugsFit, report: dict[str, Any], asked: tuple[Any, ...]
    ) -> None:
        self.model = model
        self._report, self._asked = report, asked
        self._fit = fit
        self._trace = trace(report["steps"])
        self.bound: float = report["bound"]
        self.spread: dict[str, Any] = report["spread"]
        bounds = report["bounds"]
        self.bounds = np.array([-np.inf if bound is None else bound for bound in bounds])
        self.converged: bool = report["converged"]
        self.outcome: str = report["outcome"]
        self.iterations: int = report["iterations"]
        self.passes: int = report["passes"]
        self.seconds: float = report["seconds"]
        self.collapsed: list[str]
        self.explicit: list[str]
        self.collapsed, self.explicit = fit.classes()

    def __repr__(self) -> str:
        return (
            f"<pycollapsar.Fit: bound {self.bound:.3f}, {self.outcome},"
            f" {self.iterations} iterations; collapsed: {', '.join(self.collapsed) or 'nothing'}>"
        )

    def _repr_svg_(self) -> str:
        """The graph with what is collapsed."""
        return self._fit.svg()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The picture of `plot`, for notebooks; the graph where they show no Vega-Lite."""
        graph = {"image/svg+xml": self._repr_svg_()}
        return {**self.plot()._repr_mimebundle_(), **graph, "text/plain": repr(self)}

    def plot(
        self, names: str | Iterable[str] | None = None, kind: str = "forest", n: int = 1000
    ) -> Plot:
        """A picture of the posterior, which notebooks show.

        Parameters
        ----------
        names : str or iterable of str, optional
            As in `summary`; for densities the first number of them is drawn.
        kind : {'forest', 'density'}, default='forest'
            Means with intervals of 95%, one number below the other; or the density of one number's draws, those
            of each chain apart.
        n : int, default=1000
            Draws for a density.

        Returns
        -------
        Plot
            A Vega-Lite specification, with `to_altair` and `save`.
        """
        if kind == "forest":
            return plot_of(self._fit.forest(_listed(names)))
        if kind != "density":
            expected = "'forest' or 'density'"
            raise SettingError(f"kind is {kind!r}, expected {expected}", "kind", kind, expected)
        each = max(4, -(-int(n) // self._chains))
        columns, table = self._fit.draws(_listed(names), each, 0)
        if not columns:
            raise SettingError("names is empty, expected a number", "names", "", "a number")
        chains = np.asarray(table)[:, 0].reshape(-1, each)
        return plot_of(density_picture(columns[0][0], chains.tolist()))

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception has no place in a file.
        report = {**self._report, "raised": None}
        return _again, (self.model.text, self._asked, report, self._fit.messages())

    @property
    def unknowns(self) -> list[str]:
        """Arrays that are not data, in the order of the model."""
        return self._fit.unknowns()

    def summary(self, names: str | Iterable[str] | None = None) -> Any:
        """Mean, standard deviation and quantiles of each number.

        Parameters
        ----------
        names : str or iterable of str, optional
            Arrays, or elements such as 'mu[2,1]', 'mu[1:3]' and 'mu[2,]'; all but labels, and but
            computed arrays of more than 100 numbers, where None.

        Returns
        -------
        DataFrame, or a dict of columns where pandas is not installed
            Of exact draws also Monte Carlo standard errors of mean and deviation, effective sample sizes and
            R-hat; NaN where all draws are the same.
        """
        elements, table = self._fit.rows(_listed(names))
        rows = [name for name, *_ in elements]
        columns = dict(zip(_COLUMNS, np.transpose(table)))
        try:
            import pandas
        except ImportError:
            return {"name": np.array(rows), **columns}
        return pandas.DataFrame(columns, index=pandas.Index(rows, name="name"))

    @property
    def posterior(self) -> Any:
        """`summary` of all that it shows by itself."""
        return self.summary()

    def mean(self, name: str) -> Any:
        """The posterior mean of an array, in the array's shape."""
        return self._array(name, 0)

    def sd(self, name: str) -> Any:
        """The posterior standard deviation of an array, in the array's shape."""
        return self._array(name, 1)

    def _array(self, name: str, column: int) -> Any:
        rows, table = self._fit.rows([name])
        (array,) = _shaped(rows, np.asarray(table)[:, column]).values()
        return array

    def draws(
        self, n: int = 1000, names: str | Iterable[str] | None = None, seed: int = 0
    ) -> dict[str, Any]:
        """Draws of the posterior that the fit's results are of.

        Parameters
        ----------
        n : int, default=1000
            How many; of exact chains one after the other, as many of each.
        names : str or iterable of str, optional
            As in `summary`.
        seed : int, default=0

        Returns
        -------
        dict of ndarray
            For each array one of shape ``(n, *shape)``; what is data in it is NaN.
        """
        if n < 0:
            raise SettingError(f"n is {n}, expected 0 or more", "n", str(n), "0 or more")
        each = -(-int(n) // self._chains)
        columns, table = self._fit.draws(_listed(names), each, int(seed))
        return _shaped(columns, np.asarray(table)[: int(n)])

    @property
    def _chains(self) -> int:
        options = self._asked[1]
        return int(options["chains"]) if options["posterior"] == "exact" else 1

    @property
    def states(self) -> dict[str, Any] | None:
        """The states of labels that were enumerated: a fit for each, combined by their bounds.

        Returns
        -------
        dict or None
            ``labels`` are their names; ``states`` has a dictionary for each joint state with the ``values`` of the
            labels, the ``bound`` of its fit and its ``probability``. None where no label was enumerated.
        """
        return self._fit.enumerated()

    @property
    def verdict(self) -> dict[str, Any]:
        """How far the results may be trusted.

        Returns
        -------
        dict
            ``posterior`` is which they are of; ``verdict`` one of 'trust', 'trust-means' (but not
            deviations) and 'doubt'; the others are signs: the fraction of information that is missing, the
            factor by which uncertain precisions widen normal variables, Pareto k-hat of the weights of draws
            and whether these could be believed, how far weighted draws or a short chain put a mean from the
            fit's, how many starts agree, R-hat and the smallest effective sample size of chains.
        """
        kind, verdict, signs = self._fit.verdict(self.converged)
        return {"posterior": kind, "verdict": verdict, **signs}

    @property
    def log_evidence(self) -> tuple[float, float] | None:
        """An estimate of ln p(data) from draws, and its standard error; None where there is none to believe.

        The bound is below it. Orders of states that leave the posterior as it is are counted; their number is
        ``fit.verdict["orders"]``.
        """
        _, _, signs = self._fit.verdict(self.converged)
        found = signs["ln_evidence"]
        return None if found is None else (float(found[0]), float(found[1]))

    @property
    def trace(self) -> Any:
        """Every step of the best climb: a DataFrame, or a dict where pandas is not installed."""
        try:
            import pandas
        except ImportError:
            return self._trace
        return pandas.DataFrame(self._trace)

    def to_arviz(self, n: int = 1000, names: str | Iterable[str] | None = None) -> Any:
        """Draws as ArviZ has them, in one chain or, where they are exact, in as many as there are.

        Parameters
        ----------
        n : int, default=1000
            Draws of each chain.
        names : str or iterable of str, optional
            As in `summary`.
        """
        import arviz

        count = self._chains
        draws = self.draws(n * count, names)
        chains = {name: values.reshape(count, n, *values.shape[1:]) for name, values in draws.items()}
        # Before version 1 groups were arguments.
        if int(arviz.__version__.split(".")[0]) < 1:
            return arviz.from_dict(posterior=chains)
        return arviz.from_dict({"posterior": chains})


_COLUMNS = (
    *("mean", "sd", "q2.5", "median", "q97.5"),
    *("mcse_mean", "mcse_sd", "ess_bulk", "ess_tail", "r_hat"),
)


def _again(text: str, asked: tuple[Any, ...], report: dict[str, Any], messages: Any) -> Fit:
    """A fit that was pickled: a climb that begins at its end and takes no step."""
    given, options, how = asked
    model = Model(text)
    there = {**options, "messages": messages}
    still = {"max_iter": 0, "restarts": 1, "checkpoint": None, "resume": None}
    fit, _ = model._model.fit(given, [], there, {**how, **still}, None)
    return Fit(model, fit, report, asked)


def _listed(names: str | Iterable[str] | None) -> list[str] | None:
    if names is None:
        return None
    return [names] if isinstance(names, str) else list(names)


def _shaped(elements: list[tuple[str, str, list[int]]], values: Any) -> dict[str, Any]:
    """The last axis of `values`, which holds these elements, as arrays by name."""
    places: dict[str, list[tuple[tuple[int, ...], int]]] = {}
    for column, (_, array, numbers) in enumerate(elements):
        place = tuple(number - 1 for number in numbers)
        places.setdefault(array, []).append((place, column))
    values, out = np.asarray(values), {}
    for array, found in places.items():
        indices = np.array([place for place, _ in found], dtype=int).reshape(len(found), -1)
        shape = tuple(indices.max(axis=0) + 1) if indices.size else ()
        whole = np.full(values.shape[:-1] + shape, np.nan)
        whole[(..., *indices.T)] = values[..., [column for _, column in found]].reshape(
            values.shape[:-1] + (() if not shape else (len(found),))
        )
        out[array] = whole
    return out


def _arrays(data: Any) -> list[tuple[str, Any]]:
    """Data as the extension takes them: float64 in C order, or the parts of a CSR matrix."""
    if data is None:
        return []
    if isinstance(data, Mapping):
        items = list(data.items())
    elif hasattr(data, "columns"):
        items = [(name, data[name]) for name in data.columns]
        if "N" not in data.columns:
            items.append(("N", len(data)))
    else:
        raise TypeError(f"data is a {type(data).__name__}, expected a mapping or a DataFrame")
    return [(str(name), _array_of(str(name), value)) for name, value in items]


def _initial(inits: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None) -> list[list[Any]]:
    """Initial values of each start."""
    several = [] if inits is None else [inits] if isinstance(inits, Mapping) else list(inits)
    out = []
    for values in several:
        if not isinstance(values, Mapping):
            raise TypeError(f"inits has a {type(values).__name__}, expected mappings")
        # What generators of other programs are called is text.
        numbers = {name: 0.0 if str(name).startswith(".RNG.") else values[name] for name in values}
        out.append(_arrays(numbers))
    return out


def _array_of(name: str, value: Any) -> Any:
    if hasattr(value, "tocsr"):
        csr = value.tocsr()
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        return (
            csr.shape,
            np.ascontiguousarray(csr.indptr, dtype=np.int64),
            np.ascontiguousarray(csr.indices, dtype=np.uint32),
            np.ascontiguousarray(csr.data, dtype=np.float64),
        )
    try:
        if hasattr(value, "to_numpy"):
            value = value.to_numpy()
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            # Objects may hold None or a masked NA for what is missing.
            array = np.array([np.nan if x is None else x for x in array.ravel()], dtype=float)
            array = array.reshape(np.shape(value))
        if isinstance(value, np.ma.MaskedArray):
            array = np.ma.filled(value.astype(float), np.nan)
        # ascontiguousarray would make a vector of a number.
        return np.require(array, dtype=np.float64, requirements="C")
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name}: {error}, expected numbers", name, str(error), "numbers"
        ) from error
