"""The output of a run at its start and its end: job and folder, the model's results, the next commands."""

from __future__ import annotations

import dataclasses
from shlex import quote
from typing import Any

from evaluator.match import Match
from evaluator.openings import random_openings
from evaluator.proof import as_json, prove_both_sides, report
from evaluator.stats import Score, score_of
from reversi.games.rules import TICTACTOE, game_named
from reversi.players import make_player
from scripts.run.durations import duration_text
from scripts.run.learning_curves import PICTURE, picture_of
from scripts.run.session import Session
from scripts.run.stopping_criteria import raised_limit
from scripts.run.watch.report import REPORT

FIXED_PLAYERS = ("random", "greedy", "flat-mc:150")
"""Opponents of the summary, weakest first."""


def announce(session: Session) -> None:
    """Print the game, the algorithm, the length, the processes and the folder of the run."""
    job = session.job
    where = {
        "serial": "one process",
        "local": f"{job.actor_count} actor(s), a learner and a gate on Ray",
        "ray": "actors, a learner and a gate on the nodes of a Ray cluster",
    }[job.cluster.kind]
    how = f" at {job.search.simulations} simulations" if job.actors.kind == "search" else ""
    minutes = () if job.run.minutes is None else (duration_text(60 * job.run.minutes),)
    length = " or ".join((*minutes, *(() if job.run.games is None else (f"{job.run.games:,} games",))))
    print(
        f"training {job.game.name} by {job.algorithm.name} with {job.network}{how} for {length}: {where}; everything "
        f"in {session.shown_path}",
        flush=True,
    )


def summarise(session: Session) -> None:
    """Play the champion against the fixed players, or without one the newest model; print and save the results.

    A signal ends this without them.
    """
    job, registry = session.job, session.open_registry()
    published = registry.models()
    if not published:
        print(f"no model was published: the run was too short; continue with:  {_resume_with_more(session)}")
        return
    promoted = sum(model.verdict == "promoted" for model in published)
    candidates = sum(model.verdict != "first" for model in published)
    shown = registry.gated() if promoted else published[-1]
    if promoted:
        print(f"\nchampion: version {shown.version}, after {promoted} promotions in {candidates} candidates")
    else:
        print(f"\nno champion yet, {candidates} candidates judged; the newest model, version {shown.version}:")
    champion = shown.version if promoted else None
    outcome: dict[str, Any] = {"champion": champion, "promotions": promoted, "candidates": candidates}
    outcome["model"] = shown.version
    if session.validation is not None:
        outcome["validation"] = dataclasses.asdict(session.validation)
    if game_named(job.game.name).id == TICTACTOE:
        outcome["proof"] = _prove(session, shown.version)
    else:
        outcome["results"] = _meet_fixed_players(session, shown.version)
    if session.interrupt.requested:
        return
    session.folder.write_json("summary.json", outcome)
    here, metrics = quote(session.shown_path), list[str]()
    if job.tracking.jsonl is not None:
        picture_of(session.folder.path, session.folder.path / PICTURE)
        print(f"\nreport in {here}/{REPORT}, learning curves in {here}/{PICTURE}", end="")
        metrics.append(f"{here}/metrics.jsonl")
    if job.tracking.tensorboard is not None:
        metrics.append(f"`tensorboard --logdir {here}/tensorboard`")
    models = quote(job.registry.url) if job.registry.url else f"{here}/registry"
    which = "" if promoted else f" --model {shown.version}"  # `gated` is a model that was promoted
    print(
        f"\nmodels in {models}\n{'metrics in ' if metrics else ''}{', '.join(metrics)}\n\n"
        f"next:  reversi serve --open --registry {models}{which}\n"
        f"       reversi play --registry {models}{which.removeprefix(' --model')}\n"
        f"       reversi pull --registry {models}{which} -o champion\n"
        f"       {_resume_with_more(session)}"
    )


def _resume_with_more(session: Session) -> str:
    """Return the command line that lets a finished run go on."""
    run, done = session.job.run, session.criteria
    return f"{session.resume_command} {raised_limit(run.minutes, run.games, done.elapsed_s, done.games)}"


def _meet_fixed_players(session: Session, version: int) -> dict[str, Any]:
    """Play a model against the fixed players; return the scores by opponent, up to a signal."""
    results = {}
    for opponent in FIXED_PLAYERS if session.job.run.summary_games else ():
        score = _play(session, version, opponent)
        if session.interrupt.requested:
            break
        results[opponent] = dataclasses.asdict(score)
        print(f"  against {opponent:<12} {score.summary}", flush=True)
    return results


def _prove(session: Session, version: int) -> dict[str, Any]:
    """Enumerate every game of a model, without and with search; return the results by player, up to a signal."""
    game, registry = game_named(session.job.game.name), session.open_registry().url
    proofs: dict[str, Any] = {}
    for simulations in sorted({0, session.job.run.summary_simulations}):
        player = make_player(f"mcts:{version}:{simulations}", game, registry=registry, seed=0)
        proofs[player.name] = {}
        for words, first_random in (("from the empty board", False), ("after any first move", True)):
            if session.interrupt.requested:
                return proofs
            proof = prove_both_sides(game, player, first_random)
            proofs[player.name][words] = as_json(game, proof)
            print(f"  {player.name}, every game {words}:")
            for line in report(game, proof):
                print(f"    {line}", flush=True)
    return proofs


def _play(session: Session, version: int, opponent: str) -> Score:
    """Play one match to its end, or to a signal, and return its score."""
    job, game = session.job, game_named(session.job.game.name)
    registry = session.open_registry().url
    openings = random_openings(game, job.run.summary_games // 2, job.gate.opening_plies, job.run.seed)
    model: Any = make_player(
        f"mcts:{version}:{job.run.summary_simulations}", game, registry=registry, seed=job.run.seed
    )
    other = make_player(opponent, game, registry=registry, seed=job.run.seed + 1)
    match = Match(game, model, other, openings, job.run.summary_games)
    while not session.interrupt.requested and not match.round(1.0):
        pass
    return score_of(match.result())
