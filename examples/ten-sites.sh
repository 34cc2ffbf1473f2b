#!/usr/bin/env bash
# Creates site1.DOMAIN to site10.DOMAIN where they are missing: NCP_URL=https://localhost:3443 NCP_KEY=ncp_… ./ten-sites.sh DOMAIN
set -euo pipefail
shopt -s inherit_errexit
: "${NCP_URL:?the address of the panel}" "${NCP_KEY:?an API key}" "${1:?a domain}"
headers=$(mktemp)
trap 'rm -f "$headers"' EXIT

# call METHOD PATH [BODY] prints `data`. After a 429 it waits as long as the panel asks; any other error ends the script with its message.
call() {
  local answer
  while true; do
    # The key goes through standard input: arguments are visible to every user of this machine.
    answer=$(curl -sS -X "$1" -H @- -D "$headers" ${3:+-H 'Content-Type: application/json' -d "$3"} "$NCP_URL/api/v1$2" <<<"Authorization: Bearer $NCP_KEY")
    [[ $(jq -r .error <<<"$answer") == 'rate limit exceeded' ]] || break
    sleep "$(sed -n 's/^retry-after: *\([0-9]*\).*/\1/Ip' "$headers")"
  done
  jq 'if .error then "\(.error): \(.message)\n" | halt_error(1) else .data end' <<<"$answer"
}

present=$(call GET "/sites?limit=1000&domain=.$1" | jq -r '.[].domain')
for site in site{1..10}."$1"; do
  grep -qxF "$site" <<<"$present" || call POST /sites "$(jq -n --arg domain "$site" '{$domain}')" | jq -r '"\(.domain) created"'
done
