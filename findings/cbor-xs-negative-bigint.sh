#!/usr/bin/env bash
# CBOR::XS of Perl writes a negative Math::BigInt with one more digit in front.
#
# A whole number too large for a basic integer is a tag, 2 or 3, with the bytes of its magnitude. Expected: a Math::BigInt
# comes back from CBOR::XS as it was, at least to itself. Seen, with CBOR::XS 1.86: every one below -2 ** 31, where basic
# integers would still do, comes back further from zero, by the next power of 16: -3000000000 as -7294967296. It takes two
# characters from the text "-0xb2d05e00", which has three before its digits, and pack "H*" takes the "x" for a digit, 1.
# Numbers above zero are right, so a test of 2 ** 64 alone passes. It also reads what others write one too close to zero:
# the bytes 1 and eight zeros with tag 3 are -2 ** 64 - 1, and cbor2 6.3.0 says so. A program that stores such numbers for
# readers in other languages had better write them as texts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target cbor2 cbor2==6.3.0
apt=(apt-get -qq -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root)
mkdir -p lists/partial cache/archives/partial
"${apt[@]}" update
"${apt[@]}" download libcbor-xs-perl=1.86-1+b2 libcommon-sense-perl=3.75-3 libtypes-serialiser-perl=1.01-1
for package in *.deb; do dpkg -x "$package" .; done
modules=$(printf %s: usr/lib/*/perl5/* usr/share/perl5)

written_and_read() {
  PERL5LIB=$modules perl -MCBOR::XS -MMath::BigInt -e '
    for (@ARGV) {
      my $bytes = encode_cbor(Math::BigInt->new($_));
      print unpack("H*", $bytes), " ", decode_cbor($bytes), "\n";
    }
  ' -- "$@"
}
read_by_perl() { PERL5LIB=$modules perl -MCBOR::XS -e 'print decode_cbor(pack "H*", shift), "\n"' "$1"; }
read_by_cbor2() { PYTHONPATH=cbor2 python3 -c 'import cbor2, sys; print(cbor2.loads(bytes.fromhex(sys.argv[1])))' "$1"; }
expect() {
  [ "$1" = "$2" ] && return
  printf 'expected: %s\nseen: %s\n' "$1" "$2" >&2
  exit 1
}

numbers=(3000000000 18446744073709551617 -2147483648 -2147483649 -3000000000 -18446744073709551617)
expect 'c244b2d05e00 3000000000
c249010000000000000001 18446744073709551617
3a7fffffff -2147483648
c3450180000001 -6442450945
c34501b2d05e00 -7294967296
c349110000000000000001 -313594649253062377473' "$(written_and_read "${numbers[@]}")"
expect -7294967297 "$(read_by_cbor2 c34501b2d05e00)"
expect -18446744073709551617 "$(read_by_cbor2 c349010000000000000000)"
expect -18446744073709551616 "$(read_by_perl c349010000000000000000)"
echo 'ok: CBOR::XS 1.86 writes the Math::BigInt -3000000000 so that it reads -7294967296, and cbor2 6.3.0 -7294967297'
