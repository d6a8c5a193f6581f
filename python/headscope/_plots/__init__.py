"""Plots of results. Every function draws on the given axes, or on new ones, and returns them."""

from .attention import attention_map, detectors
from .comparison import compared_decay, distance_matrix
from .organization import axis_affinity, decay, embedding, organization_tree, organized_map, paraproduct_errors
from .patching import cut_effects
from .pruning import damage_curves, head_ranking
from .relation import affinity_matrix, relation_tree, wiring
from .role_pairs import informativeness
from .trees import tree

__all__ = [
    "affinity_matrix", "attention_map", "axis_affinity", "compared_decay", "cut_effects", "damage_curves", "decay",
    "detectors", "distance_matrix", "embedding", "head_ranking", "informativeness", "organization_tree",
    "organized_map", "paraproduct_errors", "relation_tree", "tree", "wiring",
]
