"""Names of files and folders as people type them."""

from __future__ import annotations

from pathlib import Path


def user_path(text: str) -> Path:
    """The path that `text` names, `~` and `~name` being folders of users.

    Raises ValueError that names it when there is no such user, or when no file can be called that.
    """
    if "\0" in text:
        raise ValueError(f"{text!r}: a path holds no null character")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise ValueError(f"{text}: {error}") from None
