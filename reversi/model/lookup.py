"""Models by name: `gated`, `latest`, `shipped`, a version, or a folder; and the registry in which they are looked up.

One rule everywhere: what is named is taken; else the newest run with a promoted model; else the model that comes with
the package.  A line of the log says which it is.
"""

from __future__ import annotations

import functools
import logging
from pathlib import Path

from reversi.errors import NoGatedModelError
from reversi.games.rules import Game, game_named
from reversi.model.choice import TEXT_BYTES, Choice, at_path, checked, is_name
from reversi.model.folder import Folder
from reversi.model.info import ModelInfo
from reversi.model.registry import Registry
from reversi.model.weights import Weights
from reversi.runs import RUNS, newer_run, runs_with_registry

SHIPPED = Path(__file__).parent / "shipped"
"""The models that come with the package: one folder a game, named like the game, as `reversi pull` makes it."""

SHIPPED_GAME = "reversi8"
"""The game of `shipped` where nothing says which."""

log = logging.getLogger(__name__)


def open_registry(url: str | Path | None, game: Game | None = None) -> Registry:
    """Return the registry at `url`; None is that of the newest run with a promoted model, of `game` if it is given,
    and without any that of the newest run that has one.  A line of the log says which it is."""
    if url is not None:
        return Registry(url)
    if (found := promoted_registry(None, game)) is not None:
        return found
    if not (runs := runs_with_registry()):
        raise NoGatedModelError(
            f"no run in {RUNS}/ has a registry; make one with `reversi train` or name one with --registry"
        )
    _say(f"models are those of {runs[0]}, none of which was promoted")
    return Registry(runs[0] / "registry")


def promoted_registry(url: str | Path | None, game: Game | None = None) -> Registry | None:
    """Return the registry whose champion is `gated`: that at `url`; for None that of the newest run with a promoted
    model, of `game` if it is given, or None if no run has one.  A line of the log says which it is."""
    if url is not None:
        return Registry(url)
    for run in runs_with_registry():
        registry = Registry(run / "registry")
        try:
            champion = registry.gated()
        except NoGatedModelError:
            continue
        if game is None or champion.game == game.name:
            newer = newer_run(run)
            none = f"; the newest run, {newer}, has no promoted model{f' of {game.name}' if game else ''}"
            _say(f"models are those of {run}, gated is version {champion.version}{none if newer else ''}")
            return registry
    return None


def choose(spec: str | int | Path, registry: str | Path | None = None, game: Game | str | None = None) -> Choice:
    """Return the model that `spec` names; `load_model` says how."""
    game = None if game is None else game_named(game)
    name = "" if isinstance(spec, Path) else str(spec)
    if name == "shipped":
        return _shipped(game)
    if name == "gated" and registry is None and promoted_registry(None, game) is None:
        return _shipped_by_rule(game)
    if is_name(name):
        models = open_registry(registry, game)
        return models.chosen(models.named(name))
    return at_path(spec if isinstance(spec, Path) else name)


def load_model(spec: str | int | Path, registry: str | Path | None = None, game: Game | str | None = None) -> Weights:
    """Return the weights specified by `spec`: `gated`, `latest`, `shipped`, a version number, or a model's folder.

    The folder, as created by `reversi pull` or in a registry, is a path or a URL, or it is the path of the file
    model.safetensors itself; a `Path` is never a version.

    registry  of `gated`, `latest` and versions.  None is the registry of the newest run with a promoted model, of
              `game` if it is given; if no run has one, `gated` is `shipped`.
    game      that the model is to play; of `shipped` without one, `SHIPPED_GAME`

    NoGatedModelError if there is no such model.
    """
    return choose(spec, registry, game).weights


def _shipped(game: Game | None) -> Choice:
    """Return the model of a game that comes with the package."""
    name = SHIPPED_GAME if game is None else game.name
    folder = Folder(str(SHIPPED))
    text = folder.read(f"{name}/model.json", TEXT_BYTES)
    if text is None:
        raise NoGatedModelError(f"no model of {name} is shipped with this program; train one with `reversi train`")
    return checked("shipped", folder, name, ModelInfo.from_json(text, folder.address(name)))


def _shipped_by_rule(game: Game | None) -> Choice:
    """Return the shipped model where no run has a promoted one."""
    missing = f"no run in {RUNS}/ has a promoted model{f' of {game.name}' if game else ''}"
    try:
        choice = _shipped(game)
    except NoGatedModelError as error:
        raise NoGatedModelError(f"{missing}, and {error}, or name a registry with --registry") from None
    name = choice.weights.game  # the same line, whether the board was known or follows from the model
    _say(f"gated is the shipped model of {name}, as no run in {RUNS}/ has promoted one")
    return choice


@functools.cache  # said once, however often a command asks for its models
def _say(which: str) -> None:
    log.warning("%s", which)
