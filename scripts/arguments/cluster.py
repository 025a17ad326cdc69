"""What the commands about jobs on a Ray cluster share: how the cluster is named, and how a job calls `reversi`."""

from __future__ import annotations

import argparse

JOB_COMMAND = ("python", "-m", "scripts.cli")
"""How a job calls `reversi`: the code that is installed on the nodes, or that was sent with the job."""


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add --address and --token-file, which name a cluster that takes jobs."""
    parser.add_argument(
        "--address",
        metavar="URL",
        help="the cluster's dashboard, as http://head:8265 (default: RAY_API_SERVER_ADDRESS)",
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help="file with the cluster's token (default: RAY_AUTH_TOKEN_PATH or RAY_AUTH_TOKEN)",
    )
