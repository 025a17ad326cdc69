"""How the commands about jobs on a Ray cluster name the cluster."""

from __future__ import annotations

import argparse
import os

from scripts.config.cluster import ADDRESS_VARIABLE


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add --address and --token-file, which name a cluster that takes jobs."""
    parser.add_argument(
        "--address",
        metavar="URL",
        help=f"the cluster's dashboard, as http://head:8265 (default: {ADDRESS_VARIABLE})",
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help="file with the cluster's token (default: RAY_AUTH_TOKEN_PATH or RAY_AUTH_TOKEN)",
    )


def names_cluster(args: argparse.Namespace) -> bool:
    """Return whether the command is about a job on a cluster, not about a run on this machine."""
    return bool(args.address or os.environ.get(ADDRESS_VARIABLE))
