# Sourced after processes.sh: what a local run is made of. Every name, flag and setting of our own programs that the scripts
# use is in this file.
set -euo pipefail

CONFIG=${CONFIG:-debug}
BINARIES=${PARLEY_BINARIES:-$PWD/${SCRATCH:-.build}/$CONFIG}
STATE=$LOCAL/state
COPIES=${PARLEY_COPIES:-2}
AUDIENCE=parley-demo.apps.googleusercontent.com
APPLE_AUDIENCE=org.parley.demo
DATABASE=parley
# The cloud project that the sandbox stands in for.
PROJECT=parley-sandbox

# The port of NAME in a port file: `NAME=PORT` lines, or the JSON of a service ("grpc":"127.0.0.1:PORT").
port_of() { # FILE NAME
  if [[ -f $1 ]]; then sed -nE "s/^($2=)?([0-9]+)$/\2/p; s/.*\"$2\":\"[^\"]*:([0-9]+)\".*/\1/p" "$1" | head -n 1; fi
}
# Our processes write their port file last, when they accept connections.
has_port() { [[ -n $(port_of "$1" "$2") ]]; }

database_url() { # ROLE
  printf 'postgresql://%s@/%s?host=%s&port=%s\n' "$1" "$DATABASE" "$PGHOST" "$PGPORT"
}

sandbox_start() {
  mkdir -p "$STATE/sandbox"
  rm -f "$STATE/sandbox.port"
  process_start sandbox "$BINARIES/parley-sandbox" serve --port 0 --port-file "$STATE/sandbox.port" \
    --certificate "$LOCAL/tls/server.pem" --key "$LOCAL/tls/server-key.pem" --state-directory "$STATE/sandbox"
  process_await sandbox 30 listening has_port "$STATE/sandbox.port" tls
  SANDBOX_URL=https://localhost:$(port_of "$STATE/sandbox.port" tls)
}

database_prepare() {
  psql -w -Atqc "select 1 from pg_database where datname = '$DATABASE'" | grep -q 1 || psql -w -qc "create database $DATABASE"
  env PARLEY_AUTH_DATABASE_ADMIN_URL="$(database_url postgres)" PARLEY_AUTH_DATABASE_OWNER_URL="$(database_url parley_auth_owner)" \
    PARLEY_AUTH_DATABASE_URL="$(database_url parley_auth)" "$BINARIES/parley-auth" migrate --bootstrap
  env PARLEY_ONBOARDING_DATABASE_ADMIN_URL="$(database_url postgres)" \
    PARLEY_ONBOARDING_DATABASE_OWNER_URL="$(database_url parley_onboarding_owner)" \
    PARLEY_ONBOARDING_DATABASE_URL="$(database_url parley_onboarding)" "$BINARIES/parley-onboarding" migrate --bootstrap
}

# What private keys are sealed with: made once, the same for all copies.
key_encryption_key() {
  local file=$STATE/key-encryption-key
  [[ -s $file ]] || (umask 077; mkdir -p "$STATE"; openssl rand -base64 32 >"$file.new"; mv "$file.new" "$file")
  printf '%s\n' "$file"
}

# Who may ask an RPC service of auth's.
asking() { # SERVICE
  printf '%s' "$1=spiffe://parley/demo,$1=spiffe://parley/onboarding"
}

