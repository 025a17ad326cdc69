"""Players: every kind chooses legally in any batch and plays as its name says; a wrong name is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from reversi.errors import IllegalMoveError, IncompatibleModelError, UsageError
from reversi.games.position import Position
from reversi.games.rules import GAMES, Game
from reversi.model.config import NetworkConfig, ResNetConfig, TableConfig
from reversi.model.evaluate import open_evaluator
from reversi.model.registry import Registry
from reversi.model.table import empty_table
from reversi.model.weights import Weights, array_shapes
from reversi.players import SIMULATIONS, GreedyPlayer, Player, SearchPlayer, batch_of, choose_move, make_player
from reversi.players.model import PATTERN_SEARCH, PATTERN_SECONDS
from reversi.players.spec import model_of_spec
from tests.configs import search_config
from tests.reversi.model.samples import PATTERNS, STACKS, weights

GAME = GAMES["reversi6"]
NETWORK = ResNetConfig(blocks=1, channels=4, policy_channels=2, value_channels=1, value_hidden=4)


def random_weights(version: int, game: Game = GAME, network: NetworkConfig = NETWORK) -> Weights:
    rng = np.random.default_rng(version)
    shapes = array_shapes(network, game.size)
    arrays = {name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    return Weights(game.name, network, version, arrays)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    registry = Registry(str(tmp_path_factory.mktemp("registry")), create=True)
    registry.publish(random_weights(0), "promoted", None)
    match = {"wins": 1, "draws": 0, "losses": 3, "opponent_version": 0}
    registry.publish(random_weights(3), "rejected", match)
    return registry


def positions(game: Game, games: int = 20, seed: int = 1) -> list[Position]:
    """Every unfinished position of random games, passes among them."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(games):
        position = Position(game, game.start_own, game.start_opp)
        while not position.is_over:
            found.append(position)
            position = position.play(int(rng.choice(position.legal_actions())))
    return found


def ask(player: Player, asked: list[Position]) -> list[int]:
    own, opp = (np.array([getattr(p, side) for p in asked], np.uint64) for side in ("own", "opp"))
    actions = player.choose(own, opp)
    assert actions.dtype == np.int32
    assert actions.shape == (len(asked),)
    return [int(action) for action in actions]


def make(spec: str, registry: Registry | None = None, seed: int = 1, game: Game = GAME, simulations: int = 8) -> Player:
    url = registry.url if registry else None
    return make_player(spec, game, registry=url, seed=seed, simulations=simulations)


PLAIN = ["random", "greedy", "flat-mc:10", "uct:20", "alphabeta:2"]


@pytest.mark.parametrize("spec", [*PLAIN, "policy:gated", "mcts:gated:4", "latest"])
def test_every_player_chooses_legally_in_batches_of_any_size(spec: str, registry: Registry) -> None:
    player, asked = make(spec, registry), positions(GAME)
    assert any(position.legal_moves() == ["pass"] for position in asked)
    for size in (0, 1, 7, len(asked)):
        for position, action in zip(asked[:size], ask(player, asked[:size]), strict=True):
            assert action in position.legal_actions()


@pytest.mark.parametrize("game", [GAMES["reversi4"], GAMES["reversi8"], GAMES["tictactoe"]], ids=lambda game: game.name)
@pytest.mark.parametrize("spec", PLAIN)
def test_the_players_without_a_model_play_every_game(spec: str, game: Game) -> None:
    asked = positions(game, games=4)
    actions = ask(make(spec, game=game), asked)
    assert all(action in position.legal_actions() for position, action in zip(asked, actions, strict=True))


@pytest.mark.parametrize("spec", PLAIN)
def test_the_seed_decides_the_luck(spec: str) -> None:
    asked = positions(GAME)
    one, again, other = (ask(make(spec, seed=seed), asked) for seed in (1, 1, 2))
    assert one == again
    assert one != other


