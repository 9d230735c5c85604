#!/bin/sh
# A stand-in for an agent: serves /healthz on 8080 and counts steps. The count lives in the volume (HOME is the mount
# path of the workspace, STATE_DIR overrides it), so it goes on after a pause; without a volume it starts at 1 again.
# No `set -e`: TERM may reach what it runs before itself, and the server may be gone before it is told to go.
set -u
dir=${STATE_DIR:-${HOME:-/}}
if [ "$dir" = / ] || ! [ -d "$dir" ] || ! [ -w "$dir" ]; then dir=/tmp; fi
state=$dir/step
python3 /app/server.py "$dir" &
server=$!
trap 'kill "$server" 2>/dev/null; exit 0' TERM INT
step=0
if [ -s "$state" ]; then step=$(cat "$state"); fi
echo "agent ${AGENT_VERSION:-1} starts after step=$step, state in $state"
while :; do
    step=$((step + 1))
    echo "$step" > "$state.new"
    mv "$state.new" "$state"
    echo "step=$step"
    sleep "${STEP_SECONDS:-1}" &
    wait $!
done