# The settings of one copy. Keys and defaults: `parley-auth serve --help` and /etc/parley/auth.env.
auth_environment() { # NAME H2C-PORT TLS-PORT ADMIN-PORT
  printf '%s\n' \
    "PARLEY_AUTH_LISTEN=127.0.0.1:$2" \
    "PARLEY_AUTH_TLS_LISTEN=127.0.0.1:$3" \
    "PARLEY_AUTH_TLS_CERTIFICATE=$LOCAL/tls/server.pem" \
    "PARLEY_AUTH_TLS_KEY=$LOCAL/tls/server-key.pem" \
    "PARLEY_AUTH_TLS_CLIENT_CA=$LOCAL/tls/ca.pem" \
    "PARLEY_AUTH_TLS_CLIENT_CERTIFICATES=optional" \
    "PARLEY_AUTH_TLS_ADMIN_IDENTITIES=spiffe://parley/operator" \
    "PARLEY_AUTH_TLS_CLIENT_IDENTITIES=$(asking SessionDirectoryService),$(asking EntitlementDirectoryService)" \
    "PARLEY_AUTH_ACCOUNT_DATA_SERVICES=onboarding=https://localhost:$(port_of "$STATE/onboarding.port.last" tls)" \
    "PARLEY_AUTH_ACCOUNT_DATA_CLIENT_CERTIFICATE=$LOCAL/tls/auth.pem" \
    "PARLEY_AUTH_ACCOUNT_DATA_CLIENT_KEY=$LOCAL/tls/auth-key.pem" \
    "PARLEY_AUTH_REVENUECAT_URL=$SANDBOX_URL" \
    "PARLEY_AUTH_REVENUECAT_API_KEY=sk_sandbox" \
    "PARLEY_AUTH_ADMIN_LISTEN=127.0.0.1:$4" \
    "PARLEY_AUTH_PORT_FILE=$STATE/$1.port" \
    "PARLEY_AUTH_DATABASE_URL=$(database_url parley_auth)" \
    "PARLEY_AUTH_KEY_ENCRYPTION_KEY_FILE=$(key_encryption_key)" \
    "PARLEY_AUTH_GOOGLE_SA_JSON_FILE=$STATE/sandbox/service-account.json" \
    "PARLEY_AUTH_OIDC_CLIENT_IDS=$AUDIENCE" \
    "PARLEY_AUTH_JWKS_URL=$SANDBOX_URL/oauth2/v3/certs" \
    "PARLEY_AUTH_TOKEN_URI=$SANDBOX_URL/token" \
    "PARLEY_AUTH_APP_SETTINGS={\"default\":{\"apple\":{\"audiences\":[\"$APPLE_AUDIENCE\"]}}}" \
    "PARLEY_AUTH_APPLE_TEAM_ID=PARLEYTEAM" \
    "PARLEY_AUTH_APPLE_KEY_ID=PARLEYKEY1" \
    "PARLEY_AUTH_APPLE_PRIVATE_KEY_FILE=$STATE/sandbox/apple-key.p8" \
    "PARLEY_AUTH_APPLE_JWKS_URL=$SANDBOX_URL/auth/keys" \
    "PARLEY_AUTH_APPLE_TOKEN_URL=$SANDBOX_URL/auth/token" \
    "PARLEY_AUTH_APPLE_REVOKE_URL=$SANDBOX_URL/auth/revoke" \
    "PARLEY_AUTH_CLOUD_IMPERSONATION_URL=$SANDBOX_URL" \
    "PARLEY_AUTH_CAPABILITIES=speech=parley-speech@$PROJECT.iam.gserviceaccount.com,gemini=parley-gemini@$PROJECT.iam.gserviceaccount.com" \
    "PARLEY_AUTH_OUTBOUND_CA_FILE=$LOCAL/tls/ca.pem" \
    "PARLEY_AUTH_TRUSTED_PROXIES=127.0.0.0/8" \
    "PARLEY_AUTH_COPIES=$COPIES"
}

# Starts NAME, at its former ports if it had any: the edge and other services know it by them.
serve_at_former_ports() { # NAME PROGRAM ENVIRONMENT-FUNCTION
  local name=$1 file=$STATE/$1.port h2c tls admin environment
  h2c=$(port_of "$file.last" grpc) tls=$(port_of "$file.last" tls) admin=$(port_of "$file.last" admin)
  rm -f "$file"
  mapfile -t environment < <("$3" "$name" "${h2c:-0}" "${tls:-0}" "${admin:-0}")
  process_start "$name" env "${environment[@]}" "$BINARIES/$2" serve || return 1
  process_await "$name" 30 listening has_port "$file" grpc || return 1
  cp "$file" "$file.last"
}

auth_start() { # NAME
  serve_at_former_ports "$1" parley-auth auth_environment
}
auth_healthy() { # NAME
  curl -sSf -o /dev/null --max-time 2 --http2-prior-knowledge "http://127.0.0.1:$(port_of "$STATE/$1.port" grpc)/healthz"
}

