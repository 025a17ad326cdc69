"""`reversi status --watch` stays while a run trains and ends with it."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from scripts import cli
from scripts.commands import status as status_module
from scripts.run.status import RunStatus, read_status
from tests.scripts.run.written_runs import held, made, write


def test_a_run_is_shown_until_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, looks = made(tmp_path / "night"), list[str]()
    write(folder, [{"step": 1, "elapsed_s": 5.0, "run/games": 7, "run/elapsed_s": 5.0}])

    def look(path: Path) -> RunStatus:
        seen = read_status(path)
        looks.append(seen.state)
        if len(looks) == 2:
            driver.close()  # which holds the run's lock
        return seen

    monkeypatch.setattr(status_module, "read_status", look)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with ExitStack() as driver:
        driver.enter_context(held(folder))
        assert cli.main(["status", str(folder), "--watch"]) == 0
    assert looks == ["training", "training", "died"]
    assert "run night: died" in capsys.readouterr().out


def test_watching_is_for_people_and_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["status", str(made(tmp_path / "night")), "--watch", "--json"]) == 2
    assert "expected --watch with a run of this machine" in capsys.readouterr().err


def test_codes_in_the_name_of_a_folder_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = made(tmp_path / "night\x1b[2J")
    assert cli.main(["status", str(folder)]) == 0
    assert cli.main(["report", str(folder), "-o", str(tmp_path / "a\x1b[2J.html")]) == 0
    said = capsys.readouterr().out
    assert said.count("\\x1b[2J") >= 3
    assert "\x1b" not in said
