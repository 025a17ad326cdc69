"""`reversi serve` while its registry gets another champion: who plays, and what the page says of it."""

from __future__ import annotations

import dataclasses
import json
import shutil
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reversi.model.champion import CHECK_S
from reversi.model.registry import Registry
from scripts.bench.setup import random_weights
from tests.runs.page.page import served, status
from tests.scripts.conftest import TINY

if TYPE_CHECKING:
    from playwright.sync_api import Page

WON = {"wins": 230, "draws": 10, "losses": 160, "opponent_version": 0}


def promote(folder: Path, version: int) -> None:
    """Publish a 6x6 model that becomes the champion."""
    registry = Registry(str(folder), create=True)
    registry.publish(dataclasses.replace(random_weights(TINY), version=version), "promoted", WON)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Return a registry whose champion is version 3."""
    promote(tmp_path / "models", 3)
    return tmp_path / "models"


@pytest.fixture
def address(models: Path) -> Iterator[str]:
    """Return the address of a server with the champion of `models`."""
    with served("--registry", models, "--simulations", 8) as url:
        yield url


def info_of(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url + "api/info", timeout=100) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def wait_for_model(url: str, version: int) -> dict[str, Any]:
    """Return what the server says once it plays with that version."""
    for _ in range(600):
        info = info_of(url)
        if info["name"] == f"model {version}":
            return info
        time.sleep(0.1)
    pytest.fail(f"still {info['name']}")


def opponent_shown(page: Page) -> str:
    return page.locator("#top-side .name").inner_text()


def test_a_game_in_progress_keeps_its_model_and_a_new_one_gets_the_new_champion(page: Page, models: Path) -> None:
    page.click("[data-square=c2]")
    page.locator("#moves li").nth(1).wait_for()
    status(page, "Your move")
    promote(models, 7)
    page.locator("#about", has_text="model 7").wait_for()
    says = "Model 7 is new. This game goes on against model 3, a new one begins against model 7."
    assert page.inner_text("#version") == says
    assert page.locator("#opponent option", has_text="Model 7, no search").count() == 1
    assert opponent_shown(page) == "Model 3, 8 simulations, exact endings"
    page.evaluate("document.querySelector('.square.legal.mine').click()")
    page.locator("#moves li").nth(3).wait_for()
    status(page, "Your move")
    assert opponent_shown(page).startswith("Model 3, ")
    page.reload()
    status(page, "Your move")
    assert opponent_shown(page).startswith("Model 3, ")
    assert page.inner_text("#version") == says
    page.click("text=New game")
    page.locator("#top-side .name", has_text="Model 7, 8 simulations").wait_for()
    assert page.inner_text("#version") == ""
    page.click("[data-square=c2]")
    page.locator("#moves li").nth(1).wait_for()
    status(page, "Your move")
    assert opponent_shown(page).startswith("Model 7, ")


def test_a_game_without_a_move_gets_the_new_champion_at_once(page: Page, models: Path) -> None:
    promote(models, 7)
    page.locator("#top-side .name", has_text="Model 7, 8 simulations").wait_for()
    assert page.inner_text("#version") == ""


def test_a_game_whose_model_is_not_served_any_more_goes_on_against_the_champion(page: Page, models: Path) -> None:
    page.click("[data-square=c2]")
    page.locator("#moves li").nth(1).wait_for()
    status(page, "Your move")
    page.evaluate("history.replaceState({ ...history.state, label: 'Model 1, 8 simulations', model: 1 }, '')")
    page.reload()
    status(page, "Your move")
    assert opponent_shown(page) == "Model 1, 8 simulations"
    page.evaluate("document.querySelector('.square.legal.mine').click()")
    page.locator("#top-side .name", has_text="Model 3, 8 simulations").wait_for()
    assert page.inner_text("#version") == "Model 1 is not served any more: model 3 goes on with this game."


def test_a_version_that_was_named_never_changes(models: Path) -> None:
    with served("--registry", models, "--model", 3) as fixed, served("--registry", models) as follows:
        before = info_of(fixed)
        promote(models, 7)
        assert wait_for_model(follows, 7)["opponents"][-1]["model"] == 7
        assert info_of(fixed) == before


def test_a_corrupt_champion_is_not_served(models: Path, tmp_path: Path) -> None:
    shutil.copytree(models, tmp_path / "copy")
    promote(tmp_path / "copy", 5)
    file = tmp_path / "copy/models/000005/model.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    said = r"model 3 stays in use, no newer one can be: .*/model\.safetensors: expected SHA-256 .*; refused\n"
    with served("--registry", models, said=said) as url:
        shutil.copytree(tmp_path / "copy", models, dirs_exist_ok=True)
        time.sleep(CHECK_S + 2)
        assert info_of(url)["name"] == "model 3"
        promote(models, 7)
        wait_for_model(url, 7)
