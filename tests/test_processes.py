"""Only tests in `runs/` and `faults/` start processes; `conftest.py` refuses it to all others but one."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest


def test_a_test_of_this_folder_starts_no_process() -> None:
    with pytest.raises(pytest.fail.Exception, match="belongs in tests/runs"):
        subprocess.run([sys.executable, "--version"], check=True)
    with pytest.raises(pytest.fail.Exception, match="belongs in tests/runs"):
        multiprocessing.get_context("spawn").Process(target=print).start()


def test_one_test_runs_a_real_ray() -> None:
    marked = [path for path in Path(__file__).parent.rglob("*.py") if "\n@pytest.mark.ray" in path.read_text("utf-8")]
    assert [path.name for path in marked] == ["test_train.py"]
