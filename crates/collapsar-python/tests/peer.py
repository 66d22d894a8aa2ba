"""Runs scikit-learn's own test files on our estimators, adapted only in the import."""

from importlib.util import find_spec
from pathlib import Path


def run_on_ours(module: str, namespace: dict, name: str) -> None:
    """Puts the tests of scikit-learn's `module` into `namespace`, with our class `name`.

    Tests that a pattern of the namespace's DIFFERS fits must fail, for the reason given: one that
    begins to pass is to be taken off. Those of MAY_DIFFER may fail. See conftest.
    """
    path = Path(find_spec(module).origin)
    source = path.read_text()
    ours = source
    for package in ("mixture", "decomposition"):
        theirs = f"from sklearn.{package} import {name}\n"
        ours = ours.replace(theirs, f"from pycollapsar import {name}\n")
    assert ours != source, f"{path} does not import {name} as it did"
    exec(compile(ours, str(path), "exec"), namespace)
