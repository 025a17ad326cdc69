"""`Columns`: a dataclass of arrays that declares each column once, as `own: Annotated[NDArray[np.uint64], "B"]`.

The annotation says dtype and axes, one letter each, the first for the rows.  What else needs to know them follows from
it: a check of arrays from elsewhere, memory for rows, and the form that kernels take.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from reversi.errors import CorruptFileError


class Column(NamedTuple):
    """The declaration of a column."""

    dtype: np.dtype[Any]
    axes: str
    """A letter for each axis; columns with the same first letter have equally many rows."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Base of the dataclasses; a field that is not `Annotated` is no column."""

    COLUMNS: ClassVar[dict[str, Column]]
    """The declarations by name."""

    Arrays: ClassVar[type[Any]]
    """The named tuple of `arrays`."""

    def __init_subclass__(cls) -> None:
        """Read the declarations from the annotations."""
        cls.COLUMNS = {
            name: Column(np.dtype(get_args(get_args(hint.__origin__)[1])[0]), hint.__metadata__[0])
            for name, hint in get_type_hints(cls, include_extras=True).items()
            if get_origin(hint) is Annotated
        }
        names = [f"{name}_bits" if column.dtype == np.float16 else name for name, column in cls.COLUMNS.items()]
        cls.Arrays = namedtuple("Arrays", names, module=cls.__module__)  # type: ignore[misc]
        cls.Arrays.__qualname__ = f"{cls.__qualname__}.Arrays"  # numba's cache finds the class by it

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name."""
        return {name: getattr(self, name) for name in self.COLUMNS}

    def arrays(self) -> Self:
        """Return the columns as a named tuple, which kernels take; the memory is shared.

        To a kernel it is as good as this class, whose name its annotations use.  numba has no half precision on CPUs:
        of a column x of float16 the tuple has the property x_bits instead.
        """
        arrays: Self = self.Arrays(*(getattr(self, name) for name in self.Arrays._fields))
        return arrays

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of all `parts`, at least one, in their order."""
        return replace(
            parts[0], **{name: np.concatenate([getattr(part, name) for part in parts]) for name in cls.COLUMNS}
        )

    @classmethod
    def expect(cls, arrays: Mapping[str, NDArray[Any]], lengths: Mapping[str, int], where: str) -> None:
        """Raise CorruptFileError unless `arrays` are the columns, each axis as long as `lengths` says."""
        if arrays.keys() != cls.COLUMNS.keys():
            raise CorruptFileError(f"{where}: expected the columns {sorted(cls.COLUMNS)}, got {sorted(arrays)}")
        for name, (dtype, axes) in cls.COLUMNS.items():
            array, shape = arrays[name], tuple(map(lengths.__getitem__, axes))
            if array.dtype != dtype or array.shape != shape:
                raise CorruptFileError(f"{where}: expected {name} as {dtype} {shape}, got {array.dtype} {array.shape}")
