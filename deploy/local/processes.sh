# Sourced by the scripts that start things: every process is recorded, and stopped by what was recorded.
#
#   process_start NAME COMMAND...       in the background, in a session of its own; output in $LOCAL/logs/NAME.log
#   process_alive NAME                  is the recorded process still that process?
#   process_await NAME SECONDS WHAT COMMAND...   until COMMAND succeeds; fails at the deadline or when NAME dies
#   process_stop NAME [SECONDS]         its signal (SIGTERM), wait, SIGKILL
#   process_stop_all                    everything recorded, newest first
#
# A record is "PID START-TICKS BOOT-ID SIGNAL" in $LOCAL/pids/NAME.pid: an id that was reused after a crash or a reboot is never
# signalled. SIGNAL is how this process is asked to stop.
set -euo pipefail

LOCAL=${PARLEY_LOCAL:-$PWD/.local}
mkdir -p "$LOCAL/pids" "$LOCAL/logs"

say() { printf '%s\n' "$*"; }

# "START-TICKS STATE" of a process, nothing when there is none. The name field may hold spaces and parentheses, hence the cut.
process_facts() {
  local stat
  { stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
  set -- ${stat##*) }
  printf '%s %s\n' "${20}" "$1"
}

process_record() { # NAME PID [SIGNAL]
  local facts
  facts=$(process_facts "$2") || return 1
  printf '%s %s %s %s\n' "$2" "${facts% *}" "$(</proc/sys/kernel/random/boot_id)" "${3:-TERM}" >"$LOCAL/pids/$1.pid.new"
  mv "$LOCAL/pids/$1.pid.new" "$LOCAL/pids/$1.pid"
}

# The id recorded under NAME if that very process still runs.
process_id() {
  local pid start boot facts
  [[ -f $LOCAL/pids/$1.pid ]] || return 1
  read -r pid start boot _ <"$LOCAL/pids/$1.pid" || return 1
  [[ $boot == "$(</proc/sys/kernel/random/boot_id)" ]] || return 1
  facts=$(process_facts "$pid") || return 1
  [[ $facts == "$start "[!ZX] ]] || return 1
  printf '%s\n' "$pid"
}
process_alive() { process_id "$1" >/dev/null; }

process_start() { # NAME COMMAND...
  local name=$1
  shift
  process_stop "$name"
  # setsid: Ctrl-C reaches only the script, which then stops everything in order. High descriptors (locks) stay here.
  # bash executes the command in place, so $! is the id of the command itself.
  ( exec 7>&- 8>&- 9>&-; exec setsid "$@" ) </dev/null >"$LOCAL/logs/$name.log" 2>&1 &
  local pid=$!
  disown "$pid"
  process_record "$name" "$pid" || { say "$name: ended at once"; tail -n 20 "$LOCAL/logs/$name.log" >&2; return 1; }
}

process_await() { # NAME SECONDS WHAT COMMAND...
  local name=$1 limit=$2 what=$3 began=$SECONDS told=$SECONDS
  shift 3
  until "$@" >/dev/null 2>&1; do
    if ! process_alive "$name"; then
      say "$name: ended before it was $what; the last lines of $LOCAL/logs/$name.log:" >&2
      tail -n 20 "$LOCAL/logs/$name.log" >&2
      return 1
    fi
    if ((SECONDS - began >= limit)); then
      say "$name: not $what after $limit s; the last lines of $LOCAL/logs/$name.log:" >&2
      tail -n 20 "$LOCAL/logs/$name.log" >&2
      return 1
    fi
    if ((SECONDS - told >= 2)); then
      say "  waiting for $name to be $what ($((SECONDS - began)) of at most $limit s)"
      told=$SECONDS
    fi
    sleep 0.05
  done
}

process_stop() { # NAME [SECONDS]
  local name=$1 limit=${2:-15} pid began=$SECONDS
  if pid=$(process_id "$name"); then
    kill -s "$(cut -d' ' -f4 "$LOCAL/pids/$name.pid")" "$pid" 2>/dev/null || true
    while process_alive "$name"; do
      if ((SECONDS - began >= limit)); then
        say "$name: still running $limit s after it was asked to stop; killing it" >&2
        kill -KILL "$pid" 2>/dev/null || true
        limit=$((limit + 15))
      fi
      sleep 0.05
    done
  fi
  rm -f "$LOCAL/pids/$name.pid"
}

process_stop_all() {
  local file
  while IFS= read -r file; do
    process_stop "$(basename "$file" .pid)"
  done < <(find "$LOCAL/pids" -maxdepth 1 -name '*.pid' -printf '%T@ %p\n' | sort -rn | cut -d' ' -f2-)
}