@pytest.mark.parametrize("spec", ["uct:50", "alphabeta:3"])
def test_a_plain_search_ignores_its_batch_and_has_no_memory(spec: str) -> None:
    player, asked = make(spec), positions(GAME, games=3)
    together = ask(player, asked)
    assert together == ask(player, asked[::-1])[::-1]
    assert together == [action for position in asked for action in ask(player, [position])]
    assert together == ask(make_player(spec, GAME, seed=1, threads=3), asked)


def test_random_takes_every_legal_move_equally_often() -> None:
    start = Position.start("reversi6").play("c2")
    counts = np.bincount(ask(make("random"), [start] * 6000), minlength=GAME.actions)
    assert counts.sum() == counts[start.legal_actions()].sum() == 6000
    assert np.abs(counts[start.legal_actions()] - 2000).max() < 4.5 * np.sqrt(6000 * 2 / 9)


def test_greedy_takes_most_discs_and_draws_among_equals() -> None:
    asked = positions(GAME)
    for position, action in zip(asked, ask(GreedyPlayer(GAME, np.random.default_rng(1)), asked), strict=True):
        discs = {a: position.play(a).opp.bit_count() for a in position.legal_actions()}
        assert discs[action] == max(discs.values())
    first_moves = ask(make("greedy"), [Position.start("reversi6")] * 200)
    assert set(first_moves) == set(Position.start("reversi6").legal_actions())


def test_flat_monte_carlo_takes_the_win_in_one() -> None:
    winning = Position.parse("XX-OO---- X")
    assert ask(make("flat-mc:60", game=GAMES["tictactoe"]), [winning] * 20) == [2] * 20


def test_flat_monte_carlo_with_fewer_playouts_than_moves_still_plays_all_of_them() -> None:
    start = Position.start("reversi6")
    assert set(ask(make("flat-mc:1"), [start] * 200)) == set(start.legal_actions())


def test_a_name_says_the_version_and_the_usual_number_where_none_is_given(registry: Registry) -> None:
    assert make("flat-mc").name == "flat-mc:150"
    assert make("mcts:gated", registry, simulations=5).name == "mcts:0:5"
    assert make("gated", registry, simulations=0).name == "policy:0"
    assert make("latest", registry, simulations=2).name == "mcts:3:2"
    assert make_player("3", GAME, registry=registry.url, seed=1).name == f"mcts:3:{SIMULATIONS}"
    assert make("mcts:3", registry, simulations=7).name == "mcts:3:7"
    assert make("mcts:3:6", registry).name == "mcts:3:6"
    assert make("mcts:3:6,margin=0.25,solve=7", registry).name == "mcts:3:6,margin=0.25,solve=7"
    for spec in ("random", "greedy", "flat-mc:20", "uct:20", "alphabeta:3", "policy:3", "mcts:3:9"):
        assert make(spec, registry).name == spec


def test_a_search_of_patterns_has_a_depth_or_a_time(tmp_path: Path) -> None:
    """A path may hold colons: the depth, the simulations and the time are read from the right."""
    folder, asked = tmp_path / "file:x:3" / "model", positions(GAME, games=2)
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(weights(GAME, config=PATTERNS).to_bytes())
    for kind, effort in (("alphabeta", "4"), ("alphabeta", "0.02s"), ("alphabeta", ".02s"), ("mcts", "0.02s")):
        player = make(f"{kind}:{folder}:{effort}")
        assert player.name == f"{kind}:{folder}:{effort}"
        assert model_of_spec(player.name) == str(folder)
        actions = ask(player, asked)
        assert all(action in position.legal_actions() for position, action in zip(asked, actions, strict=True))
        if not effort.endswith("s"):
            assert actions == [action for position in asked for action in ask(player, [position])]
            assert actions == ask(make(player.name, seed=2), asked[::-1])[::-1]
    timed = make(f"mcts:{folder}:0.02s,margin=0.5")
    assert isinstance(timed, SearchPlayer)
    assert (timed.config.margin_weight, timed.batch) == (0.5, 1)


