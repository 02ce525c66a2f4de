#!/usr/bin/env bash
# check.sh: judges the alert rules, proves them on series of their own, and judges the scrape example and the dashboard.
# Whether a running service exports what they name is judged by Tests/Clients/test_monitoring.py.
set -euo pipefail
cd "$(dirname "$0")"

command -v promtool >/dev/null || { echo "monitoring: promtool is missing: apt-get install prometheus" >&2; exit 69; }
promtool check rules alerts.yml >/dev/null
promtool check config --lint=all --lint-fatal prometheus.yml >/dev/null
promtool test rules alerts-test.yml >/dev/null
alerts=$(grep -c '^ *- alert:' alerts.yml)
# A rule that no test makes fire is a rule that nobody has seen.
while read -r alert; do
  grep -A 3 "alertname: $alert\$" alerts-test.yml | grep -q exp_alerts || { echo "monitoring: no test makes $alert fire" >&2; exit 1; }
done < <(sed -nE 's/^ *- alert: *(\w+)$/\1/p' alerts.yml)
python3 - <<'PYTHON'
import json
dashboard = json.load(open("dashboard.json"))
panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
assert panels and all(panel["targets"] and panel["title"] and panel["description"] for panel in panels)
ids = [panel["id"] for panel in dashboard["panels"]]
assert len(ids) == len(set(ids)), "two panels have one id"
PYTHON
echo "monitoring: $alerts alerts, each seen to fire; rules, scrape example and dashboard are valid"
