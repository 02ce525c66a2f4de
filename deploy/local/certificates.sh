#!/usr/bin/env bash
# certificates.sh DIRECTORY: a certificate authority of this machine alone, and certificates by it for localhost, for an
# operator and for each service as a client of others. They are kept while they are good for another day.
#   ca.pem            give this to clients (curl --cacert, grpcio root_certificates)
#   server.pem        the server's chain        server-key.pem     its key
#   operator.pem      who may call methods of ADMIN access, known as spiffe://parley/operator        operator-key.pem   its key
#   NAME.pem          a service, known as spiffe://parley/NAME to methods of SERVICE access          NAME-key.pem       its key
set -euo pipefail
directory=$1
mapfile -t services < <(sed -nE 's/^([a-z]+) .*/\1/p' "$(dirname "$0")/../services")
clients=(operator demo "${services[@]}")
good() { openssl x509 -in "$1" -noout -checkend 86400 >/dev/null 2>&1; }
complete() {
  local name
  good "$directory/ca.pem" || return 1
  for name in server "${clients[@]}"; do
    good "$directory/$name.pem" && [[ -s $directory/$name-key.pem ]] || return 1
  done
  openssl verify -CAfile "$directory/ca.pem" "$directory/server.pem" $(printf "$directory/%s.pem " "${clients[@]}") >/dev/null 2>&1
}
if complete; then exit 0; fi
echo "certificates: making a local authority and certificates for localhost, an operator and each service in $directory"
umask 077
new=$directory.new
rm -rf "$new"
mkdir -p "$new"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 -days 90 -subj '/CN=Parley local authority' \
  -addext 'basicConstraints=critical,CA:TRUE,pathlen:0' -addext 'keyUsage=critical,keyCertSign,cRLSign' \
  -keyout "$new/ca-key.pem" -out "$new/ca.pem" 2>/dev/null
sign() { # NAME COMMON-NAME ALTERNATIVE-NAMES USAGE
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$2" \
    -keyout "$new/$1-key.pem" -out "$new/$1.csr" 2>/dev/null
  openssl x509 -req -in "$new/$1.csr" -CA "$new/ca.pem" -CAkey "$new/ca-key.pem" -CAcreateserial -days 60 -sha256 \
    -out "$new/$1.pem" 2>/dev/null -extfile <(printf '%s\n' \
      "subjectAltName=$3" 'basicConstraints=critical,CA:FALSE' 'keyUsage=critical,digitalSignature' "extendedKeyUsage=$4" \
      'authorityKeyIdentifier=keyid' 'subjectKeyIdentifier=hash')
  rm -f "$new/$1.csr"
}
sign server localhost 'DNS:localhost,IP:127.0.0.1,IP:::1' serverAuth
for name in "${clients[@]}"; do sign "$name" "$name" "URI:spiffe://parley/$name" clientAuth; done
rm -f "$new/ca.srl"
chmod 644 "$new"/*.pem
chmod 600 "$new"/*-key.pem
# The old pair goes and the new comes as a whole, so that a crash in between leaves nothing half made.
rm -rf "$directory"
mv "$new" "$directory"
