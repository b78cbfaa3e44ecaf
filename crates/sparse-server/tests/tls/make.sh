#!/bin/sh
# Makes the certificates of the tests anew, valid for a hundred years: an authority, a server, a client, and a client of
# another authority. Their keys protect nothing.
set -e
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -subj "/CN=$1" \
        -keyout "$1.key" -out "$1.pem"
}
signed() { # NAME AUTHORITY EXTENSION...
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr"
    printf '%s\n' "basicConstraints=CA:FALSE" "$3" "$4" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -days 36500 -extfile "$1.ext" -out "$1.pem"
    rm "$1.csr" "$1.ext"
}
authority authority
authority stranger-authority
signed server authority "subjectAltName=IP:127.0.0.1" "extendedKeyUsage=serverAuth"
signed client authority "extendedKeyUsage=clientAuth"
signed stranger stranger-authority "extendedKeyUsage=clientAuth"
rm authority.key stranger-authority.key stranger-authority.pem ./*.srl 2>/dev/null || true