def test_a_model_alone_takes_the_command_s_simulations_or_what_suits_it(tmp_path: Path, registry: Registry) -> None:
    (tmp_path / "model.safetensors").write_bytes(weights(GAME, config=PATTERNS).to_bytes())
    assert make(str(tmp_path), simulations=9).name == f"mcts:{tmp_path}:9"
    suits = make_player(str(tmp_path), GAME, seed=1, simulations=None)
    assert suits.name == f"{PATTERN_SEARCH}:{tmp_path}:{PATTERN_SECONDS:g}s"
    assert make_player("3", GAME, registry=registry.url, seed=1, simulations=None).name == f"mcts:3:{SIMULATIONS}"


def test_what_is_certain_counts_in_play_unless_its_option_is_0(registry: Registry) -> None:
    found = []
    for spec in ("mcts:3:6", "mcts:3:6,bounds=0", "mcts:3:6,wipeouts=0"):
        player = make(spec, registry)
        assert isinstance(player, SearchPlayer)
        found.append((player.config.bounds, player.config.wipeouts))
    assert found == [(True, True), (False, True), (True, False)]


def test_gated_latest_versions_and_paths_are_the_models_they_name(registry: Registry, tmp_path: Path) -> None:
    asked = positions(GAME, games=6)
    folder = tmp_path / "a:odd:name"
    registry.pull(3, folder)
    gated, latest = ask(make("policy:gated", registry), asked), ask(make("policy:latest", registry), asked)
    assert gated == ask(make("policy:0", registry), asked)
    assert latest == ask(make("policy:3", registry), asked) == ask(make(f"policy:{folder}"), asked)
    assert ask(make(f"mcts:{folder}:8"), asked) == ask(make(str(folder)), asked) == ask(make("3", registry), asked)
    assert gated != latest


def test_the_policy_player_plays_the_likeliest_legal_move(registry: Registry) -> None:
    asked = positions(GAME, games=6)
    own, opp = (np.array([getattr(p, side) for p in asked], np.uint64) for side in ("own", "opp"))
    logits, _ = open_evaluator(random_weights(0), batch=len(asked), precision="float32")(own, opp)
    for position, action, row in zip(asked, ask(make("policy:0", registry), asked), logits, strict=True):
        assert row[action] >= max(row[a] for a in position.legal_actions()) - 0.05


@pytest.mark.parametrize("kind", [*STACKS, "table"])
def test_a_model_of_any_head_plays_by_its_best_legal_action_and_with_a_search(kind: str, tmp_path: Path) -> None:
    game = GAMES["tictactoe"] if kind == "table" else GAME
    weights = random_weights(5, game, TableConfig() if kind == "table" else STACKS[kind])
    weights.save(tmp_path / "model.safetensors")
    asked = positions(game, games=6)
    own, opp = (np.array([getattr(p, side) for p in asked], np.uint64) for side in ("own", "opp"))
    logits, _ = open_evaluator(weights, batch=len(asked), precision="float32")(own, opp)
    for position, action, row in zip(asked, ask(make(f"policy:{tmp_path}", game=game), asked), logits, strict=True):
        assert row[action] >= max(row[a] for a in position.legal_actions()) - 0.3
    searched = ask(make(f"mcts:{tmp_path}:64", game=game), asked)
    assert all(action in position.legal_actions() for position, action in zip(asked, searched, strict=True))


def test_a_search_over_a_table_sees_what_the_table_does_not(tmp_path: Path) -> None:
    """Nothing was learned and all values are 0: 64 simulations find the win, and the square that stops one."""
    game = GAMES["tictactoe"]
    Weights(game.name, TableConfig(), 0, {"q": empty_table()}).save(tmp_path / "model.safetensors")
    asked = [Position.parse("XX-OO---- X"), Position.parse("XX-O----- O")]
    assert ask(make(f"mcts:{tmp_path}:64", game=game), asked) == [2, 2]
    assert ask(make(f"policy:{tmp_path}", game=game), asked) == [2, 2], "the first of equals"


