"""Where the processes of a run go, on nodes that are only written down."""

from __future__ import annotations

import pytest

from actors.config import SearchActorConfig
from reversi.errors import ConfigError
from scripts.config.compose import compose
from scripts.config.job import JobConfig, job_of
from scripts.launch.preflight import check_cluster_job
from scripts.ray.placement import Node, cluster_placement, local_placement

HEAD = Node(id="head", name="h", resources={"CPU": 4.0, "memory": 1e9, "node:1.2.3.4": 1.0})
GPU = Node(id="gpu", name="g", resources={"CPU": 16.0, "GPU": 2.0}, labels={"zone": "a"})
CPU = Node(id="cpu", name="c", resources={"CPU": 8.0, "scratch": 3.0}, labels={"zone": "b", "ray.io/node-id": "x"})


def job(*overrides: str) -> JobConfig:
    return job_of(compose(["cluster=ray", *overrides]))


def test_the_roles_stay_beside_the_driver_and_actors_fill_what_is_left() -> None:
    placed = cluster_placement(job(), [HEAD, CPU], "head")
    assert {placed.replay.node, placed.weights.node, placed.gate.node} == {"head"}
    assert placed.learner.node == "cpu"  # more of it is free
    nodes = [actor.place.node for actor in placed.actors]
    assert (nodes.count("head"), nodes.count("cpu")) == (2, 7)
    assert all(actor.place.request == {"CPU": 1.0} for actor in placed.actors)


def test_groups_with_and_without_gpus_run_side_by_side() -> None:
    wanted = job("cluster.learner.gpus=1", "cluster.actors.gpu.count=1")
    placed = cluster_placement(wanted, [HEAD, GPU, CPU], "head")
    assert placed.learner.node == "gpu"
    on_gpu, others = placed.actors[0], placed.actors[1:]
    assert (on_gpu.place.node, dict(on_gpu.place.request), on_gpu.place.threads) == (
        "gpu",
        {"CPU": 12.0, "GPU": 1.0},
        12,
    )
    assert isinstance(on_gpu.config, SearchActorConfig)
    assert (on_gpu.config.device, on_gpu.config.games, on_gpu.config.backend) == ("cuda", 8192, "torch")
    assert all(actor.config == wanted.actors for actor in others)
    nodes = [actor.place.node for actor in others]
    assert {name: nodes.count(name) for name in ("head", "gpu", "cpu")} == {"head": 2, "gpu": 3, "cpu": 8}


def test_nodes_with_a_gpu_are_spared_as_long_as_there_are_others() -> None:
    placed = cluster_placement(job("cluster.actors.cpu.count=9"), [HEAD, GPU, CPU], "head")
    nodes = [placed.learner.node, *(actor.place.node for actor in placed.actors)]
    assert nodes.count("gpu") == 0
    assert nodes.count("cpu") == 8


def test_labels_and_custom_resources_are_kept() -> None:
    placed = cluster_placement(
        job("+cluster.actors.cpu.labels.zone=b", "+cluster.actors.cpu.resources.scratch=1"), [HEAD, GPU, CPU], "head"
    )
    assert [actor.place.node for actor in placed.actors] == ["cpu"] * 3
    assert placed.actors[0].place.labels == {"zone": "b"}


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (
            ["cluster.learner.gpus=1"],
            "cluster.learner needs 1 CPU and 1 GPU, but no node has that much free; nodes: h",
        ),
        (
            ["cluster.gate.cpus=5"],
            "cluster.gate needs 5 CPU, but the driver's node does not have that much free",
        ),
        (["cluster.actors.cpu.count=20"], "cluster.actors.cpu needs 1 CPU, but no node has that much free"),
        (["+cluster.learner.labels.zone=z"], "cluster.learner needs 1 CPU with zone=z, but no node has"),
        (["cluster.learner.cpus=8", "cluster.gate.cpus=3"], "expected room for an actor beside the other roles"),
        (["cluster.actors.cpu.cpus=0"], "cluster.actors.cpu with count=null must reserve cpus or gpus, got neither"),
        (["cluster.actors.cpu.count=0"], "cluster.actors must be groups of which at least one has actors"),
        (
            ["cluster.actors.gpu.count=null"],
            "cluster.actors must be at most one group with count=null",
        ),
        (["cluster.learner.gpus=1.5"], "cluster.gpus must be at most 1 or a whole number, got 1.5"),
        (["cluster.address=ray://h:10001"], "cluster.address must be HOST:PORT or auto"),
        (["+cluster.actors.cpu.settings.game=1"], "unknown key 'cluster.actors.cpu.settings.game'"),
        (
            ["+cluster.actors.cpu.settings.games=many"],
            "cluster.actors.cpu.settings.games must be an integer",
        ),
    ],
)
def test_what_does_not_fit_is_one_line_that_names_it(overrides: list[str], words: str) -> None:
    with pytest.raises(ConfigError) as error:
        cluster_placement(job(*overrides), [HEAD, CPU], "head")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_files_of_games_are_read_by_one_actor_beside_the_driver() -> None:
    placed = cluster_placement(job("experiment=wthor", "actors.paths=[x.wtb]", "cluster=ray"), [HEAD, CPU], "head")
    assert [actor.place.node for actor in placed.actors] == ["head"]


