#!/bin/sh
# usage: symbols.sh <nm> <object files...>
# No function of the library may be defined under one name in two objects: the linker would keep one of them, perhaps
# the one whose instructions the machine lacks. Exception classes are shared on purpose.
set -eu
nm=$1
shift

shared=$(for object in "$@"; do
  "$nm" -C --defined-only "$object" | grep ' [WVTu] ' | cut -c 20- | grep 'tinygrad::' | sort -u
done | sort | uniq -d | grep -Ev 'tinygrad::([a-z]*_)?error' || true)
if [ -n "$shared" ]; then
  printf 'defined in more than one unit:\n%s\n' "$shared"
  exit 1
fi
count=$(for object in "$@"; do "$nm" -C --defined-only "$object"; done | grep -c 'tinygrad::')
echo "$count symbols of the library, none shared"
[ "$count" -gt 100 ]
