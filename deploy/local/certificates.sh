#!/usr/bin/env bash
# certificates.sh DIRECTORY: a certificate authority of this machine alone, and a server certificate for localhost by it.
# Both are kept while they are good for another day.
#   ca.pem            give this to clients (curl --cacert, grpcio root_certificates)
#   server.pem        the server's chain        server-key.pem   its key
set -euo pipefail
directory=$1
good() { openssl x509 -in "$1" -noout -checkend 86400 >/dev/null 2>&1; }
if good "$directory/ca.pem" && good "$directory/server.pem" && [[ -s $directory/server-key.pem ]] \
  && openssl verify -CAfile "$directory/ca.pem" "$directory/server.pem" >/dev/null 2>&1; then
  exit 0
fi
echo "certificates: making a local authority and a certificate for localhost in $directory"
umask 077
new=$directory.new
rm -rf "$new"
mkdir -p "$new"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 -days 90 -subj '/CN=Parley local authority' \
  -addext 'basicConstraints=critical,CA:TRUE,pathlen:0' -addext 'keyUsage=critical,keyCertSign,cRLSign' \
  -keyout "$new/ca-key.pem" -out "$new/ca.pem" 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=localhost' \
  -keyout "$new/server-key.pem" -out "$new/server.csr" 2>/dev/null
openssl x509 -req -in "$new/server.csr" -CA "$new/ca.pem" -CAkey "$new/ca-key.pem" -CAcreateserial -days 60 -sha256 \
  -out "$new/server.pem" 2>/dev/null -extfile <(printf '%s\n' \
    'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1' 'basicConstraints=critical,CA:FALSE' \
    'keyUsage=critical,digitalSignature' 'extendedKeyUsage=serverAuth' 'authorityKeyIdentifier=keyid' 'subjectKeyIdentifier=hash')
rm -f "$new/server.csr" "$new/ca.srl"
chmod 644 "$new/ca.pem" "$new/server.pem"
# The old pair goes and the new comes as a whole, so that a crash in between leaves nothing half made.
rm -rf "$directory"
mv "$new" "$directory"
