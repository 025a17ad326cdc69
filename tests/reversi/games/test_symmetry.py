"""The laws of the eight symmetries."""

import numpy as np
import pytest

from reversi.games.rules import GAMES, action_of_square, legal_moves, outcome, play, square_of_action
from reversi.games.symmetry import SYMMETRIES, action_table, canonical, canonical_key, transform_mask, transform_masks
from tests.reversi.games import oracle
from tests.reversi.games.symmetries import INVERSE

ALL = pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)


@ALL
def test_mask_and_action_go_the_same_way(game):
    table = action_table(game)
    assert table.shape == (8, game.actions)
    assert table.dtype == np.int32
    for s in range(SYMMETRIES):
        for action in range(game.squares):
            image = transform_mask(game.id, np.uint64(1 << square_of_action(game.id, action)), s)
            assert image == 1 << square_of_action(game.id, table[s, action])
        assert table[s, game.pass_action] == game.pass_action


@ALL
def test_they_are_a_group_of_eight_different_permutations(game):
    rows = {tuple(row) for row in action_table(game).tolist()}
    assert len(rows) == SYMMETRIES
    assert {tuple(a[each] for each in b) for a in rows for b in rows} == rows


@ALL
def test_a_symmetry_and_its_inverse_give_the_mask_back(game):
    masks, _ = oracle.scattered(game, 64, seed=3)
    table = action_table(game)
    for s in range(SYMMETRIES):
        images = transform_masks(game.id, masks, s)
        assert not np.any(images & ~np.uint64(game.board_mask))
        assert np.array_equal(transform_masks(game.id, images, INVERSE[s]), masks)
        assert np.array_equal(table[INVERSE[s]][table[s]], np.arange(game.actions))


@ALL
def test_a_transformed_policy_is_indexed_by_the_inverse(game):
    policy, table = np.random.default_rng(0).random(game.actions), action_table(game)
    for s in range(SYMMETRIES):
        image = np.empty_like(policy)
        image[table[s]] = policy
        assert np.array_equal(image, policy[table[INVERSE[s]]])


@ALL
def test_the_rules_look_the_same_under_every_symmetry(game):
    table = action_table(game)
    for own, opp in zip(*oracle.scattered(game, 200, seed=5), strict=True):
        legal = int(legal_moves(game.id, own, opp))
        for s in range(1, SYMMETRIES):
            image = [np.uint64(transform_mask(game.id, mask, s)) for mask in (own, opp)]
            assert legal_moves(game.id, *image) == transform_mask(game.id, np.uint64(legal), s)
            assert outcome(game.id, *image) == outcome(game.id, own, opp)
            if legal:
                action = action_of_square(game.id, legal.bit_length() - 1)
                after = [transform_mask(game.id, np.uint64(mask), s) for mask in play(game.id, own, opp, action)]
                assert list(play(game.id, *image, table[s, action])) == after


@ALL
def test_canonical_is_the_same_for_all_eight_images_and_names_the_way_there(game):
    for own, opp in zip(*oracle.scattered(game, 50, seed=7), strict=True):
        images = [tuple(np.uint64(transform_mask(game.id, mask, s)) for mask in (own, opp)) for s in range(SYMMETRIES)]
        for image in images:
            best_own, best_opp, s = canonical(game.id, *image)
            assert (best_own, best_opp) == min(images)
            assert best_own == transform_mask(game.id, image[0], s)
            assert best_opp == transform_mask(game.id, image[1], s)
            assert canonical_key(game, *image) == tuple(map(int, min(images)))
