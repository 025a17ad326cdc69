"""Every file under conf/ composes into a job, says every value, and refuses what it does not know."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.config import EpsilonActorConfig, GamesActorConfig
from learner.algorithms.config import DqnConfig, SupervisedConfig
from learner.config import NetworkLearnerConfig
from learner.replay.config import ReplayConfig
from learner.replay.redis.config import RedisReplayConfig
from reversi.errors import ConfigError, UsageError
from reversi.model.config import ResNetConfig, StackConfig
from reversi.model.weights import array_shapes
from reversi.search.config import SearchConfig
from reversi.settings import is_later
from scripts.config.compose import compose, each_job, recompose, to_yaml
from scripts.config.job import JobConfig, job_of
from scripts.rate.ladders import ladder_names, load_ladder

CONF = Path(__file__).parent.parent / "conf"
CHOICES = sorted(str(p.relative_to(CONF).with_suffix("")) for p in CONF.glob("*/*.yaml") if p.parent.name != "ladder")


@pytest.mark.parametrize("choice", CHOICES)
def test_every_choice_composes_into_a_job(choice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVERSI_BUCKET", "models")  # for registry=s3
    group, _, name = choice.partition("/")
    job = job_of(compose([f"{group}={name}"]))
    assert isinstance(job, JobConfig)


def test_models_in_s3_lie_in_a_folder_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVERSI_BUCKET", "models")
    assert job_of(compose(["registry=s3", "run.name=night"])).registry.url == "s3://models/night"
    monkeypatch.delenv("REVERSI_BUCKET")
    with pytest.raises(ConfigError, match="REVERSI_BUCKET"):
        compose(["registry=s3"])


@pytest.mark.parametrize("name", ladder_names())
def test_every_ladder_is_one(name: str) -> None:
    ladder = load_ladder(name)
    assert len(set(ladder.players)) == len(ladder.players) > 1
    assert ladder.games == 100


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("size: 5", "ladder.size must be 4, 6 or 8, got 5"),
        ("games: 7", "ladder.games must be even"),
        ("engines: {start_s: 1, move_s: 0, restarts: 1}", "expected times above 0"),
        ("engines: {start_s: 1, move_s: 1}", "key 'ladder.engines.restarts' is missing"),
        ("players: random", "ladder.players must be a list, got 'random'"),
        ("players: []\nchampions: false", "ladder.players must not be empty"),
        ("colour: red", "unknown key 'ladder.colour'; valid here: size, "),
        ("[", "own.yaml:9: invalid YAML, expected <block end>, but found '['"),
    ],
)
def test_a_wrong_ladder_is_one_line_that_names_it(text: str, words: str, tmp_path: Path) -> None:
    good = (CONF / "ladder" / "dozen.yaml").read_text(encoding="utf-8")
    keys = {line.partition(":")[0] for line in text.splitlines()}
    kept = [line for line in good.splitlines() if line.partition(":")[0] not in keys and not line.startswith(" ")]
    if "engines" not in keys:
        kept = [*(line for line in kept if line != "engines:"), "engines: {start_s: 1, move_s: 1, restarts: 1}"]
    file = tmp_path / "own.yaml"
    file.write_text("\n".join([*kept, text]), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        load_ladder(str(file))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_ladder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"unknown ladder 'nope'; expected dozen, edax8 or a file that ends in \.yaml"
    ):
        load_ladder("nope")
    with pytest.raises(UsageError, match=r"nowhere\.yaml: expected settings as key: value, but it does not exist"):
        load_ladder("nowhere.yaml")
    (tmp_path / "cut.yaml").write_text("size: 6\nplayers: [random,\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"cut\.yaml:3: invalid YAML, expected the node"):
        load_ladder(str(tmp_path / "cut.yaml"))
    (tmp_path / "list.yaml").write_text("- random", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"list\.yaml: expected settings as key: value, got list"):
        load_ladder(str(tmp_path / "list.yaml"))


def test_the_default_job_is_the_laptop_experiment() -> None:
    job = job_of(compose([]))
    assert (job.game.name, job.run.minutes, job.cluster.kind) == ("reversi6", 10.0, "local")
    assert (job.gate.games, job.gate.wins) == (400, 220)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("no.such.key=1", "unknown key 'no.such.key'; valid at the top: run, "),
        ("search.sims=1", "unknown key 'search.sims'; valid under search: simulations, "),
        ("run.minutes.x=1", "run.minutes is a single value"),
        ("game=chess", "unknown choice 'game/chess'; valid for game: reversi4, "),
        ("experiment=nope", "unknown choice 'experiment/nope'; valid for experiment: "),
        ("gate.games=7", "gate.games must be even"),
        ("gate.games=many", "gate.games must be an integer, got 'many'"),
        ("search.keep_subtree=3", "search.keep_subtree must be true or false, got 3"),
        ("cluster.kind=moon", "cluster.kind must be one of serial, local, ray, got 'moon'"),
        ("run.minutes=-1", "run.minutes must be null or a positive number, got -1"),
        ("run.minutes=inf", "run.minutes must be null or a positive number, got inf"),
        ("run.seed=-1", "run.seed must be from 0 to 2**63 - 1, got -1"),
        ("run.seed=18446744073709551616", "run.seed must be from 0 to 2**63 - 1"),
        ("run.name=a/b", "run.name must be a name of letters, digits"),
        ("run.name='a b'", "run.name must be a name of letters, digits"),
        ("run.minutes=[", "run.minutes="),
        ("actors.count=0", "actors.count must be at least 1"),
    ],
)
def test_a_wrong_override_is_one_line_that_names_it(override: str, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        job_of(compose([override]))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_values_with_margins_in_them_are_no_results() -> None:
    with pytest.raises(
        ConfigError, match=r"algorithm\.value_mix must be 0 where search\.margin_weight is not, got 0\.2"
    ):
        job_of(compose(["algorithm.value_mix=0.2", "search.margin_weight=0.1"]))


def test_a_margin_that_nobody_learns_is_not_searched_for() -> None:
    with pytest.raises(
        ConfigError, match=r"search\.margin_weight must be 0 where algorithm\.margin_weight is.*got 0\.1"
    ):
        job_of(compose(["algorithm.margin_weight=0", "search.margin_weight=0.1"]))


def test_a_random_opponent_is_not_learned_from_as_a_perfect_one() -> None:
    assert job_of(compose(["experiment=dqn8"])).algorithm.name == "dqn"
    with pytest.raises(ConfigError, match=r"actors\.opponent must be self with algorithm\.every_move.*got 'random'"):
        job_of(compose(["experiment=dqn8", "actors.opponent=random"]))


@pytest.mark.parametrize("overrides", [["game=reversi6"], ["experiment=reversi6_laptop"], ["~experiment"]])
def test_the_default_job_has_a_name_and_is_that_of_its_game(overrides: list[str]) -> None:
    assert compose([*overrides, "run.name=x"]) == compose(["run.name=x"])


@pytest.mark.parametrize("game", ["reversi4", "reversi8", "tictactoe"])
def test_what_is_tuned_for_6x6_stays_there(game: str) -> None:
    small, other = compose(["run.name=x"]), compose([f"game={game}", "run.name=x"])
    assert (small["network"]["lines"], small["replay"]["reuse"]) == (True, 2.0)
    tiny = compose(["network=tiny", "replay.reuse=4.0", "run.name=x"])
    assert other == tiny | {"game": {"name": game}}


@pytest.mark.parametrize("choice", ["network=small", "experiment=reversi8_laptop", "experiment=dqn6"])
def test_a_network_that_is_chosen_takes_the_place_of_the_one_of_the_game(choice: str) -> None:
    assert not compose([choice])["network"].get("lines", False)


@pytest.mark.parametrize("override", ["game=null", "~game", "replay=null", "experiment=null"])
def test_a_part_that_is_left_out_is_one_line(override: str) -> None:
    with pytest.raises(ConfigError) as error:
        job_of(compose([override]))
    assert "\n" not in str(error.value)


def test_a_sweep_is_every_value_by_every_other() -> None:
    jobs = each_job(["run.seed=1,2", "network=tiny", "search.c_puct=choice(1.0,2)", "actors.games=range(16,64,16)"])
    assert len(jobs) == 2 * 2 * 3
    assert jobs[0] == ["run.seed=1", "network=tiny", "search.c_puct=1.0", "actors.games=16"]
    assert jobs[-1] == ["run.seed=2", "network=tiny", "search.c_puct=2", "actors.games=48"]
    assert each_job(["tracking=[jsonl,wandb]"]) == [["tracking=[jsonl,wandb]"]], "a list is one value"


@pytest.mark.parametrize("override", ["search.c_puct=interval(1,2)", "network=glob(*)"])
def test_a_sweep_that_is_no_list_is_one_line(override: str) -> None:
    with pytest.raises(ConfigError, match=r"a sweep is key=a,b or key=choice\(\.\.\.\) or key=range"):
        each_job([override])


@pytest.mark.parametrize("name", ["heta", "heta_laptop"])
def test_the_original_of_heta_has_none_of_what_came_later(name: str) -> None:
    values = compose([f"experiment={name}"])
    assert {key: values["search"][key] for key in ("solve_empties", "bounds", "wipeouts", "full_share", "c_puct")} == {
        "solve_empties": 0,
        "bounds": False,
        "wipeouts": False,
        "full_share": 1.0,
        "c_puct": 1.0,
    }
    assert (values["actors"]["lessons"], values["actors"]["rescore_empties"]) == (0, 0)
    assert (values["gate"]["opening_choice"], values["gate"]["rule"], values["gate"]["wins"]) == (1, "wins", 220)


def test_the_values_of_the_dqn_article_are_those_of_the_job() -> None:
    job = job_of(compose(["experiment=dqn6_original"]))
    network, replay, learner, actors = job.network, job.replay, job.learner, job.actors
    assert isinstance(network, StackConfig)
    assert isinstance(learner, NetworkLearnerConfig)
    assert isinstance(actors, EpsilonActorConfig)
    assert array_shapes(network, 6) == {
        f"agents.0.{layer}.{part}": shape if part == "weight" else shape[:1]
        for layer, shape in {
            "convolutions.0": (4, 1, 2, 2),
            "convolutions.1": (8, 4, 2, 2),
            "convolutions.2": (16, 8, 2, 2),
            "convolutions.3": (32, 16, 2, 2),
            "pointwise.0": (256, 32),
            "pointwise.1": (256, 256),
            "output": (36, 256 * 2 * 2),
        }.items()
        for part in ("weight", "bias")
    }
    assert job.algorithm == DqnConfig(
        name="dqn",
        discount=0.99,
        n_step=16,
        target_every_steps=1000,
        reward="result",
        every_move=False,
        loss="huber",
        symmetric=False,
        opponent_turns="skip",
    )
    assert (learner.optimiser, learner.learning_rate, learner.final_learning_rate) == ("adam", 0.0005, 1.0)
    assert replay.reuse == learner.batch == 256, "a step for every move"
    assert (replay.min_positions, replay.window_start, replay.capacity_positions) == (200, 2_000_000, 2_000_000)
    assert (job.run.games, actors.epsilon, actors.final_epsilon, actors.epsilon_share) == (40_000, 1.0, 0.1, 0.125)


def test_the_agents_of_the_dqn8_article_store_every_move_of_every_turn() -> None:
    job = job_of(compose(["experiment=dqn8_original"]))
    network, algorithm, actors = job.network, job.algorithm, job.actors
    assert isinstance(network, StackConfig)
    assert isinstance(algorithm, DqnConfig)
    assert isinstance(actors, EpsilonActorConfig)
    assert (network.planes, network.discs, network.hidden, network.agents) == (1, (1, -1), (64,), 2)
    weights = {name: shape for name, shape in array_shapes(network, 8).items() if name.endswith("weight")}
    assert set(weights.values()) == {(64, 64)}, "64 - 64 - 64"
    assert (algorithm.every_move, algorithm.opponent_turns, algorithm.reward) == (True, "share", "win")
    assert (algorithm.n_step, algorithm.target_every_steps) == (1, 1)
    assert actors.epsilon == actors.final_epsilon
    assert job.replay.reuse == job.learner.batch == 32, "a step for every legal move"
    assert job.run.games == 1000


def test_the_network_of_the_wthor_article_learns_few_games_by_heart() -> None:
    job = job_of(compose(["experiment=wthor_original"]))
    network, algorithm, learner, actors = job.network, job.algorithm, job.learner, job.actors
    assert isinstance(network, StackConfig)
    assert isinstance(algorithm, SupervisedConfig)
    assert isinstance(learner, NetworkLearnerConfig)
    assert isinstance(actors, GamesActorConfig)
    assert (network.filters, network.width, network.square_bias, network.dropout) == ((128,) * 12, 3, True, 0.0)
    assert (algorithm.symmetric, algorithm.masked, algorithm.patience, algorithm.value_weight) == (
        False,
        False,
        None,
        0,
    )
    assert (learner.optimiser, learner.momentum, learner.learning_rate, learner.batch) == ("sgd", 0.0, 0.01, 32)
    assert (actors.max_games, actors.validation_share, job.replay.reuse) == (1_651, 0.2, 1_000.0)


def test_the_gpu_actors_of_a_cluster_are_those_of_a_gpu() -> None:
    job = job_of(compose(["cluster=ray", "actors.opening_plies=3"]))
    alone = job_of(compose(["actors=gpu", "actors.opening_plies=3"])).actors
    assert job.actors_of("gpu") == dataclasses.replace(alone, count=job.actors.count)
    assert job_of(compose(["cluster=ray", "cluster.actors.gpu.settings.games=64"])).actors_of("gpu").games == 64


@pytest.mark.parametrize("key", ["optimiser", "learning_rate", "ema_decay"])
def test_a_table_has_no_settings_of_a_network(key: str) -> None:
    table = ["experiment=tictactoe_qlearning"]
    assert not hasattr(job_of(compose(table)).learner, key)
    with pytest.raises(ConfigError, match=rf"^unknown key 'learner\.{key}'.* valid under learner: kind, "):
        compose([*table, f"learner.{key}=1"])
    with pytest.raises(ConfigError, match=rf"^unknown key 'learner\.{key}'; valid here: kind, batch, "):
        job_of(compose([*table, f"+learner.{key}=1"]))


def test_every_field_of_the_job_is_written_in_a_yaml_file() -> None:
    values = compose([])
    assert sorted(values) == sorted(field.name for field in dataclasses.fields(JobConfig))
    del values["search"]["simulations"]
    with pytest.raises(ConfigError, match=r"'search\.simulations' is missing"):
        job_of(values)


def dataclasses_in(kind: Any) -> Iterator[type]:
    """The dataclasses that a field's type names, and those inside them."""
    if dataclasses.is_dataclass(kind):
        assert isinstance(kind, type)
        yield kind
        for each in typing.get_type_hints(kind).values():
            yield from dataclasses_in(each)
    for each in typing.get_args(kind):
        yield from dataclasses_in(each)


