"""docs/notebook.ipynb runs from top to bottom, and shows what it then says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.figures.notebook import NOTEBOOK, executed


def notebook(*sources: str) -> str:
    cells = [{"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": []} for source in sources]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": ["1 / 0"]}, *cells]})


def outputs(*sources: str) -> list[list[dict[str, object]]]:
    return [cell["outputs"] for cell in json.loads(executed(notebook(*sources)))["cells"][1:]]


def test_the_notebook_is_current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If not, because a cell, the code or the shipped model is another: `python -m tests.figures.notebook`."""
    monkeypatch.chdir(tmp_path)  # a run of this checkout is no part of it
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert executed(text) == text
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 8
    assert all(cell["outputs"] for cell in cells)
    assert len({cell["id"] for cell in json.loads(text)["cells"]}) == len(json.loads(text)["cells"])


def test_a_cell_shows_what_it_prints_and_the_value_of_its_last_line() -> None:
    printed, nothing, value = outputs("a = 2\nprint(a)\nprint(a)", "a += 1", "print('x', end='')\na")
    assert printed == [{"name": "stdout", "output_type": "stream", "text": ["2\n", "2\n"]}]
    assert nothing == []
    assert value[0]["text"] == ["x"]
    assert (value[1]["data"], value[1]["execution_count"]) == ({"text/plain": ["3"]}, 3)


def test_a_picture_is_an_output_beside_the_text() -> None:
    ((output,),) = outputs("import reversi\nreversi.Position.start('reversi4')")
    assert set(output["data"]) == {"text/plain", "image/svg+xml"}  # type: ignore[call-overload]


def test_an_error_in_a_cell_is_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        executed(notebook("1", "1 / 0"))
