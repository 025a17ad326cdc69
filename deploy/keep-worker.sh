#!/bin/sh
# Keeps Ray up on a worker: starts it, and again five seconds after it has ended, as it does on a node that the head has
# given up.  Its arguments are those of `ray start`:
#
#     deploy/keep-worker.sh --address=HEAD:6379 --labels=role=actors
#
# `pkill -f keep-worker.sh; ray stop` ends both.
while :; do
    ray start "$@" --block
    sleep 5
done
