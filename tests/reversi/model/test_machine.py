"""What the machine is asked, on machines that it is not."""

from __future__ import annotations

import pytest

from reversi.model import machine


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("processor : 0\nflags : fpu sse2 avx2 avx512f\n", False),
        ("processor : 0\nflags : fpu avx512f avx512_bf16 amx_tile\nflags : fpu\n", True),
        ("processor : 0\nFeatures : fp asimd bf16 i8mm\n", True),
        ("processor : 0\n", False),
        (None, False),
    ],
)
def test_bf16_is_read_from_the_cpus_flags(description, expected, tmp_path, monkeypatch):
    if description is not None:
        (tmp_path / "cpuinfo").write_text(description)
    monkeypatch.setattr(machine, "CPU_DESCRIPTION", tmp_path / "cpuinfo")
    machine.cpu.cache_clear()
    try:
        assert machine.cpu_has_bf16() is expected
    finally:
        machine.cpu.cache_clear()


def test_the_first_processor_is_described(tmp_path, monkeypatch):
    (tmp_path / "cpuinfo").write_text("processor : 0\nmodel name : One\nflags : a b\n\nmodel name : Two\nflags : c\n")
    monkeypatch.setattr(machine, "CPU_DESCRIPTION", tmp_path / "cpuinfo")
    machine.cpu.cache_clear()
    try:
        assert machine.cpu() == ("One", {"a", "b"})
    finally:
        machine.cpu.cache_clear()


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_a_hidden_gpu_is_none(hidden, monkeypatch):
    monkeypatch.setattr(machine.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert machine.has_nvidia_gpu()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert not machine.has_nvidia_gpu()


def test_packages_are_found_without_importing_them():
    assert machine.installed("numpy")
    assert not machine.installed("a_package_that_nobody_wrote")