# A second service, which knows who is signed in by the first one's keys and news of ended sessions alone. It ships with nothing: it
# shows what a service of yours sees.
demo_start() {
  rm -f "$STATE/demo.port"
  process_start demo env \
    "PARLEY_DEMO_LISTEN=127.0.0.1:0" \
    "PARLEY_DEMO_TLS_LISTEN=127.0.0.1:0" \
    "PARLEY_DEMO_TLS_CERTIFICATE=$LOCAL/tls/server.pem" \
    "PARLEY_DEMO_TLS_KEY=$LOCAL/tls/server-key.pem" \
    "PARLEY_DEMO_PORT_FILE=$STATE/demo.port" \
    "PARLEY_DEMO_OUTBOUND_CA_FILE=$LOCAL/tls/ca.pem" \
    "PARLEY_DEMO_AUTH_ADDRESS=https://localhost:$(port_of "$STATE/auth-1.port" tls)" \
    "PARLEY_DEMO_AUTH_CLIENT_CERTIFICATE=$LOCAL/tls/demo.pem" \
    "PARLEY_DEMO_AUTH_CLIENT_KEY=$LOCAL/tls/demo-key.pem" \
    "$BINARIES/demo-service" serve
  process_await demo 30 listening has_port "$STATE/demo.port" tls
}

# A port that is given to nobody else for a minute: its last connection lingers on it, and who listens may have it all the same.
reserved_port() {
  "${PYTHON:-python3}" - <<'PYTHON'
import socket

listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", 0))
listener.listen(1)
client = socket.create_connection(listener.getsockname())
accepted, _ = listener.accept()
# Whoever closes first has the connection's last state, and here that is the side of the port.
accepted.close()
client.close()
print(listener.getsockname()[1])
PYTHON
}

# Auth asks onboarding what it keeps of people, and onboarding asks auth who is signed in: one of them has to be known before it is
# there. From now on onboarding has this port, as each copy of auth has its own.
onboarding_announce() {
  printf 'tls=%s\n' "$(reserved_port)" >"$STATE/onboarding.port.last"
}

# What an edge sends to onboarding: all that others may call there. deploy/README.md has the same for other proxies.
ONBOARDING_PATHS=/onboarding/:/transcribe/:/voice/:/api/settings/voice-reclone:/api/identity/voice-clips/:/api/health:/health:/test
ONBOARDING_PATHS+=:/parley.onboarding.v1.OnboardingService/:/parley.onboarding.v1.IdentityService/:/parley.onboarding.v1.VoiceService/

# Onboarding, with OpenAI and ElevenLabs as the sandbox has them. Where auth-1 goes, it has nobody to ask: it is one of two.
onboarding_environment() { # NAME H2C-PORT TLS-PORT ADMIN-PORT
  printf '%s\n' \
    "PARLEY_ONBOARDING_LISTEN=127.0.0.1:$2" \
    "PARLEY_ONBOARDING_TLS_LISTEN=127.0.0.1:$3" \
    "PARLEY_ONBOARDING_TLS_CERTIFICATE=$LOCAL/tls/server.pem" \
    "PARLEY_ONBOARDING_TLS_KEY=$LOCAL/tls/server-key.pem" \
    "PARLEY_ONBOARDING_TLS_CLIENT_CA=$LOCAL/tls/ca.pem" \
    "PARLEY_ONBOARDING_TLS_CLIENT_CERTIFICATES=optional" \
    "PARLEY_ONBOARDING_TLS_ADMIN_IDENTITIES=spiffe://parley/operator" \
    "PARLEY_ONBOARDING_TLS_CLIENT_IDENTITIES=AccountDataService=spiffe://parley/auth" \
    "PARLEY_ONBOARDING_ADMIN_LISTEN=127.0.0.1:$4" \
    "PARLEY_ONBOARDING_PORT_FILE=$STATE/$1.port" \
    "PARLEY_ONBOARDING_DATABASE_URL=$(database_url parley_onboarding)" \
    "PARLEY_ONBOARDING_AUTH_ADDRESS=https://localhost:$(port_of "$STATE/auth-1.port" tls)" \
    "PARLEY_ONBOARDING_AUTH_CLIENT_CERTIFICATE=$LOCAL/tls/onboarding.pem" \
    "PARLEY_ONBOARDING_AUTH_CLIENT_KEY=$LOCAL/tls/onboarding-key.pem" \
    "PARLEY_ONBOARDING_OUTBOUND_CA_FILE=$LOCAL/tls/ca.pem" \
    "PARLEY_ONBOARDING_OPENAI_BASE_URL=$SANDBOX_URL/openai/v1" \
    "PARLEY_ONBOARDING_OPENAI_API_KEY=sk-sandbox" \
    "PARLEY_ONBOARDING_OPENAI_IDEMPOTENCY_HEADER=Idempotency-Key" \
    "PARLEY_ONBOARDING_ELEVENLABS_BASE_URL=$SANDBOX_URL/elevenlabs" \
    "PARLEY_ONBOARDING_ELEVENLABS_API_KEY=xi-sandbox" \
    "PARLEY_ONBOARDING_TRUSTED_PROXIES=127.0.0.0/8" \
    "PARLEY_ONBOARDING_BLOBS_DIRECTORY=$STATE/recordings" \
    "PARLEY_ONBOARDING_JOBS_POLL=200ms"
}
onboarding_start() {
  mkdir -p "$STATE/recordings"
  serve_at_former_ports onboarding parley-onboarding onboarding_environment
}

