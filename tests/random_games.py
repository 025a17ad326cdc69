"""Records of random games for tests, written ply by ply through `Position`: slow and obvious."""

from __future__ import annotations

import numpy as np

from reversi.games.position import Position
from reversi.games.rules import GAMES
from reversi.record import OPENING, SEARCHED, UNSEARCHED, Records


def game_record(name: str, actions: list[int], rng: np.random.Generator, opening: int = 0) -> Records:
    """Return the record of one game; policies and values are random but sound, forced plies are UNSEARCHED."""
    game = GAMES[name]
    position = Position.start(name)
    policy = np.zeros((len(actions), game.actions), np.uint8)
    kind = np.full(len(actions), OPENING, np.uint8)
    for ply, action in enumerate(actions):
        legal = position.legal_actions()
        if ply >= opening:
            kind[ply] = SEARCHED if len(legal) > 1 else UNSEARCHED
        if kind[ply] == SEARCHED:
            policy[ply, legal] = rng.integers(0, 200, len(legal))
            policy[ply, action] = 255
        position = position.play(action)
    first_own, first_opp = (position.own, position.opp) if len(actions) % 2 == 0 else (position.opp, position.own)
    return Records(
        game=name,
        start_own=np.array([game.start_own], np.uint64),
        start_opp=np.array([game.start_opp], np.uint64),
        black_first=np.ones(1, np.uint8),
        plies=np.array([len(actions)], np.int32),
        actions=np.array(actions, np.uint8),
        policy=policy,
        value=np.where(kind == SEARCHED, rng.uniform(-1, 1, len(actions)), 0).astype(np.float16),
        ply_kind=kind,
        margin=np.array([position.black_margin], np.int8),
        final_own=np.array([first_own], np.uint64),
        final_opp=np.array([first_opp], np.uint64),
        version=rng.integers(0, 9, 1).astype(np.int32),
        seed=rng.integers(0, 1 << 63, 1).astype(np.uint64),
        exact_from=np.array([len(actions)], np.int32),
    )


def random_records(name: str, games: int, seed: int, opening: int = 0) -> Records:
    """Return `games` games of random plies; the first `opening` plies of each are OPENING."""
    rng = np.random.default_rng(seed)
    played = []
    for _ in range(games):
        position, actions = Position.start(name), list[int]()
        while not position.is_over:
            actions.append(int(rng.choice(position.legal_actions())))
            position = position.play(actions[-1])
        played.append(game_record(name, actions, rng, opening))
    return Records.concatenate(played)
