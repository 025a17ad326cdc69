"""The machine's means to run a network, detected without heavy imports."""

from __future__ import annotations

import functools
import os
import platform
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

CPU_DESCRIPTION = Path("/proc/cpuinfo")
BF16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16", "svebf16"}
"""Linux's names on x86 and Arm."""


def installed(package: str) -> bool:
    """Return whether `package` could be imported."""
    return find_spec(package) is not None


def has_nvidia_gpu() -> bool:
    """Return whether there is an NVIDIA driver and a GPU visible to this process; torch may still not find it.

    Ray hides GPUs from actors that requested none by an empty CUDA_VISIBLE_DEVICES.
    """
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0") in ("", "-1"):
        return False
    return any(Path("/dev").glob("nvidia[0-9]*")) or shutil.which("nvidia-smi") is not None


class Cpu(NamedTuple):
    """The machine's first processor."""

    name: str
    """Its model; the architecture where the model is unknown."""

    flags: frozenset[str]
    """Its features, as Linux names them; empty on other systems."""


@functools.cache
def cpu() -> Cpu:
    """Return the description of the processor."""
    try:
        lines = CPU_DESCRIPTION.read_text(encoding="utf-8").splitlines()
    except OSError:
        return Cpu(platform.machine(), frozenset())
    pairs = [line.partition(":") for line in lines]
    first = {key.strip(): value.strip() for key, _, value in reversed(pairs)}
    flags = first.get("flags", first.get("Features", ""))
    return Cpu(first.get("model name", platform.machine()), frozenset(flags.split()))


def cpu_has_bf16() -> bool:
    """Return whether the CPU multiplies bf16 in hardware; False if unknown, since float32 always works."""
    return not BF16_FLAGS.isdisjoint(cpu().flags)
