#!/usr/bin/env bash
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: scripts/update-docs.sh [--check]
#
# Writes docs/reference/ from the TableGen descriptions of the dialect and the
# passes. With --check it writes nothing and fails if a file there is stale.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

mlir=/usr/lib/llvm-22
check=
case "${1-}" in
--check) check=1 ;;
'') ;;
*) die "unknown argument '$1'; usage: scripts/update-docs.sh [--check]" ;;
esac

target=docs/reference
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
tblgen() { "$mlir/bin/mlir-tblgen" -I "$mlir/include" -I . "$@"; }

tblgen -gen-dialect-doc -dialect=cs ir/CsOps.td >"$new/dialect.md"
tblgen -gen-op-doc ir/CsProblemOps.td >"$new/problems.md"
sed -i '1a\\n# Scheduling problems' "$new/problems.md"
tblgen -gen-op-doc ir/CsSparseOps.td >"$new/sparse.md"
sed -i '1a\\n# Selections' "$new/sparse.md"
tblgen -gen-op-interface-docs ir/CsInterfaces.td >"$new/interfaces.md"
for td in passes/*/Passes.td; do
  [ -e "$td" ] || continue
  tblgen -gen-pass-doc "$td" >"$new/passes-$(basename "$(dirname "$td")").md"
done
# One title a file, and no blanks at line ends.
for file in "$new"/passes-*.md; do
  [ -e "$file" ] || continue
  name=$(basename "$file" .md)
  sed -i "1a\\\\n# Passes: ${name#passes-}" "$file"
done
sed -i -e 's/[ \t]*$//' "$new"/*.md

if [ -n "$check" ]; then
  if ! diff -ru "$target" "$new" >&2; then
    die "$target is stale; run scripts/update-docs.sh"
  fi
  exit 0
fi
rm -rf "$target"
mkdir -p "$target"
cp "$new"/*.md "$target/"
