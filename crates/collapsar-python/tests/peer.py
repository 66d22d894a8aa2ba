"""Runs scikit-learn's own test files on our estimators, adapted only in the import."""

from importlib.util import find_spec
from pathlib import Path

import pytest


def run_on_ours(module: str, namespace: dict, name: str, differs: dict[str, str]) -> None:
    """Puts the tests of scikit-learn's `module` into `namespace`, with our class `name`.

    Tests in `differs` must fail, for the reason given: one that begins to pass is to be taken off.
    """
    path = Path(find_spec(module).origin)
    source = path.read_text()
    theirs = [
        f"from sklearn.mixture import {name}",
        f"from sklearn.decomposition import {name}",
    ]
    ours = source
    for line in theirs:
        ours = ours.replace(f"{line}\n", f"from collapsar import {name}\n")
    assert ours != source, f"{path} does not import {name} as it did"
    exec(compile(ours, str(path), "exec"), namespace)
    for test, reason in differs.items():
        marked = pytest.mark.xfail(reason=reason, strict=True)(namespace[test])
        namespace[test] = marked
