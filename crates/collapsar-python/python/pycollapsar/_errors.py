"""What can go wrong, as exceptions that carry their data."""

from __future__ import annotations


class CollapsarError(Exception):
    """Every failure of the library."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class DataError(CollapsarError, ValueError):
    """Data that cannot be used.

    Attributes
    ----------
    place : str
        Where: a row, a column, a name.
    found, expected : str
        What was found, and what would have been accepted.
    row, column : int or None
        Where, counted from 0, if it is a row, a column or a number of an array.
    """

    def __init__(
        self,
        message: str,
        place: str = "",
        found: str = "",
        expected: str = "",
        row: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message, place, found, expected, row, column)
        self.place, self.found, self.expected = place, found, expected
        self.row, self.column = row, column


class SettingError(CollapsarError, ValueError):
    """A setting that cannot be used.

    Attributes
    ----------
    name : str
        The setting.
    found, expected : str
        What was given, and what would have been accepted.
    """

    def __init__(self, message: str, name: str = "", found: str = "", expected: str = "") -> None:
        super().__init__(message, name, found, expected)
        self.name, self.found, self.expected = name, found, expected


class ModelError(CollapsarError, ValueError):
    """A complaint about a model's text, which points into it.

    Attributes
    ----------
    message : str
        What is wrong, in one sentence.
    line, column : int or None
        Where, counted from 1.
    rendered : str
        The complaint with the lines that it is about, underlined.
    help : str or None
        What would be accepted, or what to try.

    Examples
    --------
    >>> import pycollapsar
    >>> try:
    ...     pycollapsar.Model("model { x ~ dnorm(0, 1 }")
    ... except pycollapsar.ModelError as error:
    ...     print(error.line, error.column)
    1 24
    """

    def __init__(
        self,
        message: str,
        line: int | None = None,
        column: int | None = None,
        rendered: str = "",
        help: str | None = None,
    ) -> None:
        super().__init__(message, line, column, rendered, help)
        self.message, self.line, self.column = message, line, column
        self.rendered, self.help = rendered, help

    def __str__(self) -> str:
        return self.rendered or self.message