class EqualNetwork:
    """A network without an opinion."""

    def __call__(
        self, own: NDArray[np.uint64], opp: NDArray[np.uint64], /
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return np.zeros((len(own), 10), np.float32), np.zeros(len(own), np.float32)


def test_search_finds_the_win_in_one_without_a_network() -> None:
    game = GAMES["tictactoe"]
    winning, blocking = Position.parse("XX-OO---- X"), Position.parse("XX-O----- O")
    player = SearchPlayer("mcts", game, EqualNetwork(), search_config(simulations=200))
    assert ask(player, [winning, blocking, winning]) == [2, 2, 2]


def test_a_searching_player_plays_what_its_search_would() -> None:
    """Gumbel with one action considered plays the likeliest, whatever its improved policy says."""
    game, asked = GAMES["tictactoe"], [Position.parse("XX-O-O--- X")]
    config = search_config(simulations=8, method="gumbel", considered=1)
    assert ask(SearchPlayer("mcts", game, EqualNetwork(), config), asked) == [2]
    config = search_config(simulations=8, method="gumbel", considered=2)
    losing = [Position.parse("X-X-O---- O")]  # the first two moves are b1, which stops the row, and a2
    assert ask(SearchPlayer("mcts", game, EqualNetwork(), config), losing) == [1]


def test_a_searching_player_has_no_memory_and_no_luck_and_ignores_its_batch(registry: Registry) -> None:
    asked = positions(GAME, games=12)
    assert len(asked) > batch_of(8)
    player = make("mcts:gated:8", registry)
    together = ask(player, asked)
    assert together == ask(player, asked)
    assert together == [action for position in asked for action in ask(player, [position])]


@pytest.mark.parametrize("simulations", [0, 64, 10_000, 1_000_000])
def test_large_trees_are_searched_in_smaller_batches(simulations: int) -> None:
    batch = batch_of(simulations)
    assert 1 <= batch <= 256
    assert batch == 1 or batch * (simulations + 1) <= 2**19


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("someone", "unknown player 'someone'$"),
        ("", "unknown player ''"),
        ("random:3", "unknown player 'random:3'"),
        ("flat-mc:0", "expected a whole number from 1 to 1000000 at the end of 'flat-mc:0', got '0'"),
        ("flat-mc:many", "got 'many'"),
        ("flat-mc:-5", "got '-5'"),
        ("uct", "uct needs a number of games, as in uct:1500"),
        ("uct:0", "got '0'"),
        ("alphabeta:61", "expected a whole number from 1 to 60 at the end of 'alphabeta:61', got '61'"),
        ("alphabeta:deep", "got 'deep'"),
        ("alphabeta:gated:61", "expected a whole number from 1 to 60 at the end of 'alphabeta:gated:61', got '61'"),
        ("alphabeta:gated:0s", "got '0s'"),
        ("alphabeta:gated:8,solve=0", "got '8,solve=0'"),
        ("alphabeta:gated:1s,solve=0", "got '1s,solve=0'"),
        ("alphabeta:gated:8", "expected a network of patterns for alpha-beta with a model, got 1 blocks x 4 channels"),
        ("mcts:gated:0s", "got '0s'"),
        ("mcts:gated:1e3s", "got '1e3s'"),
        ("mcts:gated:many", "at the end of 'mcts:gated:many', got 'many'"),
        ("mcts:gated:9999999", "got '9999999'"),
        (
            "mcts:gated:9,depth=3",
            "expected options margin, solve, .*, share, backup, bounds, wipeouts with numbers .*, got 'depth=3'",
        ),
        ("mcts:gated:9,solve=0,solve=3", "expected every option once at the end of .*, got solve again"),
        ("mcts:gated:9,margin=much", "got 'margin=much'"),
        ("mcts:gated:9,bounds=7", "got 'bounds=7'"),
        ("mcts:gated:9,", "got ''"),
        ("mcts:gated:0,solve=8", "at least one simulation with options of the search, got 'mcts:gated:0,solve=8'"),
        ("mcts", "expected a model in 'mcts', as in mcts:gated"),
        ("policy:", "expected a model in 'policy:'"),
        ("policy:nowhere", "got 'nowhere'"),
        ("7", "expected the version of a published model"),
    ],
)
def test_what_names_no_player_is_refused(spec: str, says: str, registry: Registry) -> None:
    with pytest.raises(UsageError, match=says) as error:
        make(spec, registry)
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)