@pytest.mark.parametrize("part", sorted(set(dataclasses_in(JobConfig)), key=lambda part: part.__name__))
def test_no_value_of_conf_is_a_default_as_well(part: type) -> None:
    absent = dataclasses.MISSING
    names = [each.name for each in dataclasses.fields(part) if (each.default, each.default_factory) != (absent, absent)]
    tags = [name for name, kind in typing.get_type_hints(part).items() if len(typing.get_args(kind)) == 1]
    later = [each.name for each in dataclasses.fields(part) if is_later(each)]  # models and runs from before lack them
    assert set(names) <= {*tags, *later}
    assert part not in (ReplayConfig, RedisReplayConfig, SearchConfig) or not names


def test_a_configuration_from_before_lines_has_none() -> None:
    values = compose(["network=tiny"])
    assert values["network"].pop("lines") is False
    network = job_of(values).network
    assert isinstance(network, ResNetConfig)
    assert not network.lines
    del values["network"]["blocks"]
    with pytest.raises(ConfigError, match=r"'network\.blocks' is missing"):
        job_of(values)


def test_a_saved_configuration_comes_back_with_single_values_changed(tmp_path: Path) -> None:
    saved = tmp_path / "config.yaml"
    values = compose(["run.minutes=3", "run.name=kept"])
    saved.write_text(to_yaml(values))
    again = recompose(saved, ["run.minutes=20"])
    assert again["run"] == values["run"] | {"minutes": 20}
    assert job_of(again).search == job_of(values).search
    for wrong, words in (
        ("search=gumbel", "only single values can change"),
        ("nonsense", "expected KEY=VALUE, as in run.minutes=20, got 'nonsense'"),
        ("run.hours=1", "unknown key 'run.hours'; valid under run: name, "),
        ("algorithm.name=dqn", "a run that goes on keeps its algorithm.name=alphazero, got 'algorithm.name=dqn'"),
        ("replay.kind=redis", "a run that goes on keeps its replay.kind=memory"),
        ("game.name=reversi8", "a run that goes on keeps its game.name=reversi6"),
        ("run.minutes=[", "cannot read 'run.minutes=['"),
    ):
        with pytest.raises(ConfigError) as error:
            recompose(saved, [wrong])
        assert words in str(error.value)
        assert "\n" not in str(error.value)


def test_a_resumed_run_reads_all_its_streams(tmp_path: Path) -> None:
    saved = tmp_path / "config.yaml"
    saved.write_text(to_yaml(compose(["replay=redis", "replay.shards=4"])))
    assert recompose(saved, ["replay.shards=4", "replay.takeover_s=5"])["replay"]["shards"] == 4
    with pytest.raises(ConfigError, match=r"a run that goes on keeps its replay\.shards=4, got 'replay\.shards=1'"):
        recompose(saved, ["replay.shards=1"])
