"""What kernels are compiled from: their definitions and all that these use, followed through the files, as a hash.

The hash changes with every constant, tuple or function that can end up in machine code.  It does not change with a
docstring, a comment, the layout of a line, or code that no kernel uses, even in the same file.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

import llvmlite
import numba

PACKAGES = ("reversi", "actors", "learner", "evaluator")
"""The packages with kernels and the constants that are compiled into them."""

_COMPILERS = ("numba", "llvmlite", "reversi.kernels.kernel", "typing.NamedTuple")
"""A definition that names one of these is a kernel, or the layout of a kernel's arguments."""

_NO_NAME = ""
"""The name of what is done at the top of a module besides definitions: used where any name of the module is."""


class Sources:
    """The sources that kernels are compiled from, as they were when this was made."""

    def __init__(self, root: Path) -> None:
        """Read all sources under `root`."""
        paths = (path for package in PACKAGES for path in (root / package).rglob("*.py"))
        self._files = {_module(path, root): path for path in sorted(paths)}
        self._stamps = {name: _stamp(path) for name, path in self._files.items()}
        self._texts = {name: path.read_bytes() for name, path in self._files.items()}

    @cached_property
    def key(self) -> str:
        """A hash of all texts: where it is the same, so is `hash`, which takes twenty times as long."""
        return _hash(f"{name} {len(text)}\n".encode() + text for name, text in self._texts.items())

    @cached_property
    def hash(self) -> str:
        """A hash of all definitions that kernels are made of."""
        return _hash(line.encode() for line in sorted(_Definitions(self._texts).used))

    def unchanged(self) -> bool:
        """Return whether the files imported so far are those that were read."""
        return all(_stamp(self._files[name]) == self._stamps[name] for name in self._files.keys() & sys.modules.keys())


def _hash(lines: Iterable[bytes]) -> str:
    """Return a hash of lines, of the compiler, and of Python, which shapes both."""
    compiler = (sys.version, numba.__version__, llvmlite.__version__, str(numba.config.OPT), numba.config.BOUNDSCHECK)
    digest = hashlib.sha256(repr(compiler).encode())
    for line in lines:
        digest.update(line)
    return digest.hexdigest()[:16]


def _module(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return when a file was written and its bytes; None for no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


class _Definitions:
    """The definitions that kernels use: `used`, each as text behind the name of its module."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self.used: set[str] = set()
        self._texts = texts
        self._modules: dict[str, _Module] = {}
        self._names: set[tuple[str, str]] = set()
        self._pending: list[tuple[str, str]] = []
        for module, text in texts.items():
            if any(compiler.rpartition(".")[2].encode() in text for compiler in _COMPILERS):
                self._add(module, *self._module(module).kernels())
        while self._pending:
            self._follow(*self._pending.pop())

    def _module(self, name: str) -> _Module:
        if name not in self._modules:
            self._modules[name] = _Module(self._texts[name])
        return self._modules[name]

    def _add(self, module: str, *names: str) -> None:
        """Note names of a module that are used; once."""
        for name in names:
            if (module, name) not in self._names:
                self._names.add((module, name))
                self._pending.append((module, name))

    def _follow(self, module: str, name: str) -> None:
        """Add what a name means in a module; a local or builtin name means nothing there."""
        source = self._module(module)
        self._add(module, _NO_NAME)
        for target in source.imports.get(name, ()):
            self._import(module, name, target)
        for statement in source.definitions.get(name, ()):
            self.used.add(f"{module} {ast.dump(_bare(statement))}\n")
            for node in ast.walk(statement):
                if isinstance(node, ast.Name):
                    self._add(module, node.id)
                elif isinstance(node, ast.Import | ast.ImportFrom):
                    for inner, target in _imports(node):
                        self._import(module, inner, target)

    def _import(self, module: str, name: str, target: str) -> None:
        self.used.add(f"{module} {name} is {target}\n")
        parent, _, last = target.rpartition(".")
        if target in self._texts:  # a module: any of its names may be used
            self._add(target, *self._module(target).definitions, *self._module(target).imports)
        if parent in self._texts:
            self._add(parent, last)


class _Module:
    """The statements at the top of a module, by the names that they bind."""

    def __init__(self, text: bytes) -> None:
        self.definitions: dict[str, list[ast.stmt]] = {}
        self.imports: dict[str, list[str]] = {}
        for statement in ast.parse(text).body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                for name, target in _imports(statement):
                    self.imports.setdefault(name, []).append(target)
            elif not _is_text(statement):
                for name in _bound(statement):
                    self.definitions.setdefault(name, []).append(statement)

    def kernels(self) -> Iterator[str]:
        """Yield the names of the definitions that name a compiler."""
        compilers = {n for n, targets in self.imports.items() for t in targets if t.startswith(_COMPILERS)}
        for name, statements in self.definitions.items():
            nodes = (node for statement in statements for node in ast.walk(statement))
            if any(isinstance(node, ast.Name) and node.id in compilers for node in nodes):
                yield name


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield every name that an import binds, and what it then means."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, f"{node.module}.{alias.name}"
        else:
            yield alias.asname or alias.name.partition(".")[0], alias.name


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement defines; `_NO_NAME` if it does more than that, as a loop that fills a table."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        return
    stored = [node for node in ast.walk(statement) if isinstance(getattr(node, "ctx", None), ast.Store)]
    names = [node.id for node in stored if isinstance(node, ast.Name)]
    if isinstance(statement, ast.Assign | ast.AnnAssign) and len(names) == len(stored):
        yield from names
    else:
        yield _NO_NAME


def _bare(statement: ast.stmt) -> ast.stmt:
    """Return a statement after its docstrings, those of fields included, have been removed from it."""
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.body = [each for each in node.body if not _is_text(each)]
    return statement


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
