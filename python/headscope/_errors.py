"""What goes wrong, by kind. The text is the one the command line prints."""


class Error(Exception):
    """Any error that headscope raises on purpose."""


class ArgumentError(Error, ValueError):
    """Something was asked for that makes no sense."""


class FileError(Error, OSError):
    """The system could not open, read or write a file."""


class FormatError(Error, ValueError):
    """A file is malformed."""


class UnsupportedError(Error, ValueError):
    """A file is well formed but holds something headscope does not handle."""


class NumericError(Error, RuntimeError):
    """NaN or infinity in the input, or no convergence where it matters."""


class BackendError(Error, RuntimeError):
    """A device or another process failed."""


class ResourceError(Error, MemoryError):
    """Out of the memory budget or of disk space."""
