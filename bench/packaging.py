"""The build backend named in pyproject.toml. It builds the package `secateur` from the checkout's modules.

    wheel      secateur/engine, secateur/eval, secateur/search and secateur/bench, with the prefix `secateur.` in module
               names; uci_main.py becomes secateur/__main__.py. Kernels that were compiled ahead of time for one
               platform are included: this machine's, or the one that the setting `target` names.
    editable   secateur.pth, which adds the checkout's package `secateur` (engine/checkout) to the import path
    sdist      unchanged copies of the checkout's files

Setuptools builds wheels in a temporary folder, and the sdist in a temporary copy of the sources.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from setuptools import build_meta
from setuptools.build_meta import prepare_metadata_for_build_editable, prepare_metadata_for_build_wheel
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info

from engine.checkout.secateur import MAIN, PACKAGE, ROOT, with_prefix
from engine.compiler.levels import HERE, TARGETS, Target

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

#: Modules that build the package but do not belong to it.
LEFT_OUT: Final = ("bench/packaging.py", "engine/checkout")

#: The least minor version of the GNU C library in a wheel's tag. Version 2.17 is that of manylinux2014.
OLDEST_GLIBC: Final = 17

_is_editable = False
#: The platform of the wheel that is being built.
_target = HERE


def kernels(target: Target) -> list[Path]:
    """Returns the paths of the checkout's kernel libraries for a platform, sorted."""
    names = {f"{level.name}{target.suffix}" for level in target.levels}
    return sorted(path for path in (ROOT / "engine" / "kernels").glob("*") if path.name in names)


def platform_tag(libraries: list[Path], target: Target) -> str:
    """Returns the platform tag of a wheel with these libraries. It names the GNU C library that they need, if any."""
    system = re.sub("[-.]", "_", sysconfig.get_platform())
    codes = [path.read_bytes() for path in libraries]
    used = [int(number) for code in codes for number in re.findall(rb"GLIBC_2\.(\d+)", code)]
    if target.system == "linux" and (used or not any(b"libc." in code for code in codes)):
        return f"manylinux_2_{max([OLDEST_GLIBC, *used])}_{target.machine}"
    return system if target == HERE else target.tag


class BuildModules(build_py):  # type: ignore[misc]  # setuptools may come without types
    """The build step that copies the modules into the package and rewrites their imports."""

    build_lib: str

    def finalize_options(self) -> None:
        """Makes the package's folder the target of the build."""
        super().finalize_options()
        self.build_lib = str(Path(self.build_lib, PACKAGE))

    def run(self) -> None:
        """Copies the modules and rewrites their imports; for an editable wheel, writes only secateur.pth."""
        target = Path(self.build_lib)
        if _is_editable:
            target.parent.mkdir(parents=True, exist_ok=True)
            # Python before 3.13 reads the file in the encoding of the locale.
            encoding = "utf-8" if sys.version_info >= (3, 13) else "locale"
            target.with_suffix(".pth").write_text(f"{ROOT / 'engine' / 'checkout'}\n", encoding=encoding)
            return
        super().run()
        for name in LEFT_OUT:
            path = target / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        (target / f"{MAIN}.py").rename(target / "__main__.py")
        for path in target.rglob("*.py"):
            path.write_bytes(with_prefix(path.read_bytes()))
        shutil.copy(target / "engine" / "client" / "__init__.py", target)
        (target / "py.typed").touch()
        folder = target / "engine" / "kernels"
        for library in kernels(_target):
            folder.mkdir(exist_ok=True)
            shutil.copy(library, folder)


class Metadata(egg_info):  # type: ignore[misc]  # as above
    """The metadata of the package, with `secateur` as the only top-level package."""

    def run(self) -> None:
        """Writes the metadata."""
        super().run()
        Path(self.egg_info, "top_level.txt").write_text(f"{PACKAGE}\n", encoding="utf-8")


#: The variable that names a file of settings for setuptools.
_CONFIG_VARIABLE: Final = "DIST_EXTRA_CONFIG"


@contextmanager
def _folder_of_its_own() -> Iterator[None]:
    """Makes setuptools work in a temporary folder, and tag a wheel according to its kernels, during a `with` block."""
    libraries = [] if _is_editable else kernels(_target)
    tag = f"[bdist_wheel]\nplat_name = {platform_tag(libraries, _target)}\n" if libraries else ""
    with TemporaryDirectory() as folder:
        file = Path(folder, "setup.cfg")
        file.write_text(f"[build]\nbuild_base = {folder}\n[egg_info]\negg_base = {folder}\n{tag}", encoding="utf-8")
        users = os.environ.get(_CONFIG_VARIABLE)
        os.environ[_CONFIG_VARIABLE] = str(file)
        try:
            yield
        finally:
            del os.environ[_CONFIG_VARIABLE]
            if users is not None:
                os.environ[_CONFIG_VARIABLE] = users


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """Builds a wheel in `wheel_directory`; returns the file name of the wheel."""
    global _target
    wanted = (config_settings or {}).get("target", HERE.name)
    _target = next(target for target in (*TARGETS, HERE) if target.name == wanted)
    with _folder_of_its_own():
        return str(build_meta.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """Builds a wheel that refers to the checkout; returns the file name of the wheel."""
    global _is_editable
    _is_editable = True
    return build_wheel(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """Writes an archive of the checkout's files to `sdist_directory`; returns the file name of the archive."""
    target = str(Path(sdist_directory).absolute())
    with TemporaryDirectory() as folder:
        for name in ("bench", "engine", "eval", "search"):
            shutil.copytree(ROOT / name, Path(folder, name), ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("LICENSE", "README.md", "pyproject.toml", "uci_main.py"):
            shutil.copy(ROOT / name, folder)
        with chdir(folder):
            return str(build_meta.build_sdist(target, config_settings))
