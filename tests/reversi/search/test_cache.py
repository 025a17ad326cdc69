"""The cache returns exactly what was stored, forgets the oldest of a full set, and everything at a new generation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from reversi.games.rules import game_named
from reversi.games.symmetry import SYMMETRIES, action_table, canonical, transform_mask
from reversi.search.cache import MISSING, WAYS, Cache, find, forget_all, make_cache, store
from tests.reversi.search.stubs import random_positions

GAME = game_named("reversi6")


def canonical_positions(count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    own, opp = random_positions(GAME, 4 * count, 1)
    images = {canonical(GAME.id, mover, other)[:2] for mover, other in zip(own, opp, strict=True)}
    chosen = np.array(sorted(images)[:count], np.uint64)
    assert len(chosen) == count
    return chosen[:, 0].copy(), chosen[:, 1].copy()


def answers(count: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, GAME.actions)).astype(np.float32), rng.normal(size=count).astype(np.float32)


def places(cache: Cache, own: NDArray[np.uint64], opp: NDArray[np.uint64]) -> tuple[NDArray[np.int64], ...]:
    """Sets and ways of the positions."""
    return tuple(np.array([find(cache, mover, other) for mover, other in zip(own, opp, strict=True)]).T)


def missing(cache: Cache, own: NDArray[np.uint64], opp: NDArray[np.uint64]) -> NDArray[np.bool_]:
    return places(cache, own, opp)[1] == MISSING


def test_what_is_stored_is_found_bit_for_bit_and_nothing_else() -> None:
    cache, (own, opp), (logits, value) = make_cache(GAME, 4096), canonical_positions(200), answers(100)
    store(cache, own[:100], opp[:100], logits, value)
    assert missing(cache, own, opp).tolist() == [False] * 100 + [True] * 100
    found = places(cache, own[:100], opp[:100])
    assert np.array_equal(cache.logits[found], logits)
    assert np.array_equal(cache.entries["value"][found], value)
    assert missing(cache, opp[:100], own[:100]).all(), "own and opponent's discs are not the same"


def test_a_new_answer_replaces_the_old_one() -> None:
    cache, (own, opp) = make_cache(GAME, 4096), canonical_positions(50)
    store(cache, own, opp, *answers(50, 0))
    store(cache, own, opp, *answers(50, 1))
    assert np.array_equal(cache.entries["value"][places(cache, own, opp)], answers(50, 1)[1])


def test_a_full_set_forgets_what_was_stored_first() -> None:
    cache, (own, opp), (logits, value) = make_cache(GAME, WAYS), canonical_positions(WAYS + 2), answers(WAYS + 2)
    assert len(cache.entries) == 1
    store(cache, own, opp, logits, value)
    assert missing(cache, own, opp).tolist() == [True] * 2 + [False] * WAYS


def test_new_weights_find_nothing_of_the_old_ones() -> None:
    cache, (own, opp) = make_cache(GAME, 4096), canonical_positions(100)
    store(cache, own, opp, *answers(100))
    forget_all(cache)
    assert missing(cache, own, opp).all()
    store(cache, own[:10], opp[:10], *answers(10, 2))
    assert (missing(cache, own, opp) == (np.arange(100) >= 10)).all()


def test_the_empty_board_is_not_in_an_empty_cache() -> None:
    tictactoe = game_named("tictactoe")
    assert find(make_cache(tictactoe, 64), np.uint64(0), np.uint64(0))[1] == MISSING


@pytest.mark.parametrize(("positions", "sets"), [(0, 0), (3, 0), (4, 1), (7, 1), (8, 2), (1000, 128), (1024, 256)])
def test_memory_is_bounded_by_the_positions_asked_for(positions: int, sets: int) -> None:
    assert len(make_cache(GAME, positions).entries) == sets


def test_all_images_of_a_position_share_an_entry_and_its_logits_turn_back() -> None:
    own, opp = random_positions(GAME, 1, 3, plies=9)
    table = action_table(GAME)
    for s in range(SYMMETRIES):
        image = [transform_mask(GAME.id, mask[0], s) for mask in (own, opp)]
        key_own, key_opp, turn = canonical(GAME.id, np.uint64(image[0]), np.uint64(image[1]))
        assert (key_own, key_opp) == canonical(GAME.id, own[0], opp[0])[:2]
        # Action a of the image is action table[turn, a] of the key: so its square lies where the key has it.
        for action in range(GAME.squares):
            square = np.uint64(8 * (action // GAME.size) + action % GAME.size)
            turned = int(transform_mask(GAME.id, np.uint64(1) << square, turn)).bit_length() - 1
            assert table[turn, action] == turned // 8 * GAME.size + turned % 8