# How the walkthrough and other callers reach what runs.
addresses() {
  local http https copy
  http=$(port_of "$LOCAL/edge/ports" http) https=$(port_of "$LOCAL/edge/ports" https)
  printf '%s=%q\n' \
    PARLEY_EDGE_HTTP "http://127.0.0.1:$http" \
    PARLEY_EDGE_HTTPS "https://localhost:$https" \
    PARLEY_CA_FILE "$LOCAL/tls/ca.pem" \
    PARLEY_OPERATOR_CERTIFICATE "$LOCAL/tls/operator.pem" \
    PARLEY_OPERATOR_KEY "$LOCAL/tls/operator-key.pem" \
    PARLEY_SANDBOX "$SANDBOX_URL" \
    PARLEY_DEMO_TLS "https://localhost:$(port_of "$STATE/demo.port" tls)" \
    PARLEY_ONBOARDING_1_TLS "localhost:$(port_of "$STATE/onboarding.port" tls)" \
    PARLEY_ONBOARDING_1_H2C "127.0.0.1:$(port_of "$STATE/onboarding.port" grpc)" \
    PARLEY_ONBOARDING_1_ADMIN "http://127.0.0.1:$(port_of "$STATE/onboarding.port" admin)" \
    PARLEY_ONBOARDING_RECORDINGS "$STATE/recordings" \
    PARLEY_AUDIENCE "$AUDIENCE" \
    PARLEY_DATABASE_URL "$(database_url postgres)" \
    PARLEY_LOGS "$LOCAL/logs"
  for ((copy = 1; copy <= COPIES; copy++)); do
    printf '%s=%q\n' \
      "PARLEY_AUTH_${copy}_H2C" "127.0.0.1:$(port_of "$STATE/auth-$copy.port" grpc)" \
      "PARLEY_AUTH_${copy}_TLS" "localhost:$(port_of "$STATE/auth-$copy.port" tls)" \
      "PARLEY_AUTH_${copy}_ADMIN" "http://127.0.0.1:$(port_of "$STATE/auth-$copy.port" admin)"
  done
}

how_to_call() {
  # shellcheck disable=SC1091
  . "$LOCAL/run.env"
  cat <<TEXT

Parley is up. The addresses below are in .local/run.env; \`. .local/run.env\` sets them in a shell.

  an ID token    export TOKEN=\$($BINARIES/parley id-token --subject ana)
  HTTP/1.1       curl --http1.1 -H "Authorization: Bearer \$TOKEN" $PARLEY_EDGE_HTTP/token
  HTTP/2, TLS    curl --cacert $PARLEY_CA_FILE -H "Authorization: Bearer \$TOKEN" $PARLEY_EDGE_HTTPS/token
  command line   $BINARIES/parley whoami --bearer "\$TOKEN"
  gRPC, h2c      $PARLEY_AUTH_1_H2C   parley.broker.v1.TokenBrokerService/ExchangeToken
  gRPC, TLS      $PARLEY_AUTH_1_TLS   (root certificate: $PARLEY_CA_FILE)
  an operator    $BINARIES/parley admin user list; $BINARIES/parley audit --follow
                 (certificate: $PARLEY_OPERATOR_CERTIFICATE)
  a second one   $PARLEY_DEMO_TLS   parley.testing.v1.EchoService/Guarded takes the sessions of the first
  onboarding     $PARLEY_ONBOARDING_1_TLS   parley.onboarding.v1.OnboardingService/ListSteps; $BINARIES/parley onboarding --help
  metrics        curl $PARLEY_AUTH_1_ADMIN/metrics; curl $PARLEY_ONBOARDING_1_ADMIN/metrics
  database       psql '$PARLEY_DATABASE_URL'
  logs           $LOCAL/logs

TEXT
}
