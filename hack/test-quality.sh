#!/usr/bin/env bash
# Compares the quality of searches, rerankers, embeddings and graph walks with the floors that their
# tests name, on the large labelled sets in the folder RAGD_TEST_DATASETS. The small ones in the
# repository are a part of every run of the tests (TestSampleQuality). In CI missing sets are an
# error, unless RAGD_TEST_WITHOUT_DATASETS is set. Ends with 77 without sets.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${RAGD_TEST_DATASETS:-}" ]; then
	echo "RAGD_TEST_DATASETS does not name the folder of the labelled sets" >&2
	[ -z "${CI:-}" ] || [ -n "${RAGD_TEST_WITHOUT_DATASETS:-}" ] || exit 1
	exit 77
fi
go test -count=1 -timeout 30m -run '^Test(Lexical|Builtin)?Quality(OnLabelledSets|OnAManual)?$' ./internal/{model/embed,graph,query,rerank}