def test_on_one_machine_gpus_are_shared_by_who_may_use_them() -> None:
    wanted = job_of(compose(["actors.count=3", "actors.device=auto", "learner.device=cpu"]))
    placed = local_placement(wanted, gpus=2)
    assert [dict(actor.place.request) for actor in placed.actors] == [{"GPU": 0.5}] * 3
    assert dict(placed.learner.request) == {}
    assert all(actor.place.request == {} for actor in local_placement(wanted, gpus=0).actors)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["run.dir=runs"], "run.dir must be an absolute path for a job on a cluster"),
        (["run.dir=/r", "registry.url=models"], "registry.url must be an absolute path"),
        (["run.dir=/r", "+cluster.actors.cpu.settings.x=1"], "unknown key 'cluster.actors.cpu.settings.x'"),
    ],
)
def test_what_a_job_would_lose_is_refused(overrides: list[str], words: str) -> None:
    with pytest.raises(ConfigError) as error:
        check_cluster_job(job(*overrides))
    assert words in str(error.value)
    check_cluster_job(job("run.dir=/runs", "registry.url=s3://models"))


def test_an_autoscaler_without_nodes_is_asked_before_they_are_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the node that the request brings the job is placed, and the request is taken back."""
    import ray.autoscaler.sdk

    from scripts.ray import cluster

    asked: list[tuple[list[dict[str, float]], list[dict[str, str]]]] = []

    def request_resources(*, bundles: list[dict[str, float]], bundle_label_selectors: list[dict[str, str]]) -> None:
        asked.append((bundles, bundle_label_selectors))

    def nodes() -> list[Node]:
        return [Node(id="head", name="head", resources={"CPU": 8, "GPU": 1}, labels={"role": "a"})] if asked else []

    class Context:
        def get_node_id(self) -> str:
            return "head"

    monkeypatch.setattr(ray.autoscaler.sdk, "request_resources", request_resources)
    monkeypatch.setattr(cluster, "nodes", nodes)
    monkeypatch.setattr(cluster, "POLL_S", 0.0)
    monkeypatch.setattr(cluster, "_check_available", lambda placement: None)
    monkeypatch.setattr(cluster.ray, "get_runtime_context", Context)
    settings = ["cluster.learner.gpus=1", "cluster.actors.cpu.count=2", "+cluster.actors.cpu.labels.role=a"]
    job = job_of(compose(["cluster=ray", "run.dir=/shared", *settings]))
    placement = cluster.placement_of(job, lambda: False)
    assert len(placement.actors) == 2
    roles = [{"CPU": 1.0}, {"CPU": 1.0}, {"CPU": 1.0, "GPU": 1}]
    assert asked == [([*roles, {"CPU": 1.0}, {"CPU": 1.0}], [{}, {}, {}, {"role": "a"}, {"role": "a"}]), ([], [])]
    assert "waiting 120 s for nodes: " in capsys.readouterr().err
