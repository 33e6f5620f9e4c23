"""The version of Secateur. This module imports nothing heavy, because the answer to `uci` needs the version."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PROJECT: Final = Path(__file__).resolve().parent.parent


def version() -> str:
    """Returns the version from `pyproject.toml`, or else from the installed package's metadata, or else "unknown"."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed_version

    project = _PROJECT / "pyproject.toml"
    if project.is_file():
        for line in project.read_text(encoding="utf-8").splitlines():
            if line.startswith("version = "):
                return line.split('"')[1]
    try:
        return installed_version("secateur")
    except PackageNotFoundError:
        return "unknown"


def full_name() -> str:
    """Returns the engine's name and version, such as `Secateur 1.0`."""
    return f"Secateur {version()}"


def address(name: str) -> str:
    """Returns the project's address `name`, such as "Source", from `pyproject.toml` or the metadata; "" if unknown."""
    from importlib.metadata import PackageNotFoundError, metadata

    project = _PROJECT / "pyproject.toml"
    if project.is_file():
        import tomllib

        urls = tomllib.loads(project.read_text(encoding="utf-8"))["project"].get("urls", {})
        return str(urls.get(name, ""))
    try:
        entries = metadata("secateur").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    return next((entry.partition(", ")[2] for entry in entries if entry.startswith(f"{name}, ")), "")
