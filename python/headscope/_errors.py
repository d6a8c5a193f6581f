"""Errors by kind. The text is that of the command line, with parameters in place of flags."""


class Error(Exception):
    """Base class of all errors that headscope raises."""


class ArgumentError(Error, ValueError):
    """An argument is invalid."""


class FileError(Error, OSError):
    """The system could not open, read or write a file."""


class FormatError(Error, ValueError):
    """A file is malformed."""


class UnsupportedError(Error, ValueError):
    """A file is well-formed but contains something that headscope does not support."""


class NumericError(Error, RuntimeError):
    """NaN or infinity in the input, or no convergence where it matters."""


class BackendError(Error, RuntimeError):
    """A device or another process failed."""


class ResourceError(Error, MemoryError):
    """The memory budget or the disk space is exhausted."""


class ParameterError(ArgumentError, TypeError):
    """A parameter does not exist, is missing, or is given twice."""


class ColumnError(ArgumentError, KeyError):
    """A table has no column of this name."""

    __str__ = Exception.__str__  # a KeyError shows its message in quotation marks
