#!/usr/bin/env bash
# Deploys a directory with curl and jq alone: deploy.sh DIRECTORY SITE_ID
# The key is read by curl from its standard input, so that no list of processes shows it.
set -euo pipefail
directory=$1 site=$2
: "${NCP_URL:?}" "${NCP_KEY:?}"

api() {
  printf 'header = "Authorization: Bearer %s"\n' "$NCP_KEY" |
    curl --silent --show-error --fail-with-body --config - "$@"
}

archive=$(mktemp)
trap 'rm -f "$archive"' EXIT
tar --create --gzip --file "$archive" --exclude-vcs --exclude='.env*' --directory "$directory" .

# The same key for each attempt: the archive is deployed once, even when an answer is lost.
deployment=$(api --retry 3 --header "Idempotency-Key: ${CI_JOB_ID:-$(date +%s%N)}" \
  --data-binary "@$archive" "$NCP_URL/api/v1/sites/$site/deployments" | jq .data.id)

for _ in {1..30}; do
  answer=$(api "$NCP_URL/api/v1/sites/$site/deployments/$deployment?wait=observed")
  case $(jq -r .data.status <<< "$answer") in
    active) exec jq -r '.data | "deployment \(.number) is served"' <<< "$answer" ;;
    failed) jq -r .data.failure.message <<< "$answer" >&2; exit 1 ;;
  esac
done
echo "deployment $deployment is not served yet" >&2
exit 1
