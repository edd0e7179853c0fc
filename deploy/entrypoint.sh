#!/bin/sh
# Begin with the kernels that the image has; Numba writes others beside them, for which it needs a folder of its own.
set -eu
mkdir -p "$NUMBA_CACHE_DIR"
cp -R -n -p "${KERNELS:-/opt/matroid-bandits/kernels}/." "$NUMBA_CACHE_DIR"
exec matroid-bandits "$@"
