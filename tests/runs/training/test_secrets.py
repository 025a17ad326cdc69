"""No secret of the environment gets into a run's folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


SECRETS = {
    "WANDB_API_KEY": "4ca9a27e" * 5,
    "REVERSI_REDIS_PASSWORD": "correct-horse-battery",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI0K7MDENG",
    "RAY_AUTH_TOKEN": "7e57ab1e" * 8,
}


def test_no_secret_of_the_environment_gets_into_a_run(tmp_path: Path) -> None:
    """A whole tiny run with wandb's files: every byte of its folder, and what it printed, is looked through."""
    tiny = ("game=reversi4", "network.blocks=1", "network.channels=8", "search.simulations=2", "actors.games=8")
    tiny += ("actors.precision=float32", "replay.min_positions=50", "replay.bucket_capacity=5000", "learner.batch=32")
    tiny += ("run.minutes=0.005", "run.summary_games=0", "gate.games=4", "gate.wins=3", "gate.truth_positions=0")
    tiny += ("cluster=serial", "run.name=x", f"run.dir={tmp_path}", "tracking=[jsonl,wandb]")
    done = subprocess.run(
        [sys.executable, "-m", "scripts.cli", "train", *tiny],
        env={**os.environ, **SECRETS, "WANDB_MODE": "offline"},
        cwd=ROOT,
        capture_output=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    files = [path for path in (tmp_path / "x").rglob("*") if path.is_file() and not path.is_symlink()]
    names = {path.name for path in files}
    assert names >= {"config.yaml", "versions.json", "run.log", "metrics.jsonl", "summary.json"}
    texts = {str(path): path.read_bytes() for path in files} | {"stdout": done.stdout, "stderr": done.stderr}
    for variable, secret in SECRETS.items():
        assert [where for where, text in texts.items() if secret.encode() in text] == [], variable
