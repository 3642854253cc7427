#!/bin/sh
# usage: headers_alone.sh <file of header names> <compiler> <flags...>
# Compiles each header in a translation unit of its own, twice included, two at a time.
set -eu
list=$1
shift
export COMMAND="$*"

check='
  if ! printf "#include <%s>\n#include <%s>\n" "$0" "$0" | $COMMAND -x c++ - ; then
    echo "FAILED ALONE: $0"
    exit 1
  fi'
xargs -P 2 -n 1 sh -c "$check" < "$list"
echo "$(wc -l < "$list") headers compile alone"
