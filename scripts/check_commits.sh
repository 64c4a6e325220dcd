#!/usr/bin/env bash
# Subjects of commits have at most 72 characters. The newest 50 commits are checked, without merges. Commits from before this rule
# are not checked. A tree that is not a clone has no commits to check.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8
limit=72
rule_since=2026-11-30T22:00:00Z

if [ ! -e .git ] || ! git rev-parse --verify --quiet HEAD >/dev/null; then
    echo "Skipped: this tree is not a clone of the repository"
    exit 0
fi
failures=0
while read -r commit subject; do
    if [ ${#subject} -gt $limit ]; then
        echo "error: commit $commit: expected a subject of at most $limit characters, it has ${#subject}: $subject" >&2
        failures=$((failures + 1))
    fi
done < <(git log --no-merges --max-count=50 --since=$rule_since --format='%h %s')
exit $((failures > 0))
