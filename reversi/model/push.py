"""`push`: publish a run's model in another registry, with the card that a model hub shows; `pull` reads it from there.

    models/000012/model.safetensors, card.md, model.json   as in the run's registry
    learning.svg, README.md                                the champion's card, and the picture in it
    gated.json                                             the champion, written last

What a push that was cut short has written changes no champion, and the next one goes on from there.
"""

from __future__ import annotations

from pathlib import Path

from reversi.errors import UsageError
from reversi.model.card import card
from reversi.model.gated import withdrawal
from reversi.model.info import ModelInfo
from reversi.model.registry import Registry

README = "README.md"
"""The name by which hubs know a card."""


def push(source: Registry, info: ModelInfo, url: str, picture: Path | None = None) -> ModelInfo:
    """Publish a model of `source` in the registry at `url`, which is created; return its description there.

    The champion of `source` becomes the champion there, and the page of the place is its card; another version is only
    added.

    picture  of the run, as SVG, for that page

    UsageError for the registry of a run, and for a champion that was withdrawn there; RunError for a version that is
    taken there by another model.
    """
    target = Registry(url)
    if target.address == source.address or target.owner is not None:
        raise UsageError(f"expected a place that is no run's own registry, got {target.name!r}")
    champion = source.champion()
    is_champion = champion is not None and champion.version == info.version
    if is_champion:
        _check_order(source, target, info)
    choice = source.chosen(info)
    target = Registry(url, create=True)
    pushed = target.add_copy(choice)
    if is_champion:
        if picture is not None:
            target.write_page(picture.name, picture.read_bytes())
        page = card(pushed, picture=picture.name if picture else None, registry=target.name)
        target.write_page(README, page.encode())
        target.follow(pushed, source.rollbacks())
    return pushed


def _check_order(source: Registry, target: Registry, info: ModelInfo) -> None:
    """Raise UsageError where the champion may not replace the one in `target`."""
    there = target.champion()
    if there is None or there.version == info.version:
        return
    if (rollback := withdrawal(info.version, target.rollbacks())) is not None:
        raise UsageError(
            f"{target.name}: version {info.version} was withdrawn there ({rollback}); make it the champion there by "
            "reversi models --rollback"
        )
    if there.version > info.version and withdrawal(there.version, source.rollbacks()) is None:
        raise UsageError(
            f"{target.name}: expected a newer champion than version {there.version} there, got {info.version}; add it "
            "by --version, or push it to another place"
        )
