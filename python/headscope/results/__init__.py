"""Results of the functions, one class per command."""

from .capture import Capture
from .comparison import Comparison
from .detection import Detection
from .invariance import Invariance
from .organization import Organization
from .patching import Patching
from .pruning import Pruning
from .relation import Relation

__all__ = [
    "Capture", "Comparison", "Detection", "Invariance", "Organization", "Patching", "Pruning", "Relation",
]
