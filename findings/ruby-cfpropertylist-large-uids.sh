#!/usr/bin/env bash
# CFPropertyList of Ruby reads references to object 65536 of a keyed archive, and to later ones, as other numbers.
#
# In a keyed archive, an object refers to another by its number, a UID, which takes one, two or four bytes in a binary
# property list. Expected: the numbers that were written, or an error. Seen, with ruby-cfpropertylist 2.2.8: 65535 comes
# back as it was, 65536 and all above as numbers beyond 2 ** 32, without an error. The marker before a UID has the count
# of its bytes less one; CFPropertyList takes it for a power of two, as the marker of an integer is, and reads the four
# bytes behind a large UID as its lower half. Both ways of counting agree for one and two bytes, so a test with an
# archive of fewer objects passes. CFPropertyList gives UIDs as integers, so the program that follows them is the one
# that fails.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt=(apt-get -qq -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root)
mkdir -p lists/partial cache/archives/partial
"${apt[@]}" update
# Any Ruby will do; these are Debian's newest.
"${apt[@]}" download ruby-cfpropertylist=2.2.8-1.2 ruby3.1 libruby3.1 libyaml-0-2 libgmp10 libffi8
for package in *.deb; do dpkg -x "$package" .; done

python3 - <<'PYTHON'
import plistlib
from plistlib import UID

count = 66000
references = [UID(number) for number in range(3, 3 + count)]
archive = {
    "$archiver": "NSKeyedArchiver",
    "$version": 100000,
    "$top": {"root": UID(1)},
    "$objects": [
        "$null",
        {"NS.objects": references, "$class": UID(2)},
        {"$classname": "NSArray", "$classes": ["NSArray", "NSObject"]},
        *[f"text {number}" for number in range(count)],
    ],
}
with open("archive", "wb") as file:
    file.write(plistlib.dumps(archive, fmt=plistlib.FMT_BINARY))
PYTHON

libraries=$(printf %s: usr/lib/*/)
directories=$(printf %s: usr/lib/ruby/{vendor_ruby,3.1.0,gems/3.1.0/gems/rexml-*/lib} usr/lib/*/ruby/3.1.0)
seen=$(LD_LIBRARY_PATH=$libraries RUBYLIB=$directories usr/bin/ruby3.1 --disable-gems -W0 -e '
  require "cfpropertylist"
  archive = CFPropertyList.native_types(CFPropertyList::List.new(file: "archive").value)
  references = archive["$objects"][1]["NS.objects"]
  right, wrong = references.each_with_index.partition { |reference, index| reference == index + 3 }
  beyond = wrong.count { |reference, index| reference >> 32 == index + 3 }
  puts "#{right.size} right, up to #{right.last.first}; #{wrong.size} wrong, #{beyond} of them beyond 2 ** 32"
')
expected='65533 right, up to 65535; 467 wrong, 467 of them beyond 2 ** 32'
if [ "$seen" != "$expected" ]; then
  printf 'expected: %s\nseen: %s\n' "$expected" "$seen" >&2
  exit 1
fi
echo "ok: of 66000 references in a keyed archive, ruby-cfpropertylist 2.2.8 reads 467 as numbers beyond 2 ** 32"
