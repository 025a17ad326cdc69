"""The drill of damaged records: how a replay handles deliveries that are repeated, late, cut, corrupted or illegal."""

from __future__ import annotations

import copy
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from learner.replay.memory import MemoryReplay
from learner.replay.samples import POSITIONS
from reversi.record import Records, encode
from scripts.bench.setup import Settings, default_job, records_of
from tests.faults.drill.outcome import Outcome

PLAYED = Settings(size=6, blocks=1, channels=8)
"""Settings of the self-play that produces the games."""

DELIVERIES, GAMES = 20, 8
"""Deliveries of one producer, and games in each."""


def deliver_damaged(folder: Path, rounds: int) -> Outcome:
    """Send, `rounds` times, deliveries as from a bad network or a faulty actor, with the good ones in random order.

    The outcome is kept if every good game was taken once, every damaged delivery was refused or, if the damage left a
    legal game, taken as that, and nothing raised.
    """
    records = records_of(PLAYED)
    config = replace(default_job(PLAYED.size).replay, min_positions=1, reuse=1e6, bucket_capacity=10**9)
    replay = MemoryReplay(PLAYED.game, config, POSITIONS, 0, folder / "rejected")
    chance = random.Random(1)
    good = taken = 0
    refused: Counter[str] = Counter()
    for number in range(rounds):
        batches = [_some(records, chance) for _ in range(DELIVERIES)]
        sent = [encode(batch, f"actor-{number}", sequence) for sequence, batch in enumerate(batches)]
        good += DELIVERIES * GAMES
        twice = [*sent, *sent]
        chance.shuffle(twice)
        taken += sum(replay.add(data).games for data in twice)
        for sequence, data in enumerate(sent, DELIVERIES):
            for damaged in (_cut(data, chance), _bent(data, chance)):
                report = replay.add(damaged)
                taken, good = taken + report.games, good + report.games  # harmless, if it is still readable
                refused[report.reason or ("repeated" if report.duplicate else "harmless")] += 1
            report = replay.add(encode(_poisoned(batches[sequence - DELIVERIES]), f"bad-{number}", sequence))
            taken, good = taken + report.games, good + GAMES - 1
            refused[report.reason] += 1
    counted = replay.report()
    kept = taken == good == counted.games_total and counted.duplicates >= rounds * DELIVERIES
    reasons = ", ".join(f"{count} {reason}" for reason, count in refused.most_common())
    seen = f"rejected_games {counted.rejected_games}, duplicates {counted.duplicates}, files in rejected/: {reasons}"
    done = rounds * DELIVERIES * 4
    return Outcome(
        drill="records",
        asked=done,
        kills=done,
        lost_games=good - taken,
        kept=kept,
        seen=seen,
    )


def _some(records: Records, chance: random.Random) -> Records:
    chosen = np.zeros(len(records), bool)
    chosen[chance.sample(range(len(records)), GAMES)] = True
    return records.select(chosen)


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def _bent(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def _poisoned(records: Records) -> Records:
    """Return the same games, but the first plays a square twice: valid bytes, an illegal game."""
    poisoned = copy.deepcopy(records)
    poisoned.actions[1] = poisoned.actions[0]
    return poisoned
