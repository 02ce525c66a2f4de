# Sourced. as_caller COMMAND...: as whoever called sudo, in that person's login environment: a toolchain is often on their PATH alone, and
# what they build must stay theirs. Without sudo it is as it is.
set -euo pipefail
as_caller() {
  local name variables=()
  if [[ $EUID != 0 || -z ${SUDO_USER:-} || $SUDO_USER == root ]]; then
    "$@"
    return
  fi
  for name in SWIFT PARLEY_PREBUILT; do
    if [[ -n ${!name:-} ]]; then variables+=("$name=${!name}"); fi
  done
  runuser -l "$SUDO_USER" -c "cd $(printf '%q' "$PWD") && env $(printf '%q ' "${variables[@]}" "$@")"
}
