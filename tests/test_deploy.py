"""The manifests under deploy/: they fit their schemas, the job in them composes and finds room on their nodes.

Ray's schema of cluster files comes with Ray.  KubeRay's is too large to carry: what stands here is trimmed from the
fields that its API reference documents, closed, so that a misspelt or misplaced field is found; values that Kubernetes
itself defines (resources, volumes) are not checked deeper than their type.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from scripts.config.compose import compose
from scripts.config.job import job_of
from scripts.launch.preflight import check_cluster_job
from scripts.ray.placement import Node, cluster_placement

DEPLOY = Path(__file__).parents[1] / "deploy"
TEXT, WHOLE, FLAG = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "boolean"}
TEXTS = {"type": "object", "additionalProperties": TEXT}


def closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def listed(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1}


SECRET = closed(["secretKeyRef"], secretKeyRef=closed(["name", "key"], name=TEXT, key=TEXT))
VARIABLE = {
    "oneOf": [
        closed(["name", "value"], name=TEXT, value=TEXT),
        closed(["name", "valueFrom"], name=TEXT, valueFrom=SECRET),
    ]
}
CONTAINER = closed(
    ["name", "image", "resources"],
    name=TEXT,
    image=TEXT,
    command=listed(TEXT),
    args=listed(TEXT),
    env=listed(VARIABLE),
    ports=listed(closed(["containerPort"], containerPort=WHOLE, name=TEXT)),
    resources=closed(["requests", "limits"], requests=TEXTS, limits=TEXTS),
    volumeMounts=listed(closed(["name", "mountPath"], name=TEXT, mountPath=TEXT)),
)
POD = closed(
    ["spec"],
    metadata={"type": "object"},
    spec=closed(
        ["containers"],
        containers=listed(CONTAINER),
        terminationGracePeriodSeconds=WHOLE,
        securityContext={"type": "object"},
        volumes=listed({"type": "object", "required": ["name"]}),
    ),
)
RAY_CLUSTER = closed(
    ["rayVersion", "headGroupSpec", "workerGroupSpecs"],
    rayVersion=TEXT,
    authOptions=closed(["mode"], mode={"enum": ["token", "disabled"]}, secretName=TEXT),
    enableInTreeAutoscaling=FLAG,
    gcsFaultToleranceOptions={"type": "object"},
    headGroupSpec=closed(["rayStartParams", "template"], rayStartParams=TEXTS, template=POD, serviceType=TEXT),
    workerGroupSpecs=listed(
        closed(
            ["groupName", "replicas", "rayStartParams", "template"],
            groupName=TEXT,
            replicas=WHOLE,
            minReplicas=WHOLE,
            maxReplicas=WHOLE,
            numOfHosts=WHOLE,
            rayStartParams=TEXTS,
            template=POD,
        )
    ),
)
RAY_JOB = closed(
    ["apiVersion", "kind", "metadata", "spec"],
    apiVersion={"const": "ray.io/v1"},
    kind={"const": "RayJob"},
    metadata={"type": "object", "required": ["name"]},
    spec=closed(
        ["entrypoint", "rayClusterSpec"],
        entrypoint=TEXT,
        runtimeEnvYAML=TEXT,
        submissionMode={"enum": ["K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"]},
        shutdownAfterJobFinishes=FLAG,
        ttlSecondsAfterFinished=WHOLE,
        activeDeadlineSeconds=WHOLE,
        backoffLimit=WHOLE,
        suspend=FLAG,
        rayClusterSpec=RAY_CLUSTER,
    ),
)


@pytest.fixture(scope="module")
def parts() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for document in yaml.safe_load_all((DEPLOY / "rayjob.yaml").read_text()):
        found.setdefault(document["kind"], []).append(document)
    return found


def test_the_cluster_of_machines_fits_the_schema_that_ray_brings() -> None:
    import ray.autoscaler

    schema = json.loads((Path(ray.autoscaler.__file__).parent / "ray-schema.json").read_text())
    config = yaml.safe_load((DEPLOY / "ray-cluster.yaml").read_text())
    jsonschema.validate(config, schema)
    assert config["max_workers"] == len(config["provider"]["worker_ips"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(config | {"head_command": []}, schema)


def test_every_option_of_ray_start_exists_and_a_token_is_asked_for() -> None:
    from ray.scripts.scripts import start

    known = {option for parameter in start.params for option in parameter.opts}
    config = yaml.safe_load((DEPLOY / "ray-cluster.yaml").read_text())
    for part in ("head", "worker"):
        command = config[f"{part}_start_ray_commands"][-1]
        assert set(re.findall(r"--[a-z-]+", command)) <= known
        assert "RAY_AUTH_MODE=token" in command
    job = next(d for d in yaml.safe_load_all((DEPLOY / "rayjob.yaml").read_text()) if d["kind"] == "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    assert cluster["authOptions"] == {"mode": "token", "secretName": "reversi"}
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        assert {f"--{name}" for name in group["rayStartParams"]} <= known


def test_the_job_fits_what_kuberay_documents(parts: dict[str, list[Any]]) -> None:
    (job,) = parts["RayJob"]
    jsonschema.validate(job, RAY_JOB)
    (redis,) = parts["StatefulSet"]
    jsonschema.validate(redis["spec"]["template"], POD)
    for path in (("spec", "entrypont"), ("spec", "rayClusterSpec", "headGroup")):
        wrong = json.loads(json.dumps(job))
        place = wrong
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = {}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, RAY_JOB)


def test_names_in_the_manifest_lead_somewhere(parts: dict[str, list[Any]]) -> None:
    (job,), (redis,), (service,) = parts["RayJob"], parts["StatefulSet"], parts["Service"]
    claims = {claim["metadata"]["name"] for claim in parts["PersistentVolumeClaim"]}
    cluster = job["spec"]["rayClusterSpec"]
    pods = [group["template"]["spec"] for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])]
    used = set()
    for pod in (*pods, redis["spec"]["template"]["spec"]):
        volumes = {volume["name"]: volume["persistentVolumeClaim"]["claimName"] for volume in pod.get("volumes", [])}
        assert {mount["name"] for c in pod["containers"] for mount in c.get("volumeMounts", [])} == set(volumes)
        used |= set(volumes.values())
    assert used == claims
    assert service["spec"]["selector"] == redis["spec"]["template"]["metadata"]["labels"]
    assert f"redis://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}" in job["spec"]["entrypoint"]


def test_no_secret_stands_in_a_manifest() -> None:
    for path in sorted(DEPLOY.glob("*.yaml")):
        text = path.read_text()
        assert not re.search(r"[0-9a-f]{32}", text), path
        assert not re.search(r"://[^/\s]*:[^/\s]*@", text), path
    text = (DEPLOY / "rayjob.yaml").read_text()
    assert set(re.findall(r"key: (\w+)\n", text)) <= set(re.findall(r"--from-literal=(\w+)=", text))


def test_the_job_of_the_manifest_composes_and_finds_room_in_its_pods(parts: dict[str, list[Any]]) -> None:
    (spec,) = (job["spec"] for job in parts["RayJob"])
    command, what, *overrides = shlex.split(spec["entrypoint"])
    assert (command, what) == ("reversi", "train")
    job = job_of(compose(overrides))
    check_cluster_job(job)
    cluster = spec["rayClusterSpec"]
    nodes = [node("head", cluster["headGroupSpec"])]
    for group in cluster["workerGroupSpecs"]:
        nodes += [node(f"{group['groupName']}-{index}", group) for index in range(group["replicas"])]
    placed = cluster_placement(job, nodes, "head")
    assert placed.learner.node == "learner-0"
    places = [actor.place.node for actor in placed.actors]
    assert {name: places.count(name) for name in sorted(set(places))} == {"actors-0": 14, "actors-1": 14}


def node(name: str, group: dict[str, Any]) -> Node:
    """A pod as Ray sees it: --num-cpus, else what it requests, and its GPUs."""
    requests = group["template"]["spec"]["containers"][0]["resources"]["requests"]
    cpus = group["rayStartParams"].get("num-cpus", requests["cpu"])
    return Node(id=name, name=name, resources={"CPU": float(cpus), "GPU": float(requests.get("nvidia.com/gpu", 0))})
