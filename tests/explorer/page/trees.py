"""Trees that the tests of the page enter, and the algorithms that search them."""

from __future__ import annotations

from search.theory.algorithms import ALGORITHMS
from search.theory.generate import uniform_tree
from search.theory.tree_text import write_list

SEVEN = "[A:[B:[5 6] C:[7 4]] D:[E:[3 2] 8]]"
THREES = "[[3 12 8] [2 4 6] [14 5 2]]"
UNIFORM = write_list(uniform_tree(3, 4, "random", 1))
#: With the same subtree several times, which a table knows again.
TWINS = "[[[1 5] [4 4]] [[1 5] [9 2]] [[3 7] [1 5]]]"

NUMBERS = [key for key, algorithm in ALGORITHMS.items() if not algorithm.in_lattice]
IN_LATTICES = [key for key, algorithm in ALGORITHMS.items() if algorithm.in_lattice]