def test_a_model_of_another_game_is_refused(registry: Registry) -> None:
    with pytest.raises(IncompatibleModelError, match="reversi8"):
        make("mcts:gated:4", registry, game=GAMES["reversi8"])


@pytest.mark.parametrize("spec", ["greedy", "alphabeta:2", "mcts:0:8"])
def test_a_move_is_chosen_in_one_position_of_a_game_given_by_name(spec: str, registry: Registry) -> None:
    player = make_player(spec, "reversi6", registry=registry.url, seed=1)
    for position in positions(GAME, games=1):
        assert choose_move(player, position) in position.legal_moves()


@pytest.mark.parametrize(
    "spec", ["random", "greedy", "flat-mc:5", "uct:5", "alphabeta:2", "policy:0", "alphabeta:shipped:1"]
)
def test_a_player_is_asked_about_its_own_game_only(spec: str, registry: Registry) -> None:
    """On a larger board its kernels would leave their arrays."""
    player = make_player(spec, "reversi6", registry=registry.url, seed=1)
    for name in set(GAMES) - {"reversi6"}:
        with pytest.raises(UsageError, match=rf"^expected a player of {name}, got '{player.name}' of reversi6$"):
            choose_move(player, Position.start(name))
    assert choose_move(player, Position.start("reversi6"))


class Stubborn:
    """A player from elsewhere: it plays any game, always the same action."""

    name = "stubborn"

    def __init__(self, action: int) -> None:
        self.action = action

    def choose(self, own: NDArray[np.uint64], opp: NDArray[np.uint64], /) -> NDArray[np.int32]:
        return np.full(len(own), self.action, np.int32)


def test_a_move_that_is_not_legal_names_its_player() -> None:
    assert choose_move(Stubborn(1), Position.start("reversi4")) == "b1"
    for action, shown in ((0, "'a1'"), (16, "'pass'"), (17, "17"), (-1, "-1")):
        with pytest.raises(IllegalMoveError, match=rf"^stubborn: expected one of b1, .*; got {shown} in '"):
            choose_move(Stubborn(action), Position.start("reversi4"))


@pytest.mark.parametrize(
    ("position", "says"),
    [
        (Position.parse("XX-------------- O"), "^expected a position with a move to play, the game is over in 'XX--"),
        (Position.parse("---------------- X"), "the game is over"),
        (Position(GAMES["reversi4"], 3, 2), "^expected discs on squares of reversi4, one on each at most, got own="),
        (Position(GAMES["reversi4"], 1, 1 << 4), "on squares of reversi4"),
        (Position(GAMES["reversi8"], 1, 1 << 64), "on squares of reversi8"),
        (Position(GAMES["reversi8"], -1, 2), "on squares of reversi8"),
    ],
)
def test_a_position_without_a_move_is_refused(position: Position, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        choose_move(make_player("random", position.game, seed=1), position)


def test_a_game_that_there_is_not_is_one_line() -> None:
    with pytest.raises(UsageError, match=r"game must be one of reversi4, .*, got 'reversi7'"):
        make_player("greedy", "reversi7", seed=1)
