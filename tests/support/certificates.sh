#!/usr/bin/env bash
# Makes the certificates that tests speak TLS with: certificates.sh FOLDER. All of them with keys on P-256, valid for two days.
set -euo pipefail
mkdir -p "$1"
cd "$1"

quietly() { "$@" >log 2>&1 || { cat log >&2; exit 1; }; }
new_key() { quietly openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"; }

authority() {  # authority NAME USAGES
  new_key "$1"
  quietly openssl req -x509 -new -key "$1.key" -days 2 -subj "/CN=$1 of the tests" -out "$1.pem" \
    -addext basicConstraints=critical,CA:TRUE -addext "keyUsage=critical,$2"
}

issue() {  # issue NAME CN AUTHORITY EXTENSIONS [DAYS]
  [[ -e $1.key ]] || new_key "$1"
  quietly openssl req -new -key "$1.key" -subj "/CN=$2" -out request.pem
  printf '%b\n' "$4" >extensions
  quietly openssl x509 -req -in request.pem -CA "$3.pem" -CAkey "$3.key" -CAcreateserial -days "${5:-2}" \
    -extfile extensions -out "$1.pem"
}

# Valid on a day long past; `openssl x509` takes no such dates before 3.4, and no negative -days from then on.
issue_in_the_past() {  # issue_in_the_past NAME CN AUTHORITY EXTENSIONS
  new_key "$1"
  quietly openssl req -new -key "$1.key" -subj "/CN=$2" -out request.pem
  printf '%b\n' "$4" >extensions
  mkdir past
  : >past/index
  printf '%s\n' '[ca]' 'default_ca=past' '[past]' 'database=past/index' 'new_certs_dir=past' 'serial=past/serial' 'policy=any' 'default_md=sha256' \
    '[any]' 'commonName=supplied' >past/config
  quietly openssl ca -batch -notext -rand_serial -config past/config -cert "$3.pem" -keyfile "$3.key" -extfile extensions \
    -startdate 20200101000000Z -enddate 20200102000000Z -in request.pem -out "$1.pem"
  rm -r past
}

authority ca keyCertSign,cRLSign
authority other_ca keyCertSign  # which signs no CRLs
issue server "the server" ca "subjectAltName=DNS:localhost,DNS:movies.example,IP:127.0.0.1,IP:::1\nextendedKeyUsage=serverAuth"
issue other_server "the other server" ca "subjectAltName=DNS:other.example,DNS:*.wild.example"
issue address_as_name "the server" ca "subjectAltName=DNS:127.0.0.1"
issue nameless localhost ca "extendedKeyUsage=serverAuth"
issue_in_the_past expired "the old server" ca "subjectAltName=DNS:localhost,IP:127.0.0.1"
issue untrusted "a server" other_ca "subjectAltName=DNS:localhost,IP:127.0.0.1"
issue client ada ca "subjectAltName=DNS:ada.example,URI:spiffe://example/ada,email:ada@example\nextendedKeyUsage=clientAuth"
# Servers of SPIFFE trust domains, the last one with an id too many.
issue web "the web server" ca "subjectAltName=URI:spiffe://example/web"
issue two_ids "a server" ca "subjectAltName=URI:spiffe://example/web,URI:spiffe://example/mail"
# A URI with a line break in it, and more names than anybody reads. In DER, where a GeneralNames of n (a URI of 25 bytes and
# 60 times one of 16) has a length of two bytes.
talk() {
  local uri a
  uri=$(printf 'https://a\r\nERROR: forged' | od -An -v -tx1 | tr -d ' \n')
  a=$(printf 'https://b.example' | od -An -v -tx1 | tr -d ' \n')
  local names
  names=$(printf '86%02x%s' $((${#uri} / 2)) "$uri")
  for _ in {1..60}; do names+=$(printf '86%02x%s' $((${#a} / 2)) "$a"); done
  printf '3082%04x%s' $((${#names} / 2)) "$names"
}
issue talkative "a talker" ca "subjectAltName=DER:$(talk)"
issue brief_client bert ca "extendedKeyUsage=clientAuth" 1
issue wrong_client mallory other_ca "extendedKeyUsage=clientAuth"

# A chain with an intermediate.
issue middle "the middle" ca "basicConstraints=critical,CA:TRUE"
issue below "below the middle" middle "subjectAltName=DNS:localhost,IP:127.0.0.1"
cat below.pem middle.pem >chain.pem
cp below.key chain.key
issue web_below "a web server below the middle" middle "subjectAltName=URI:spiffe://example/web"

# Keys in other forms.
quietly openssl pkey -in server.key -aes256 -passout pass:sesame -out protected.key
quietly openssl ec -in server.key -out old_form.key
quietly openssl pkcs8 -topk8 -nocrypt -in server.key -out pkcs8.key

# As the movie tutorial makes them: CA and server of the same name, no subjectAltName, X.509 v1.
quietly openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out recipe_ca.key
quietly openssl req -x509 -new -key recipe_ca.key -days 2 -subj /CN=localhost -out recipe_ca.pem
quietly openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out recipe.key
quietly openssl req -new -key recipe.key -subj /CN=localhost -out request.pem
quietly openssl x509 -req -in request.pem -CA recipe_ca.pem -CAkey recipe_ca.key -set_serial 01 -days 2 -out recipe.pem
rm -f log request.pem extensions ./*.srl
