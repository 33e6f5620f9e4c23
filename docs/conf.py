"""Sphinx reads this; `make docs` builds the pages of this folder, and any warning fails the build."""

from __future__ import annotations

import tomllib
from pathlib import Path

_PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "Secateur"
author = "the Secateur authors"
release = _PROJECT["version"]
html_title = f"Secateur {release}"

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
# Headings up to this level are targets of links, with the anchors that Git hosts give them.
myst_heading_anchors = 4

html_theme = "furo"
html_copy_source = False
