#!/bin/sh
# Keeps Ray running on a worker: starts it, and restarts it five seconds after it has exited, as it does on a node that
# the head has dropped.  Takes the arguments of `ray start`:
#
#     deploy/keep-worker.sh --address=HEAD:6379 --labels=role=actors
#
# `pkill -f keep-worker.sh; ray stop` stops both.
while :; do
    ray start "$@" --block
    sleep 5
done
