"""What is installed: its names, its version, its licences, its types."""

from importlib import metadata

import pycollapsar


def test_names_and_version():
    about = metadata.metadata("pycollapsar")
    assert about["Name"] == "pycollapsar"
    assert about["Version"] == pycollapsar.__version__
    assert about["License-Expression"] == "MIT OR Apache-2.0"
    assert about["Requires-Python"] == ">=3.10"
    assert about["Author"] == "The Collapsar developers"


def test_files():
    files = metadata.files("pycollapsar")
    assert files is not None
    licences = {file.name for file in files if file.parent.name == "licenses"}
    assert licences == {"LICENSE-MIT", "LICENSE-APACHE"}
    assert "pycollapsar/py.typed" in {str(file) for file in files}
    library = [file for file in files if file.suffix in {".so", ".pyd"}]
    assert len(library) == 1
    # Without its tables for debuggers it has 10 MB, with them 70.
    assert library[0].locate().stat().st_size < 20e6
