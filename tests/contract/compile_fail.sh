#!/bin/sh
# usage: compile_fail.sh <case.cpp> <compiler> <flags...>
# The case must not compile, its first error must match the extended regular expression after "// expect:" in its
# first line, and without its offending part (-DTINYGRAD_FIXED) it must compile.
set -eu
case=$1
shift

expected=$(sed -n '1s|^// expect: ||p' "$case")
if [ -z "$expected" ]; then
  echo "$case: the first line must be '// expect: <regular expression>'"
  exit 1
fi
if output=$("$@" "$case" 2>&1); then
  echo "$case: compiles, but must not"
  exit 1
fi
first=$(printf '%s\n' "$output" | grep -m 1 'error: ' || true)
if ! printf '%s\n' "$first" | grep -Eq "$expected"; then
  printf 'the first error is\n  %s\nbut should match\n  %s\n\n%s\n' "$first" "$expected" "$output"
  exit 1
fi
if ! "$@" -DTINYGRAD_FIXED "$case"; then
  echo "$case: does not compile without its mistake either"
  exit 1
fi
printf '%s\n' "$first"
